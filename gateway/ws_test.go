package gateway

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/relay"
	"weir/ws"
)

func asClose(err error, c *websocket.CloseError) bool { return errors.As(err, c) }

// A stream on a socket is the one that SSE brings: the same events, byte for
// byte, one end, and the same record.
func TestSocketIsTheSameStream(t *testing.T) {
	for _, c := range []struct{ name, path, ask, set string }{
		{"openai", "/v1/chat/completions", ask1, "n=5,ttft=1ms"},
		{"anthropic", "/v1/messages", ask1, "n=5,ttft=1ms"},
		{"responses", "/v1/responses", ask1, "n=5,ttft=1ms"},
		{"ollama", "/api/chat", ask1, "n=5,ttft=1ms"},
		{"gemini array", "/v1beta/models/m:streamGenerateContent", `{"contents":[]}`, "n=5,ttft=1ms"},
		{"dify", "/v1/chat-messages", `{"response_mode":"streaming","query":"x","user":"u","inputs":{}}`, "n=5,ttft=1ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := startMock(t, c.set)
			g := start(t, small, m.URL())
			p, _ := connect(t, g.url)
			p.say(`{"type":"start","id":"a","path":"` + c.path + `","body":` + c.ask + `,"headers":{"x-request-id":"my-request-1","X-Weir-Mock":"seed=7"}}`)
			got := p.whole("a")
			if got.end.Outcome != "done" || got.end.Code != ws.Normal || got.end.RequestID != "my-request-1" || got.end.Phases == nil {
				t.Errorf("%+v", got.end)
			}
			if got.open.RequestID != "my-request-1" || len(got.open.TraceParent) != 55 || got.open.ServerTiming == "" || got.open.Status != 200 {
				t.Errorf("%+v", got.open)
			}
			for i, e := range got.events {
				if e.Seq != int64(i+1) {
					t.Errorf("event %d has seq %d", i+1, e.Seq)
				}
			}
			r := g.all()
			if len(r) != 1 || len(r[0].Records) != 1 || r[0].Records[0].RequestID != "my-request-1" || !r[0].Records[0].Outcome.Ended() {
				t.Fatalf("%+v", r)
			}
			if u := r[0].Records[0].Usage; !reflect.DeepEqual(got.end.Usage, usageMessage(u)) || u != nil && *got.end.Usage.Output != u.Output.Or(-1) {
				t.Errorf("usage %+v, the record has %+v", got.end.Usage, u)
			}
			if e := got.end.Phases; e == nil || e.Total == nil || e.FirstOutput == nil || *e.FirstOutput < 1 || *e.Total < *e.FirstOutput {
				t.Errorf("phases %+v", e)
			}
			if n := r[0].Delivered.Events; n == 0 || n != r[0].Generated.Events {
				t.Errorf("%d events delivered of %d", n, r[0].Generated.Events)
			}
		})
	}
}

// What the service sends arrives byte for byte, whatever it looks like.
func TestSocketKeepsData(t *testing.T) {
	hostile := "data: {\"a\":\"\\u0000\\\"}\\n\",\"b\":\"日本 \xe2\x80\xa8 </script>\"}\n\n" +
		"event: x\",\"seq\":99,\"y\":\"\ndata: one\ndata: two\n\n" +
		": a comment\n\n" +
		"data: bad \xff utf8\n\n" +
		"event: ping\n\n" +
		"data:\n\n" +
		chat("a") + chatFinish + chatDone
	g := start(t, small, scripted(t, sse(hostile)))
	p, _ := connect(t, g.url)
	p.say(startA)
	got := p.whole("a")
	want := "{\"a\":\"\\u0000\\\"}\\n\",\"b\":\"日本 \xe2\x80\xa8 </script>\"}\none\ntwo\nbad \xff utf8\n\n\n"
	if !strings.HasPrefix(got.data(), want) {
		t.Errorf("%q\nwant %q", got.data(), want)
	}
	if got.events[1].Event != "x\",\"seq\":99,\"y\":\"" || got.events[2].Base64 == "" || got.events[3].Data != nil || *got.events[4].Data != "" || got.beats != 1 {
		t.Errorf("%+v", got.events[:5])
	}
}

