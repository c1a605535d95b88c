package probe

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/dialect"
	"weir/stream"
)

// compress sends n events through gzip, each flushed, or none before the end.
func compress(n int, flush bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			http.Error(w, "no gzip asked for", http.StatusNotAcceptable)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for i := range n {
			fmt.Fprint(z, chunk(fmt.Sprintf("word %d ", i)))
			if flush {
				z.Flush()
				w.(http.Flusher).Flush()
			}
			time.Sleep(10 * time.Millisecond)
		}
		fmt.Fprint(z, finish+done)
		z.Close()
	}
}

func TestGzipKeepsTheStampOfEachPiece(t *testing.T) {
	carriers(t, compress(6, true), func(t *testing.T, c *Client, url, _ string, _ stream.Stamp) {
		c.o.Compressed = true
		r := ask(t, c, url)
		wantOutcome(t, r, stream.Complete, "")
		wantStamps(t, r)
		if r.Facts.ContentEncoding != "gzip" || r.Facts.WireBytes >= r.Facts.BodyBytes {
			t.Errorf("facts %+v", r.Facts)
		}
		reads := map[int]bool{}
		for _, e := range r.Events {
			if e.Kind == stream.KindText {
				reads[e.Read] = true
			}
		}
		if len(reads) != 6 {
			t.Errorf("6 flushed events came by %d reads", len(reads))
		}
	})
}

func TestGzipWithoutFlushIsOneArrival(t *testing.T) {
	s := serve(t, compress(6, false))
	r := ask(t, client(t, Options{Compressed: true}), s.URL)
	wantOutcome(t, r, stream.Complete, "")
	first, last := r.Events[0], r.Events[len(r.Events)-1]
	if first.Arrival != last.Arrival {
		t.Errorf("first event in arrival %d, last in %d", first.Arrival, last.Arrival)
	}
}

func TestGzipDamagedOrCut(t *testing.T) {
	for name, mangle := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)-9] },
		"damaged": func(b []byte) []byte { b[len(b)/2] ^= 0xff; return b },
		"no gzip": func([]byte) []byte { return []byte(chunk("plain text")) },
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			z := gzip.NewWriter(&b)
			for i := range 50 {
				fmt.Fprint(z, chunk(fmt.Sprint("word", i*i)))
			}
			z.Close()
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Content-Encoding", "gzip")
				w.Write(mangle([]byte(b.String())))
			})
			r := ask(t, client(t, Options{Compressed: true}), s.URL)
			wantOutcome(t, r, stream.Reset, "gzip")
		})
	}
}

func TestUsageRefusedIsRepeatedOnceAndNoted(t *testing.T) {
	var asked, plain atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if strings.Contains(string(b), "stream_options") {
			asked.Add(1)
			http.Error(w, `{"error":{"message":"Unknown parameter: 'stream_options'."}}`, http.StatusBadRequest)
			return
		}
		plain.Add(1)
		speak(w, 2, 0)
	})
	c := client(t, Options{})
	for i, note := range []string{"HTTP 400", "has refused"} {
		r := ask(t, c, s.URL)
		wantOutcome(t, r, stream.Complete, "")
		if r.UsageAsked || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], note) {
			t.Errorf("request %d: asked %t, notes %q", i, r.UsageAsked, r.Notes)
		}
	}
	if asked.Load() != 1 || plain.Load() != 2 {
		t.Errorf("%d requests with usage, %d without; want 1, 2", asked.Load(), plain.Load())
	}
}

