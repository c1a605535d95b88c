package relay

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/diagnose"
	"weir/dialect"
	"weir/mock"
	"weir/probe"
	"weir/stream"
)

// asked is what every session asks the mock for: an uneven stream of words, as
// models write, long enough to fill a relay's buffer a few times.
const asked = "ttft=100ms,gap=lognormal:15ms:0.5,n=80,seed=%d"

// session is what weir probe does: requests one after the other, the first on
// a cold connection.
func session(t *testing.T, url, hop string, n int, compressed bool) []*stream.Record {
	d, err := dialect.Lookup("openai.chat")
	if err != nil {
		t.Error(err)
		return nil
	}
	c, err := probe.New(probe.Options{Dialect: d, Compressed: compressed, Timeout: time.Minute})
	if err != nil {
		t.Error(err)
		return nil
	}
	defer c.Close()
	var out []*stream.Record
	for i := range n {
		ask := dialect.Ask{
			URL: url + "/v1/chat/completions", Model: "mock",
			Header: http.Header{"X-Weir-Mock": {fmt.Sprintf(asked, i+1)}},
		}
		rs, err := c.Do(t.Context(), ask, probe.Meta{Index: i, Hop: hop})
		if err != nil {
			t.Error(err)
		}
		for _, r := range rs {
			if !r.Outcome.Ended() {
				t.Errorf("%s: request %d is %s %s: %s", url, i, r.Outcome, r.Reason, r.Detail)
			}
		}
		out = append(out, rs...)
	}
	return out
}

// held are the codes that say that something holds the stream back.
var held = []string{
	"buffering_by_size", "buffering_by_time", "buffering_by_compression",
	"batches", "not_streamed", "hop_buffering", "service_even_client_bursty",
}

// found are a session's findings of that sort.
func found(records []*stream.Record) []diagnose.Finding {
	return slices.DeleteFunc(diagnose.Diagnose(records), func(f diagnose.Finding) bool {
		return !slices.Contains(held, f.Code)
	})
}

func figure(f diagnose.Finding, name string) (float64, bool) {
	for _, x := range f.Evidence {
		if x.Name == name {
			return x.Value, true
		}
	}
	return 0, false
}

// holding is one relay and what the diagnosis must say of it.
type holding struct {
	name, url  string
	compressed bool
	code       string
	figure     string // its name; "" = none asked for
	low, high  float64
	says       string // part of the text
	silent     string // no part of the text: what no header tells
}

func (h holding) check(t *testing.T, records []*stream.Record) {
	fs := found(records)
	if len(fs) != 1 || fs[0].Code != h.code {
		t.Fatalf("findings %+v, want one %s", fs, h.code)
	}
	f := fs[0]
	t.Log(f.Text)
	if h.figure != "" {
		if x, ok := figure(f, h.figure); !ok || x < h.low || x > h.high {
			t.Errorf("%s is %.0f (known: %v), want %.0f to %.0f", h.figure, x, ok, h.low, h.high)
		}
	}
	if !strings.Contains(f.Text, h.says) {
		t.Errorf("the text does not say %q: %s", h.says, f.Text)
	}
	if h.silent != "" && strings.Contains(strings.ToLower(f.Text), h.silent) {
		t.Errorf("the text names %s, which no header does: %s", h.silent, f.Text)
	}
}

// TestDiagnosis holds the findings against relays whose behaviour is known.
func TestDiagnosis(t *testing.T) {
	srv, err := mock.Start(mock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	up := srv.URL()
	cases := []holding{
		{
			name: "nginx, default", url: Nginx(t, up, NginxDefault), code: "buffering_by_size",
			figure: "buffer_bytes", low: 3700, high: 4400, says: `server: "nginx`,
		},
		{
			name: "nginx, gzip", url: Nginx(t, up, NginxGzip), compressed: true,
			code: "buffering_by_compression", says: "gzip",
		},
		{
			name: "haproxy, default", url: HAProxy(t, up, HAProxyDefault), code: "buffering_by_time",
			figure: "period", low: 180, high: 235, says: "as HAProxy without option http-no-delay does",
		},
		{
			name: "3,000 bytes", url: BySize(t, up, 3000), code: "buffering_by_size",
			figure: "buffer_bytes", low: 2800, high: 3200, silent: "nginx",
		},
		{
			name: "130 ms", url: ByTime(t, up, 130*time.Millisecond), code: "buffering_by_time",
			figure: "period", low: 120, high: 140, silent: "haproxy",
		},
	}
	direct := make(chan []*stream.Record, 1)
	go func() { direct <- session(t, up, "origin", 5, false) }()
	records := sessions(t, cases)
	origin := <-direct
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.check(t, records[i]) })
		t.Run(c.name+", hop", func(t *testing.T) { checkHop(t, records[i], origin) })
	}
}

// checkHop: beside the direct path every relay that holds the stream back shows
// the same signature, whatever its kind.
func checkHop(t *testing.T, far, near []*stream.Record) {
	for _, f := range found(append(slices.Clone(far), near...)) {
		if f.Code == "hop_buffering" {
			if !strings.Contains(f.Text, "gaps fall while ttft rises across the hop") {
				t.Errorf("the text does not state the signature: %s", f.Text)
			}
			return
		}
	}
	t.Error("no hop_buffering beside the direct path")
}

// TestClean: twenty sessions through paths that hold nothing give no finding
// that says so.
func TestClean(t *testing.T) {
	srv, err := mock.Start(mock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	paths := []holding{
		{name: "direct", url: srv.URL()},
		{name: "nginx, unbuffered", url: Nginx(t, srv.URL(), NginxUnbuffered)},
		{name: "haproxy, no delay", url: HAProxy(t, srv.URL(), HAProxyNoDelay)},
		{name: "direct, gzip asked for", url: srv.URL(), compressed: true},
	}
	var runs []holding
	for range 5 {
		runs = append(runs, paths...)
	}
	for i, records := range sessions(t, runs) {
		for _, f := range found(records) {
			t.Errorf("run %d, %s: %s: %s %+v", i, runs[i].name, f.Code, f.Text, f.Evidence)
		}
	}
}

// sessions runs one session per path, all at once, a little apart.
func sessions(t *testing.T, paths []holding) [][]*stream.Record {
	out := make([][]*stream.Record, len(paths))
	var wg sync.WaitGroup
	for i, p := range paths {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * 7 * time.Millisecond)
			out[i] = session(t, p.url, "", 5, p.compressed)
		})
	}
	wg.Wait()
	return out
}