func TestSocketPlainAnswers(t *testing.T) {
	long := strings.Repeat("日本", 20_000)
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"text":"`+long+`"}`)
		case "/v1/audio":
			w.Header().Set("Content-Type", "audio/mpeg")
			_, _ = io.WriteString(w, "\xff\xfb\x90")
		case "/v1/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/v1/limit":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"message":"slow down"}}`)
		}
	})
	g := start(t, strings.Replace(small, `upstream: main`, `upstream: main, retry: {attempts: 1}`, 1), up)
	p, _ := connect(t, g.url)
	for _, c := range []struct {
		path, method, body string
		status             int
		outcome            string
		code               ws.Code
	}{
		{"/v1/models", "GET", `{"text":"` + long + `"}`, 200, "done", ws.Normal},
		{"/v1/audio", "GET", "\xff\xfb\x90", 200, "done", ws.Normal},
		{"/v1/empty", "GET", "", 204, "done", ws.Normal},
		{"/v1/limit", "POST", `{"error":{"message":"slow down"}}`, 429, "error", ws.Capacity},
	} {
		p.say(`{"type":"start","id":"a","method":"` + c.method + `","path":"` + c.path + `"}`)
		got := p.whole("a")
		if got.body != c.body || got.open.Status != c.status || got.end.Outcome != c.outcome || got.end.Code != c.code || len(got.events) > 0 {
			t.Errorf("%s: %+v %+v, %d bytes", c.path, got.open, got.end, len(got.body))
		}
		if c.status == 429 && (got.open.RetryAfterMs != 7000 || !got.end.Reconnect) {
			t.Errorf("%+v", got.open)
		}
	}
}

// However a stream fails, its client gets one end that says so.
func TestSocketFailures(t *testing.T) {
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/chat/completions":
			sse(chat("a"))(w, r) // and no end
		case "/v1/unknown":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"x\":1}\n\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "/late/limited":
			time.Sleep(100 * time.Millisecond)
			w.Header().Set("Retry-After", "7")
			http.Error(w, "{}", http.StatusTooManyRequests)
		case "/late/forbidden":
			time.Sleep(100 * time.Millisecond)
			http.Error(w, "{}", http.StatusForbidden)
		}
	})
	g := start(t, `
upstreams: {main: {urls: ["%s"]}, dead: {urls: ["http://127.0.0.1:1"]}}
routes:
  - {path: "/v1/*", upstream: main, retry: {attempts: 1}}
  - {path: "/late/*", upstream: main, open: {mode: early, hold: 1ms}, retry: {attempts: 1}}
  - {path: "/dead/*", upstream: dead, retry: {backoff: 1ms}}
limits: {body: 2KiB}
`, up)
	p, _ := connect(t, g.url)
	for _, c := range []struct {
		path, body string
		reason     string
		code       ws.Code
	}{
		{"/v1/chat/completions", ask1, "upstream_truncated", ws.Broken},
		{"/dead/chat/completions", ask1, "upstream_connect", ws.Broken},
		{"/nowhere", ask1, "no_route", ws.Refused},
		{"/late/limited", ask1, "http_429", ws.Capacity}, // after the answer was opened
		{"/late/forbidden", ask1, "http_403", ws.Refused},
		{"/v1/chat/completions", `"` + strings.Repeat("x", 4<<10) + `"`, "body_too_large", ws.Refused},
	} {
		p.say(`{"type":"start","id":"a","path":"` + c.path + `","body":` + c.body + `}`)
		got := p.whole("a")
		if got.end.Outcome != "error" || got.end.Reason != c.reason || got.end.Code != c.code || got.end.Reconnect != c.code.MayReconnect() || got.end.Message == "" {
			t.Errorf("%s: %+v", c.path, got.end)
		}
		if c.reason == "http_429" && got.end.RetryAfterMs != 7000 {
			t.Errorf("%s: %+v", c.path, got.end)
		}
	}
	p.say(`{"type":"start","id":"a","path":"/v1/unknown","body":` + ask1 + `}`)
	if got := p.whole("a"); got.end.Outcome == "done" || got.end.Code != ws.Broken {
		t.Errorf("a reset became %+v", got.end)
	}
}

func TestSocketManyStreams(t *testing.T) {
	m := startMock(t, "n=8,ttft=5ms,gap=1ms")
	g := start(t, small+"ws: {streams: 3}\n", m.URL())
	p, h := connect(t, g.url)
	if h.Streams != 3 || h.Message != 64<<10 || h.Auth != "optional" || h.Protocol != ws.Protocol {
		t.Errorf("%+v", h)
	}
	for range 5 { // a place is free when the end is there
		for _, id := range []string{"a", "b", "c"} {
			p.say(strings.Replace(startA, `"a"`, `"`+id+`"`, 1))
		}
		for id, got := range p.gather("a", "b", "c") {
			if got.end.Outcome != "done" || len(got.events) < 8 {
				t.Errorf("%s: %+v, %d events", id, got.end, len(got.events))
			}
		}
	}
	up := newStepped(t)
	g = start(t, small+"ws: {streams: 1}\n", up.url)
	p, _ = connect(t, g.url)
	p.say(startA)
	p.say(startA)
	if e := next[*ws.Error](p); e.ID != "a" || e.Reason != "busy" {
		t.Errorf("%+v", e)
	}
	p.say(strings.Replace(startA, `"a"`, `"b"`, 1))
	if e := next[*ws.End](p); e.ID != "b" || e.Code != ws.Capacity || e.Reason != "overloaded_socket" {
		t.Errorf("%+v", e)
	}
	close(up.next)
	if got := p.whole("a"); got.end.Outcome != "error" {
		t.Errorf("%+v", got.end)
	}
}

