package telemetry

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/peer"
	"weir/stream"
)

const ms = time.Millisecond

// record is an answer whose output comes at the given times.
func record(o stream.Outcome, model string, at ...time.Duration) *stream.Record {
	r := &stream.Record{RequestID: "secret-request", Model: model, Dialect: "openai.chat", Choices: 1, Streamed: true,
		Outcome: o, End: stream.Some(time.Second), Usage: &stream.Usage{Input: stream.Some(7), Output: stream.Some(5)}}
	for i, t := range at {
		r.Reads = append(r.Reads, stream.Read{At: t, App: t, Bytes: 10, Waited: true})
		r.Arrivals = append(r.Arrivals, stream.Arrival{At: t, Bytes: 10, Reads: 1})
		r.Events = append(r.Events, stream.Event{Kind: stream.KindText, Text: "x", Seq: i + 1, At: t, Read: i + 1, Arrival: i + 1,
			Bytes: 10, Chars: stream.Some(1), Visible: stream.Some(1)})
	}
	return r
}

func ended(r ...*stream.Record) stream.Served {
	return stream.Served{Route: "/v1/*", Upstream: "main", Records: r, Streamed: true, Terminal: "done",
		Generated: stream.Amount{Tokens: stream.Some(5)}, Delivered: stream.Amount{Tokens: stream.Some(4)}}
}

// all is a Gateway after one of everything.
func all(s Semconv) *Gateway {
	g := NewGateway(Options{Semconv: s, Version: "v1.2.3"})
	g.Limit(5000)
	g.Queued("/v1/*", 3*ms, "")
	g.Queued("/v1/*", 5*time.Second, "wait")
	g.Started("/v1/*")
	g.Started("/v1/*")
	g.Relayed("/v1/*", 60*time.Microsecond, 2, 100)
	g.Relayed("/v1/*", 60*time.Microsecond, 1, 50)
	g.Retried("/v1/*", "first_output")
	g.Cancelled("/v1/*", "relay", "client_gone", stream.Some(90))
	g.Cancelled("/v1/*", "held", "stopped", stream.None[int]())
	g.Opened("/v1/*", "hold")
	g.Panicked("pump")
	g.Silent("/v1/*", "log")
	g.SocketOpened()
	g.SocketClosed(4000, "gateway")
	g.SocketRefused("origin")
	g.MessageRefused("bad_message")
	g.Ended(ended(record(stream.Complete, "m", 100*ms, 120*ms, 140*ms)))
	e := ended(record(stream.Truncated, "m"))
	e.Generated, e.Terminal, e.Reason = stream.Amount{}, "error", "upstream_truncated"
	g.Ended(e)
	return g
}