func TestWholeAnswer(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`)
	})
	r := askAs(t, client(t, Options{}), dialect.Ask{URL: s.URL + "/v1/chat/completions", Whole: true})
	wantOutcome(t, r, stream.Complete, "")
	if !r.Whole || r.Streamed || r.Usage == nil {
		t.Errorf("whole %t, streamed %t, usage %v", r.Whole, r.Streamed, r.Usage)
	}
}

func TestFactsAndIDs(t *testing.T) {
	var got http.Header
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		h := w.Header()
		h.Set("X-Request-Id", r.Header.Get("X-Request-Id"))
		for name, v := range map[string]string{
			"Apim-Request-Id": "up-1", "Server": "mock", "Via": "1.1 relay", "X-Accel-Buffering": "no",
			"Cache-Control": "no-store", "X-Cache": "MISS", "Age": "3", "Server-Timing": "queue;dur=12", "Cf-Ray": "r1",
		} {
			h.Set(name, v)
		}
		speak(w, 1, 0)
	})
	r := ask(t, client(t, Options{}), s.URL)
	f := r.Facts
	if !regexp.MustCompile(`^[A-Za-z0-9._-]{8,128}$`).MatchString(f.OurID) || f.OurID != got.Get("X-Request-Id") || r.RequestID != f.OurID {
		t.Errorf("our id %q, sent %q, record %q", f.OurID, got.Get("X-Request-Id"), r.RequestID)
	}
	if !regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`).MatchString(f.TraceParent) || f.TraceParent != got.Get("Traceparent") {
		t.Errorf("traceparent %q, sent %q", f.TraceParent, got.Get("Traceparent"))
	}
	if got.Get("Accept-Encoding") != "identity" {
		t.Errorf("accept-encoding %q", got.Get("Accept-Encoding"))
	}
	want := fmt.Sprintf("%s up-1 c1 mock 1.1 relay no no-store MISS 3 queue;dur=12 r1 chunked 200", f.OurID)
	have := fmt.Sprintf("%s %s %s %s %s %s %s %s %s %s %s %s %d", f.EchoedID, f.UpstreamID, f.BodyID, f.Server, f.Via,
		f.XAccelBuffering, f.CacheControl, f.XCache, f.Age, f.ServerTiming, f.Extra["cf-ray"], f.TransferEncoding, f.Status)
	if have != want {
		t.Errorf("facts\n%s, want\n%s", have, want)
	}
}

func TestFreshConnections(t *testing.T) {
	carriers(t, speaker(2, 0), func(t *testing.T, c *Client, url, _ string, best stream.Stamp) {
		c.o.Fresh = true
		for range 2 {
			r := ask(t, c, url)
			if r.Conn != "cold" || r.Stamp != best {
				t.Errorf("conn %q, stamp %q (%s); want cold, %q", r.Conn, r.Stamp, r.StampWhy, best)
			}
			if best == stream.StampKernel && r.RcvOOO.Or(-1) != 0 {
				t.Errorf("out of order: %v", r.RcvOOO)
			}
		}
	})
}

// A connection that the server closed while it was idle is not used again.
func TestIdleConnectionClosedByServer(t *testing.T) {
	s := serve(t, speaker(1, 0))
	c := client(t, Options{})
	ask(t, c, s.URL)
	s.CloseClientConnections()
	time.Sleep(50 * time.Millisecond)
	r := ask(t, c, s.URL)
	wantOutcome(t, r, stream.Complete, "")
	if r.Conn != "cold" {
		t.Errorf("conn %q, want cold", r.Conn)
	}
}

func TestMetaAndMarksReachTheRecord(t *testing.T) {
	s := serve(t, speaker(1, 0))
	var events int
	c := client(t, Options{OnEvent: func(*stream.Event) { events++ }})
	m := Meta{Index: 3, Run: "r1", Hop: "direct", Labels: map[string]string{"k": "v"}, Lateness: stream.Some(time.Millisecond)}
	records, err := c.Do(context.Background(), dialect.Ask{URL: s.URL + "/v1/chat/completions?api_key=hidden1"}, m)
	if err != nil {
		t.Fatal(err)
	}
	r := records[0]
	if r.Index != 3 || r.Run != "r1" || r.Hop != "direct" || r.Labels["k"] != "v" || !r.Lateness.Known() || events != len(r.Events) {
		t.Errorf("record %+v, %d events seen", r, events)
	}
	if !strings.HasSuffix(r.Target, "?api_key=***") {
		t.Errorf("target %s", r.Target)
	}
}

func TestPromptIsKeptWithTheTextOnly(t *testing.T) {
	for name, c := range map[string]struct {
		ask  dialect.Ask
		keep bool
		want string
	}{
		"a prompt":      {dialect.Ask{Prompt: "why? key-0123456789"}, true, "why? ***"},
		"none given":    {dialect.Ask{}, true, dialect.DefaultPrompt},
		"messages":      {dialect.Ask{Messages: []dialect.Message{{Role: "user", Content: "你好"}}}, true, `[{"role":"user","content":"你好"}]`},
		"a body":        {dialect.Ask{Body: []byte(`{"x":1}`)}, true, `{"x":1}`},
		"text not kept": {dialect.Ask{Prompt: "why?"}, false, ""},
	} {
		c.ask.URL, c.ask.APIKey = "http://127.0.0.1:1", "key-0123456789"
		records, err := client(t, Options{KeepText: c.keep}).Do(t.Context(), c.ask, Meta{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := records[0].Prompt; got != c.want {
			t.Errorf("%s: prompt %q, want %q", name, got, c.want)
		}
	}
}
