package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"weir/dialect"
	"weir/metric"
	"weir/mock"
	"weir/probe"
	"weir/stream"
	"weir/telemetry"
)

// bursty stands before the mock and sends its events in bursts: so many of them
// evenly over 5 ms, then 200 ms of silence.
func bursty(t *testing.T, m *mock.Server, n int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), r.Method, m.URL()+r.URL.RequestURI(), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return
		}
		defer func() { _ = resp.Body.Close() }()
		body, _ := io.ReadAll(resp.Body) // the mock says all at once
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		end := "\n\n"
		if !strings.Contains(resp.Header.Get("Content-Type"), "event-stream") {
			end = "\n"
		}
		began, rc := time.Now(), http.NewResponseController(w)
		for i, event := range bytes.SplitAfter(body, []byte(end)) {
			at := time.Duration(i/n)*205*time.Millisecond + 5*time.Millisecond*time.Duration(i%n)/time.Duration(max(n-1, 1))
			time.Sleep(time.Until(began.Add(at)))
			_, _ = w.Write(event)
			_ = rc.Flush()
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// pacedRun is a stream as a client saw it.
type pacedRun struct {
	what   string
	before *stream.Record // straight from the service
	after  *stream.Record // through the gateway
}

func (r pacedRun) stddev() (before, after float64) {
	return metric.Measure(r.before).Get("gap_stddev").V, metric.Measure(r.after).Get("gap_stddev").V
}

// measure asks the service with weir's own probe: straight, and through a
// gateway that paces.
func measure(t *testing.T, service, through, name, path string) (before, after *stream.Record) {
	t.Helper()
	d, err := dialect.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := probe.New(probe.Options{Dialect: d, KeepText: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ask := func(url string) *stream.Record {
		list, err := c.Do(t.Context(), dialect.Ask{URL: url + path}, probe.Meta{})
		if err != nil || len(list) != 1 || list[0].Outcome != stream.Complete {
			t.Errorf("%s: %v, %+v", name, err, list)
			return &stream.Record{}
		}
		return list[0]
	}
	return ask(service), ask(through)
}

// told is what the gateway's record says of pacing.
func told(t *testing.T, through string, r *stream.Record) (extra struct{ Extra map[string]string }) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, through+"/weir/records/"+r.Facts.OurID, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(&extra); err != nil {
		t.Errorf("the record of %s: %v", r.Facts.OurID, err)
	}
	return extra
}

// inMs is a figure of a record; not a number where it is missing.
func inMs(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

func answer(r *stream.Record) string {
	var b strings.Builder
	for _, e := range r.Events {
		if e.Kind == stream.KindText {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

var pacedDialects = []struct{ name, path string }{
	{"openai.chat", "/v1/chat/completions"},
	{"openai.responses", "/v1/responses"},
	{"anthropic", "/v1/messages"},
	{"gemini", "/v1beta/models/mock:streamGenerateContent?alt=sse"},
	{"ollama", "/api/chat"},
	{"dify", "/v1/chat-messages"},
}

// Bursts leave evenly in every dialect, as weir's own probe measures it; the
// text is the same. The figures of docs/pacing.md are made by this test too:
// WEIR_PACING_TABLE=60 runs 60 bursts and prints them.
func TestPacingAsAClientSeesIt(t *testing.T) {
	bursts, table := 16, os.Getenv("WEIR_PACING_TABLE")
	if table != "" {
		if _, err := fmt.Sscan(table, &bursts); err != nil {
			t.Fatal(err)
		}
	}
	const n = 5
	m, err := mock.Start(mock.Options{Set: fmt.Sprintf("ttft=0s,gap=0s,n=%d", bursts*n)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	count := telemetry.NewGateway(telemetry.Options{})
	service := bursty(t, m, n)
	through := startBefore(t, service, setup{route: "pacing: {enabled: true}"}, count)
	runs := make([]pacedRun, len(pacedDialects))
	var all sync.WaitGroup
	for i, d := range pacedDialects {
		all.Go(func() {
			before, after := measure(t, service, through, d.name, d.path)
			runs[i] = pacedRun{what: d.name, before: before, after: after}
		})
	}
	all.Wait()
	w := tabwriter.NewWriter(os.Stderr, 0, 0, 2, ' ', 0)
	for _, r := range runs {
		before, after := r.stddev()
		if a, b := answer(r.before), answer(r.after); a != b || a == "" {
			t.Errorf("%s: the text %q became %q", r.what, a, b)
		}
		if !(after < before/2) {
			t.Errorf("%s: gap_stddev was %.1f ms and is %.1f ms", r.what, before, after)
		}
		x := told(t, through, r.after).Extra
		// The bound of each piece is held on a clock of its own, by
		// TestPacingKeepsItsBound of the gateway: here a late machine adds to it.
		mean, most := inMs(x["pacing_delay_mean_ms"]), inMs(x["pacing_delay_max_ms"])
		if !(mean > 0 && mean <= 150 && most >= mean) || x["pacing_gap_stddev_after_ms"] == "" {
			t.Errorf("%s: the record says %v", r.what, x)
		}
		if table != "" {
			_, _ = fmt.Fprintf(w, "| %s\t| %.1f ms\t| %.1f ms\t| %.0f %%\t| %s ms\t| %s ms\t| %s of %s |\n", r.what, before, after, 100*(1-after/before),
				x["pacing_delay_mean_ms"], x["pacing_delay_max_ms"], x["pacing_pieces"], x["pacing_events"])
		}
	}
	even := startBefore(t, m.URL(), setup{route: "pacing: {enabled: true}"}, count)
	steady := pacedRun{}
	steady.before, steady.after = measure(t, m.URL(), even, "openai.chat", "/v1/chat/completions?gap=20ms&n=100")
	x := told(t, even, steady.after).Extra
	if mean := inMs(x["pacing_delay_mean_ms"]); !(mean <= 5) {
		t.Errorf("a steady service is delayed by %.3f ms in the mean: %v", mean, x)
	}
	if table != "" {
		before, after := steady.stddev()
		_, _ = fmt.Fprintf(w, "| steady\t| %.1f ms\t| %.1f ms\t|\t| %s ms\t| %s ms\t| |\n", before, after, x["pacing_delay_mean_ms"], x["pacing_delay_max_ms"])
	}
	_ = w.Flush()
	rec := httptest.NewRecorder()
	count.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, name := range []string{"weir_gateway_pacing_delay_seconds_count", "weir_gateway_pacing_gap_stddev_seconds_count"} {
		if !strings.Contains(rec.Body.String(), name) {
			t.Errorf("%s is not counted", name)
		}
	}
}
