package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func write(t *testing.T, file string, lines ...string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The client began at 1 s of the Unix clock; the service wrote at 1.2, 1.25 and
// 1.3 s, and its last event never came.
func TestReadPassage(t *testing.T) {
	dir := t.TempDir()
	truth := write(t, filepath.Join(dir, "truth.jsonl"),
		`{"request_id":"a","event_seq":1,"before_unix_ns":1200000000}`,
		`{"request_id":"a","event_seq":2,"before_unix_ns":1250000000}`,
		`{"request_id":"a","event_seq":3,"before_unix_ns":1300000000}`)
	write(t, filepath.Join(dir, "events", "1970-01-01", "run.jsonl"),
		`{"request_id":"a","event_seq":0,"event_type":"request","start":"1970-01-01T00:00:01Z"}`,
		`{"request_id":"a","event_seq":1,"event_type":"connect","client_time_ms":200.5}`,
		`{"request_id":"a","event_seq":2,"event_type":"business","client_time_ms":252}`,
		`{"request_id":"a","event_seq":9,"event_type":"heartbeat","client_time_ms":260}`,
		`{"request_id":"a","event_type":"end","outcome":"truncated"}`)
	p, err := readPassage(truth, filepath.Join(dir, "events"))
	if err != nil {
		t.Fatal(err)
	}
	if p.events != 3 || p.lost != 1 || p.streams != 1 || len(p.delays) != 1 || p.delays[0] != 2 || len(p.first) != 1 || p.first[0] != 200.5 {
		t.Errorf("%+v", p)
	}
	if _, err := readPassage(truth, filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("no log, and no error")
	}
}

func TestRelayResults(t *testing.T) {
	l := gatewayLoads[0]
	round := func(delay float64, cpu time.Duration, lost int) passage {
		return passage{delays: []float64{delay, delay, delay, delay + 1}, first: []float64{201}, events: 100, lost: lost, cpu: cpu, known: cpu > 0}
	}
	ms := time.Millisecond
	r := results{gateways: []*passages{
		{"direct", l, []passage{round(-0.01, 0, 0)}},
		{"nginx, buffering off", l, []passage{round(0.3, ms, 0)}},
		{"HAProxy, http-no-delay", l, nil},
		{"Go ReverseProxy", l, []passage{round(0.5, 3*ms, 0)}},
		{"weir", l, []passage{round(0.3, 5*ms, 0), round(0.35, 4*ms, 1), round(9, 2*ms, 0)}},
		{"weir, resume in Redis", l, []passage{{events: 100, redis: &redisWork{150, 2000, 200, 1700, 300 * time.Microsecond}}}},
	}, pacings: pacingRows("=== RUN x\n| gemini   | 80 ms  | 11 ms |\nok\n"), saturations: []*saturation{
		{"nginx, buffering off", []surge{{events: 1000, reads: 250, took: 10 * ms, cpu: ms, known: true, service: 3 * ms, client: 2 * ms}}},
		{"Caddy, flush_interval -1", nil},
		{"weir", []surge{
			{events: 1000, took: 5 * ms, cpu: 3 * ms, known: true},
			{events: 999, lost: 1, cut: 1, took: 20 * ms, cpu: 2 * ms, known: true},
			{events: 1000, took: 8 * ms},
		}},
	}, idles: []idle{{"Go ReverseProxy", 1000, 50e6}, {"weir", 1000, 60e6}}}
	var got []string
	for _, x := range r.relayTargets() {
		got = append(got, x.got+map[bool]string{true: " met", false: " missed"}[x.met])
	}
	if s := strings.Join(got, "; "); s != "1, 0 missed; 0.05 ms met; 1.33 missed; 1, 1 missed; 125000 met; 1.20 missed" {
		t.Error(s)
	}
	text := r.markdown()
	for _, row := range []string{
		"| 50 × 50/s | direct | -0.01 / 0.99 | n/a / n/a | 201.0 | n/a | 0, 0 |",
		"| 50 × 50/s | HAProxy, http-no-delay | not measured |",
		"| 50 × 50/s | weir | 0.35 / 1.35 | 0.36 / 0.36 | 201.0 | 40.0 | 1, 0 |",
		"| weir | 1000 | 60.0 |",
		"| nginx, buffering off | 100000 | 4.0 | 3.0 / 1.0 / 2.0 | 0, 0 |",
		"| Caddy, flush_interval -1 | not measured | | | |",
		"| weir | 125000 | n/a | n/a / 2.0 / n/a | 1, 1 |",
		"| 50 × 50/s | weir, resume in Redis | 1.50 | 20 | 2 | 17 | 3.0 |",
		"| gemini | 80 ms | 11 ms |",
	} {
		if !strings.Contains(text, row) {
			t.Errorf("missing: %s\n%s", row, text)
		}
	}
}

func TestRedisWorkIsRead(t *testing.T) {
	var w redisWork
	w.count("# Stats\r\ntotal_net_input_bytes:120\r\ntotal_net_output_bytes:30\r\n# Commandstats\r\ncmdstat_xadd:calls=5,usec=1\r\ncmdstat_evalsha:calls=2,usec=9\r\n")
	if w != (redisWork{commands: 7, in: 120, out: 30}) {
		t.Errorf("%+v", w)
	}
}

// A stream is whole by its sentinel, and what is missing of one that is cut is
// counted.
func TestFlood(t *testing.T) {
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		events := strings.Repeat("data: {}\n\n: hb\n", 4)
		if n.Add(1) == 2 {
			w.Header().Set("Content-Length", "4096")
			_, _ = io.WriteString(w, events)
			return // net/http breaks the connection
		}
		_, _ = io.WriteString(w, events+"data: [DONE]\n\n")
	}))
	defer srv.Close()
	s := flood{streams: 2, events: 4, repeats: 2}.run(t.Context(), srv.URL, 5)
	if s.events != 19 || s.lost != 1 || s.cut != 1 || s.took <= 0 || s.reads == 0 {
		t.Errorf("%+v", s)
	}
}
