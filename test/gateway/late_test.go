package gateway

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/telemetry"
)

// A service that takes its time with a refusal finds status 200 and heartbeats
// gone out: the refusal is then the stream's only event, and the SDK raises it
// in the service's own words.
func TestRefusalsAfterTheHeaders(t *testing.T) {
	p := installed(t)
	m, count := upstream(t), telemetry.NewGateway(telemetry.Options{})
	to, err := url.Parse(m.URL())
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1}
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(100 * time.Millisecond)
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(slow.Close)
	at := startBefore(t, slow.URL, setup{name: "early", route: "open: {mode: early, hold: 20ms}, heartbeat: 10ms"}, count)
	refusals := []string{plain + ",status=503", plain + ",status=400", plain + ",error=first200", plain + ",error=json200"}
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			direct := p.run(t, d.name, m.URL(), "", []string{plain})
			got := p.run(t, d.name, at, "", append(refusals, plain))
			for _, settings := range refusals {
				if r := got[settings]; r.Error == nil || !strings.Contains(r.Error.Message, "told to fail") {
					t.Errorf("%s: %s, want the service's own words raised", settings, r.line)
				}
			}
			if got[plain].line != direct[plain].line {
				t.Errorf("after the headers: %s, want %s", got[plain].line, direct[plain].line)
			}
		})
	}
}