// Another turn takes the path and headers of the one before, and its body where
// elements are added to it.
func TestSocketAppend(t *testing.T) {
	var bodies []string
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies = append(bodies, r.URL.Path+" "+r.Header.Get("X-Title")+" "+string(b))
		sse(chat("a")+chatFinish+chatDone)(w, r)
	})
	g := start(t, small, up)
	p, _ := connect(t, g.url)
	p.say(`{"type":"append","id":"a","body":{}}`)
	if e := next[*ws.Error](p); e.Reason != "unknown_id" {
		t.Errorf("%+v", e)
	}
	p.say(`{"type":"start","id":"a","path":"/v1/chat/completions","headers":{"X-Title":"t"},"body":{"stream":true, "messages":[ {"n":1} ],"tools":[]}}`)
	p.whole("a")
	p.say(`{"type":"append","id":"a","add":{"messages":[{"n":2},{"n":3}]}}`)
	if got := p.whole("a"); got.end.Turn != 2 || got.open.Turn != 2 || got.end.Outcome != "done" || got.events[0].Seq != 1 {
		t.Errorf("%+v", got.end)
	}
	p.say(`{"type":"append","id":"a","add":{"tools":[{"t":1}]}}`)
	p.whole("a")
	for _, bad := range []string{`"add":{"none":[1]}`, `"add":{"stream":[1]}`, ``, `"body":{},"add":{}`} {
		if bad != "" {
			bad = "," + bad
		}
		p.say(`{"type":"append","id":"a"` + bad + `}`)
		if e := next[*ws.Error](p); e.Reason != "bad_append" {
			t.Errorf("%s: %+v", bad, e)
		}
	}
	p.say(`{"type":"append","id":"a","body":{"stream":true}}`)
	p.whole("a")
	want := []string{
		`/v1/chat/completions t {"stream":true, "messages":[ {"n":1} ],"tools":[]}`,
		`/v1/chat/completions t {"stream":true, "messages":[ {"n":1} ,{"n":2},{"n":3}],"tools":[]}`,
		`/v1/chat/completions t {"stream":true, "messages":[ {"n":1} ,{"n":2},{"n":3}],"tools":[{"t":1}]}`,
		`/v1/chat/completions t {"stream":true}`,
	}
	if strings.Join(bodies, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(bodies, "\n"), strings.Join(want, "\n"))
	}
}

// A stream is followed on from any position, on another socket, in every form.
func TestSocketResume(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/api/chat", "/v1beta/models/m:streamGenerateContent?alt=sse"} {
		m := startMock(t, "n=6,ttft=1ms")
		g := startLog(t, relay.MemoryOptions{}, small, m.URL())
		p, _ := connect(t, g.url, "Authorization", "Bearer mine-mine")
		p.say(`{"type":"start","id":"a","resume":true,"path":"` + path + `","body":` + ask1 + `}`)
		first := p.whole("a")
		if !first.open.Resumable || first.open.Stream == "" || first.end.Outcome != "done" {
			t.Fatalf("%s: %+v %+v", path, first.open, first.end)
		}
		q, _ := connect(t, g.url, "Authorization", "Bearer mine-mine")
		for after := range int64(len(first.events)) + 1 {
			q.say(`{"type":"resume","id":"r","stream":"` + first.open.Stream + `","after":` + strconv.FormatInt(after, 10) + `}`)
			got := q.whole("r")
			want := (&turnSeen{events: first.events[after:]}).data()
			if got.data() != want || got.end.Outcome != "done" {
				t.Errorf("%s after %d: %q want %q, %+v", path, after, got.data(), want, got.end)
			}
			for i, e := range got.events {
				if e.Seq != after+int64(i)+1 {
					t.Errorf("%s after %d: seq %d at %d", path, after, e.Seq, i)
				}
			}
		}
		if id := first.events[2].EventID; id != "" {
			q.say(`{"type":"resume","id":"r","stream":"` + first.open.Stream + `","last_event_id":"` + id + `"}`)
			if got := q.whole("r"); len(got.events) != len(first.events)-3 || got.events[0].Seq != 4 {
				t.Errorf("%s: %d events from %+v", path, len(got.events), got.events[0])
			}
		}
	}
}
