package gateway

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"weir/telemetry"
)

// lumpy sends texts long enough and rare enough to be cut.
var lumpy = []string{
	"ttft=1ms,gap=90ms,n=5,seed=7,tokens_per_event=30",
	"ttft=1ms,gap=90ms,n=5,seed=7,tokens_per_event=30,lang=zh",
	"ttft=1ms,gap=90ms,n=6,seed=7,tokens_per_event=30,tool=2",
}

// The official SDKs read cut events as they read whole ones. Those of
// openai.responses are numbered, and never cut.
func TestSDKsReadCutEvents(t *testing.T) {
	p := installed(t)
	pieces := regexp.MustCompile(`"pieces": ?\d+`)  // how many there were is what differs
	refused := regexp.MustCompile(`"status": ?400`) // /api/generate has no tools
	same := func(r result) string { return pieces.ReplaceAllString(r.line, "") }
	m, count := upstream(t), telemetry.NewGateway(telemetry.Options{})
	url := start(t, m, setup{route: "pacing: {enabled: true}"}, count)
	t.Run("all", func(t *testing.T) {
		for _, d := range drivers {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel() // most of it is waiting
				direct, through := p.run(t, d.name, m.URL(), "", lumpy), p.run(t, d.name, url, "", lumpy)
				for _, settings := range lumpy {
					cut := pieces.FindString(through[settings].line) != pieces.FindString(direct[settings].line)
					never := strings.Contains(d.name, "responses") || refused.MatchString(direct[settings].line)
					if same(through[settings]) != same(direct[settings]) || cut == never {
						t.Errorf("%s:\nthrough the gateway %s\nthe service itself  %s", settings, through[settings].line, direct[settings].line)
					}
				}
			})
		}
	})
	rec := httptest.NewRecorder()
	count.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if !regexp.MustCompile(`weir_gateway_pacing_delay_seconds_count\S* [1-9]`).MatchString(rec.Body.String()) {
		t.Error("nothing was paced")
	}
}