func scrape(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestWhatIsCounted(t *testing.T) {
	text := scrape(t, all(GenAI01).Handler())
	answer := `model="m",route="/v1/*",upstream="main"`
	for _, line := range []string{
		`weir_build_info{role="all",version="v1.2.3"} 1`,
		`weir_gateway_requests_limit 5000`,
		`weir_gateway_requests_active{route="/v1/*"} 0`,
		`weir_gateway_queue_wait_seconds_count{route="/v1/*"} 2`,
		`weir_gateway_refused_total{reason="wait",route="/v1/*"} 1`,
		`weir_gateway_relayed_events_total{route="/v1/*"} 3`,
		`weir_gateway_relayed_bytes_total{route="/v1/*"} 150`,
		`weir_gateway_added_latency_seconds_bucket{route="/v1/*",le="5e-05"} 0`,
		`weir_gateway_added_latency_seconds_bucket{route="/v1/*",le="0.0001"} 2`,
		`weir_gateway_retries_total{reason="first_output",route="/v1/*"} 1`,
		`weir_gateway_cancels_total{reason="client_gone",route="/v1/*",state="relay"} 1`,
		`weir_gateway_saved_tokens_total{route="/v1/*"} 90`,
		`weir_gateway_panics_total{where="pump"} 1`,
		`weir_gateway_openings_total{by="hold",route="/v1/*"} 1`,
		`weir_gateway_silences_total{route="/v1/*",tier="log"} 1`,
		`weir_gateway_outcomes_total{` + strings.Replace(answer, `,route`, `,outcome="complete",route`, 1) + `} 1`,
		`weir_gateway_outcomes_total{` + strings.Replace(answer, `,route`, `,outcome="truncated",route`, 1) + `} 1`,
		`weir_gateway_ends_total{reason="none",route="/v1/*",terminal="done"} 1`,
		`weir_gateway_ends_total{reason="upstream_truncated",route="/v1/*",terminal="error"} 1`,
		`weir_gateway_ttft_seconds_sum{` + answer + `} 0.1`,
		`weir_gateway_ttft_seconds_count{` + answer + `} 1`,
		`weir_gateway_first_text_seconds_count{` + answer + `} 1`,
		`weir_gateway_gap_seconds_count{` + answer + `} 2`,
		`weir_gateway_gap_seconds_bucket{` + answer + `,le="0.015"} 0`,
		`weir_gateway_gap_seconds_bucket{` + answer + `,le="0.02"} 2`,
		`weir_gateway_generated_tokens_total{` + answer + `} 5`,
		`weir_gateway_delivered_tokens_total{` + answer + `} 8`,
		`weir_gateway_uncounted_answers_total{model="m",route="/v1/*",tokens="generated",upstream="main"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	if strings.Contains(text, "secret-request") {
		t.Error("a request id is among the labels")
	}
	if t.Failed() {
		for _, l := range strings.Split(text, "\n") {
			if strings.HasPrefix(l, "weir_") && !strings.Contains(l, "_bucket") {
				t.Log(l)
			}
		}
	}
}

func TestNoLimitIsNoSeries(t *testing.T) {
	g := NewGateway(Options{})
	g.Limit(10)
	g.Limit(0)
	if text := scrape(t, g.Handler()); strings.Contains(text, "weir_gateway_requests_limit") {
		t.Error("a limit of 0 is exported")
	}
}

func TestPlainAnswerHasNoStreamTimes(t *testing.T) {
	g := NewGateway(Options{})
	e := ended(record(stream.Complete, "m", 100*ms))
	e.Streamed = false
	g.Started(e.Route)
	g.Ended(e)
	text := scrape(t, g.Handler())
	for _, name := range []string{"weir_gateway_ttft_seconds", "weir_gateway_gap_seconds", "weir_gateway_ends_total", "time_to_first_chunk"} {
		if strings.Contains(text, name) {
			t.Errorf("%s of an answer that was no stream", name)
		}
	}
	if !strings.Contains(text, "weir_gateway_request_duration_seconds_sum") {
		t.Error("no duration")
	}
	g.Ended(stream.Served{Route: e.Route, Upstream: e.Upstream})
	if text = scrape(t, g.Handler()); !strings.Contains(text, `weir_gateway_outcomes_total{model="unknown",outcome="plain",route="/v1/*",upstream="main"} 1`) {
		t.Error("an answer without a record is not counted as plain")
	}
}

// Two answers to one request: usage once, the time of the first to speak, the
// worse outcome.
func TestSeveralAnswers(t *testing.T) {
	a := read(ended(record(stream.Complete, "m", 200*ms, 210*ms), record(stream.ErrorMid, "m", 100*ms, 130*ms)))
	if a.outcome != stream.ErrorMid || len(a.input) != 1 || a.input[0] != 7 || len(a.ttft) != 1 || a.ttft[0] != 0.1 ||
		len(a.gaps) != 2 || len(a.duration) != 1 {
		t.Errorf("%+v", a)
	}
}

func TestModelsAreCapped(t *testing.T) {
	series := func(g *Gateway) (n int, text string) {
		for i := range 30 {
			g.Ended(ended(record(stream.ErrorEarly, fmt.Sprint("invented-", i))))
			g.Ended(ended(record(stream.Complete, fmt.Sprint("model-", i), ms)))
		}
		g.Ended(ended(record(stream.Complete, "", ms)))
		text = scrape(t, g.Handler())
		return strings.Count(text, "\nweir_gateway_ttft_seconds_count"), text
	}
	if n, text := series(NewGateway(Options{ModelLimit: 3})); n != 5 || strings.Contains(text, "invented") || !strings.Contains(text, `model="unknown"`) {
		t.Errorf("%d models, want three that answered, other and unknown", n)
	}
	if n, text := series(NewGateway(Options{Models: []string{"model-29"}})); n != 3 || !strings.Contains(text, `model="model-29"`) {
		t.Errorf("%d models, want the listed one, other and unknown", n)
	}
}

func TestManyAtOnce(t *testing.T) {
	g := NewGateway(Options{Semconv: Both})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				route := fmt.Sprint("/", j%3)
				g.Started(route)
				g.Relayed(route, ms, 1, 1)
				e := ended(record(stream.Complete, fmt.Sprint(i, j), ms, 2*ms))
				e.Route = route
				g.Ended(e)
			}
		})
	}
	all.Wait()
	text := scrape(t, g.Handler())
	if !strings.Contains(text, `weir_gateway_relayed_events_total{route="/0"} 136`) || !strings.Contains(text, `weir_gateway_requests_active{route="/0"} 0`) {
		t.Error("counts were lost")
	}
}

// Native histograms go to whoever asks for protobuf, as Prometheus does.
func TestNativeHistograms(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	w := httptest.NewRecorder()
	g := all(GenAI01)
	g.Handler().ServeHTTP(w, r)
	if ct := w.Header().Get("Content-Type"); !strings.HasPrefix(ct, "application/vnd.google.protobuf") {
		t.Fatalf("content type %q", ct)
	}
	families, err := g.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "weir_gateway_gap_seconds" {
			h := f.GetMetric()[0].GetHistogram()
			if len(h.GetPositiveSpan()) == 0 || len(h.GetBucket()) != len(gapLadder) {
				t.Errorf("native spans %v, %d classic buckets", h.GetPositiveSpan(), len(h.GetBucket()))
			}
			return
		}
	}
	t.Error("no gaps")
}

func TestPromtoolAccepts(t *testing.T) {
	promtool := peer.Program(t, "promtool")
	for _, s := range []Semconv{GenAI01, GenAI141, Both} {
		cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		cmd.Stdin = strings.NewReader(scrape(t, all(s).Handler()))
		if out, err := cmd.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
			t.Errorf("%s: %v\n%s", s, err, out)
		}
	}
}

func TestAdmin(t *testing.T) {
	ready := true
	h := Admin(all(GenAI01), func() bool { return ready })
	get := func(method, path string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		b, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		return w.Code, string(b)
	}
	for _, c := range []struct {
		method, path string
		status       int
		part         string
	}{
		{"GET", "/healthz", 200, "ok"},
		{"GET", "/readyz", 200, "ready"},
		{"GET", "/metrics", 200, "weir_gateway_outcomes_total"},
		{"GET", "/other", 404, ""},
		{"POST", "/metrics", 405, ""},
	} {
		if status, body := get(c.method, c.path); status != c.status || !strings.Contains(body, c.part) {
			t.Errorf("%s %s: %d %.80s", c.method, c.path, status, body)
		}
	}
	ready = false
	if status, _ := get("GET", "/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("draining: /readyz says %d", status)
	}
	if status, _ := get("GET", "/healthz"); status != http.StatusOK {
		t.Errorf("draining: /healthz says %d", status)
	}
}
