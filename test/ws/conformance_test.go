package ws

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/client"
	"weir/ws"
)

var (
	wsURL  = flag.String("ws-url", "", "the WebSocket to ask; default: a gateway of the test's own before a mock")
	wsKey  = flag.String("ws-key", "", "key for the handshake")
	wsPath = flag.String("ws-path", "/v1/chat/completions", "a route whose service answers in the OpenAI dialect")
	wsBody = flag.String("ws-body", `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`, "a request for a stream of some seconds")
)

// asker is a client of the server under test.
type asker struct {
	t *testing.T
	*client.Socket
}

func dial(t *testing.T, url string) *asker {
	t.Helper()
	o := client.Options{Header: http.Header{}}
	if *wsKey != "" {
		o.Header.Set("Authorization", "Bearer "+*wsKey)
	}
	s, err := client.Dial(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &asker{t, s}
}

func (p *asker) say(m any) {
	p.t.Helper()
	if err := p.Send(p.t.Context(), m); err != nil {
		p.t.Fatal(err)
	}
}

func (p *asker) next() (any, error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	return p.Receive(ctx)
}

// until takes messages up to the first of a type, and gives those before it.
func until[T any](p *asker) (got T, before []any) {
	p.t.Helper()
	for {
		m, err := p.next()
		if err != nil {
			p.t.Fatalf("%v after %d messages", err, len(before))
		}
		if t, ok := m.(T); ok {
			return t, before
		}
		before = append(before, m)
	}
}

func (p *asker) events(before []any) (list []*ws.Event) {
	for _, m := range before {
		if e, ok := m.(*ws.Event); ok {
			list = append(list, e)
		}
	}
	return list
}

func question(id string) ws.Start {
	return ws.Start{ID: id, Path: *wsPath, Body: json.RawMessage(*wsBody)}
}

// TestConformance asks a server everything that docs/websocket.md promises and
// that can be seen from outside.
func TestConformance(t *testing.T) {
	url := *wsURL
	if url == "" {
		url, _ = start(t, "n=20,ttft=20ms,gap=5ms", "")
	}
	for _, c := range []struct {
		name string
		run  func(t *testing.T, url string)
	}{
		{"hello", conformHello}, {"stream", conformStream}, {"several", conformSeveral}, {"append", conformAppend},
		{"resume", conformResume}, {"cancel", conformCancel}, {"errors", conformErrors}, {"closes", conformCloses},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, url) })
	}
}

func conformHello(t *testing.T, url string) {
	p := dial(t, url)
	if h := p.Hello; h.Protocol != ws.Protocol || h.Message < 1<<10 || h.Streams < 1 {
		t.Errorf("%+v", h)
	}
	p.say(ws.Ping{Data: "x"})
	if pong, _ := until[*ws.Pong](p); pong.Data != "x" {
		t.Errorf("%+v", pong)
	}
}

func conformStream(t *testing.T, url string) {
	p := dial(t, url)
	p.say(question("a"))
	end, before := until[*ws.End](p)
	open, ok := before[0].(*ws.Open)
	if !ok || open.ID != "a" || open.Turn != 1 || open.Status != 200 || open.RequestID == "" {
		t.Errorf("first came %+v", before[0])
	}
	events := p.events(before)
	for i, e := range events {
		if e.ID != "a" || e.Seq != int64(i+1) {
			t.Errorf("event %d: %+v", i+1, e)
		}
	}
	if last := events[len(events)-1]; last.Data == nil || *last.Data != "[DONE]" {
		t.Errorf("the last event is %+v", last)
	}
	if end.Outcome != "done" || end.Code != ws.Normal || end.Events != int64(len(events)) || end.Reconnect {
		t.Errorf("%+v", end)
	}
}

func conformSeveral(t *testing.T, url string) {
	p := dial(t, url)
	n := min(3, p.Hello.Streams)
	for i := range n {
		p.say(question(string(rune('a' + i))))
	}
	seq, ends := map[string]int64{}, map[string]int{}
	for left := n; left > 0; {
		m, err := p.next()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *ws.Event:
			if seq[m.ID]++; m.Seq != seq[m.ID] || ends[m.ID] > 0 {
				t.Errorf("%+v after %d", m, seq[m.ID]-1)
			}
		case *ws.End:
			left--
			if ends[m.ID]++; ends[m.ID] > 1 || m.Outcome != "done" {
				t.Errorf("%+v", m)
			}
		}
	}
}

func conformAppend(t *testing.T, url string) {
	p := dial(t, url)
	p.say(question("a"))
	until[*ws.End](p)
	p.say(ws.Append{ID: "a", Add: map[string][]json.RawMessage{"messages": {json.RawMessage(`{"role":"user","content":"more"}`)}}})
	end, before := until[*ws.End](p)
	if end.Turn != 2 || end.Outcome != "done" || p.events(before)[0].Seq != 1 {
		t.Errorf("%+v", end)
	}
}

func conformResume(t *testing.T, url string) {
	p := dial(t, url)
	q := question("a")
	q.Resume = true
	p.say(q)
	open, _ := until[*ws.Open](p)
	if !open.Resumable || open.Stream == "" {
		t.Skip("this server keeps no streams")
	}
	var first []*ws.Event
	for range 3 {
		e, _ := until[*ws.Event](p)
		first = append(first, e)
	}
	_ = p.Close()
	r := dial(t, url)
	r.say(ws.Resume{ID: "r", Stream: open.Stream, After: first[2].Seq})
	end, before := until[*ws.End](r)
	for i, e := range r.events(before) {
		if e.ID != "r" || e.Seq != first[2].Seq+int64(i)+1 {
			t.Errorf("event %d after the break: %+v", i+1, e)
		}
	}
	if end.Outcome != "done" {
		t.Errorf("%+v", end)
	}
	r.say(ws.Resume{ID: "r", Stream: strings.Repeat("0", 32)})
	if end, _ := until[*ws.End](r); end.Code != ws.Unresumable || end.Reconnect {
		t.Errorf("a stream that is not there: %+v", end)
	}
}

func conformCancel(t *testing.T, url string) {
	p := dial(t, url)
	p.say(question("a"))
	until[*ws.Event](p)
	p.say(ws.Cancel{ID: "a"})
	if end, _ := until[*ws.End](p); end.Outcome != "cancelled" && end.Outcome != "done" {
		t.Errorf("%+v", end)
	}
	p.say(question("a")) // the socket lives, and the name is free
	if end, _ := until[*ws.End](p); end.Outcome != "done" {
		t.Errorf("%+v", end)
	}
}

func conformErrors(t *testing.T, url string) {
	p := dial(t, url)
	for _, c := range []struct{ m any }{
		{ws.Start{ID: "not a name", Path: *wsPath}},
		{ws.Start{ID: "a", Path: "no/slash"}},
		{ws.Start{ID: "a", Path: *wsPath, Headers: map[string]string{"Authorization": "Bearer other"}}},
		{ws.Append{ID: "unknown", Body: json.RawMessage(`{}`)}},
		{ws.Cancel{ID: "unknown"}},
	} {
		p.say(c.m)
		if e, before := until[*ws.Error](p); len(before) > 0 || e.Reason == "" || e.Message == "" {
			t.Errorf("%+v: %+v after %d messages", c.m, e, len(before))
		}
	}
}

func conformCloses(t *testing.T, url string) {
	for _, c := range []struct {
		name string
		m    any
		code ws.Code
	}{
		{"a message of the gateway's", ws.Pong{Data: "x"}, ws.BadMessage},
		{"a large message", nil, ws.TooBig},
	} {
		p := dial(t, url)
		if c.m == nil {
			c.m = ws.Ping{Data: strings.Repeat("x", int(p.Hello.Message))}
		}
		p.say(c.m)
		var closed *client.CloseError
		for {
			if _, err := p.next(); err != nil {
				if !errors.As(err, &closed) || closed.Code != c.code {
					t.Errorf("%s: %v, want %d", c.name, err, c.code)
				}
				break
			}
		}
	}
}
