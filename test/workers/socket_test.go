package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/client"
	"weir/ws"
)

const sockets = plain + "ws: {enabled: true}\n"

// socket is a client's.
type socket struct {
	t *testing.T
	*client.Socket
}

func (e *edge) socket(t *testing.T) *socket {
	t.Helper()
	s, err := client.Dial(t.Context(), strings.Replace(e.url, "http", "ws", 1), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it may be closed
	return &socket{t, s}
}

func (s *socket) say(m any) {
	s.t.Helper()
	if err := s.Send(s.t.Context(), m); err != nil {
		s.t.Fatal(err)
	}
}

func (s *socket) next() any {
	s.t.Helper()
	m, err := s.tryNext()
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

func (s *socket) tryNext() (any, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	return s.Receive(ctx)
}

// came is what a socket brought of one stream.
type came struct {
	open   *ws.Open
	events []*ws.Event
	body   string
	end    *ws.End
}

// frames is the events as SSE.
func (c *came) frames() string {
	var b strings.Builder
	for _, e := range c.events {
		data, _ := e.Bytes()
		fmt.Fprintf(&b, "data: %s\n\n", data)
	}
	return b.String()
}

// seqs is the events' numbers.
func (c *came) seqs() (list []int64) {
	for _, e := range c.events {
		list = append(list, e.Seq)
	}
	return list
}

// take takes messages into what came, until enough says so.
func (s *socket) take(all map[string]*came, enough func() bool) map[string]*came {
	s.t.Helper()
	of := func(id string) *came {
		if all[id] == nil {
			all[id] = &came{}
		}
		return all[id]
	}
	for !enough() {
		switch m := s.next().(type) {
		case *ws.Open:
			of(m.ID).open = m
		case *ws.Event:
			of(m.ID).events = append(of(m.ID).events, m)
		case *ws.Body:
			b, _ := m.Bytes()
			of(m.ID).body += string(b)
		case *ws.End:
			if of(m.ID).end != nil {
				s.t.Errorf("%s ended twice: %+v", m.ID, m)
			}
			of(m.ID).end = m
		case *ws.Heartbeat, *ws.DrainHint:
		default:
			s.t.Fatalf("%T came: %+v", m, m)
		}
	}
	return all
}

// whole takes messages until streams have ended.
func (s *socket) whole(ids ...string) map[string]*came {
	s.t.Helper()
	all := map[string]*came{}
	return s.take(all, func() bool {
		for _, id := range ids {
			if all[id] == nil || all[id].end == nil {
				return false
			}
		}
		return true
	})
}

// some takes messages until a stream has so many events.
func (s *socket) some(id string, n int) *came {
	s.t.Helper()
	all := map[string]*came{id: {}}
	s.take(all, func() bool { return len(all[id].events) >= n || all[id].end != nil })
	return all[id]
}

func question(id string) ws.Start {
	return ws.Start{ID: id, Path: chatPath, Body: json.RawMessage(ask)}
}

// Several streams at once on one socket, further turns, an answer that is no
// stream and a refusal: what a socket brings of an edge is what the service says.
func TestSocket(t *testing.T) {
	t.Parallel()
	last := make(chan string, 10)
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"data":["ü"]}`)
		case "/v1/bad":
			w.Header().Set("Retry-After", "3")
			http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
		default:
			name := r.Header.Get("Openai-Name")
			last <- name
			for i := range 20 {
				say(w, chat(fmt.Sprint(name, i)))
				time.Sleep(time.Millisecond)
			}
			say(w, chatEnd)
		}
	})
	s := newSite(t, strings.NewReplacer("upstreams: {", `upstreams: {dead: {urls: ["http://127.0.0.1:1"]}, `,
		"routes: [", `routes: [{path: "/dead/*", upstream: dead, retry: {attempts: 1}}, `).Replace(sockets), up.url)
	s.lease = 10 * time.Second // nobody dies here
	e := s.edge()
	s.worker()
	c := e.socket(t)
	want := func(name string) string {
		var b strings.Builder
		for i := range 20 {
			b.WriteString(chat(fmt.Sprint(name, i)))
		}
		return b.String() + chatEnd
	}
	ids := []string{"a", "b", "c", "d"}
	for i, id := range ids {
		q := question(id)
		q.Headers, q.Resume = map[string]string{"OpenAI-Name": id}, i%2 == 1
		c.say(q)
	}
	for id, got := range c.whole(ids...) {
		if got.frames() != want(id) || got.open.Status != 200 || got.end.Outcome != "done" || got.end.Events != 22 {
			t.Errorf("%s: %+v %+v\n%s", id, got.open, got.end, got.frames())
		}
		for i, n := range got.seqs() {
			if n != int64(i+1) {
				t.Fatalf("%s: events are numbered %v", id, got.seqs())
			}
		}
		if got.open.Resumable != (id == "b" || id == "d") || got.open.Stream == "" {
			t.Errorf("%s: %+v", id, got.open)
		}
	}
	c.say(ws.Append{ID: "b", Add: map[string][]json.RawMessage{"messages": {json.RawMessage(`{"role":"user","content":"more"}`)}}})
	if got := c.whole("b")["b"]; got.frames() != want("b") || got.open.Turn != 2 || got.end.Turn != 2 || got.end.Outcome != "done" {
		t.Errorf("%+v\n%s", got.end, got.frames())
	}
	c.say(ws.Start{ID: "a", Path: "/v1/models", Method: http.MethodGet})
	if got := c.whole("a")["a"]; got.body != `{"data":["ü"]}` || got.end.Outcome != "done" || got.open.Status != 200 {
		t.Errorf("%q %+v", got.body, got.end)
	}
	c.say(ws.Start{ID: "a", Path: "/v1/bad", Body: json.RawMessage(ask)})
	if got := c.whole("a")["a"]; got.end.Outcome != "error" || got.end.Status != 429 || got.end.Code != ws.Capacity ||
		!got.end.Reconnect || got.open.RetryAfterMs != 3000 || got.end.RetryAfterMs != 3000 || got.end.Reason != "http_429" || !strings.Contains(got.body, "slow down") {
		t.Errorf("%q %+v", got.body, got.end)
	}
	c.say(ws.Start{ID: "a", Path: "/dead/x", Body: json.RawMessage(ask)})
	if got := c.whole("a")["a"]; got.end.Outcome != "error" || got.end.Reason != "upstream_connect" || got.end.Code != ws.Broken || got.end.Message == "" {
		t.Errorf("%q %+v", got.body, got.end)
	}
}

// A cancel reaches the service in every state, and the stream ends once.
func TestSocketCancel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, first string
		resume      bool
	}{
		{"nobody has it", "", false}, {"before headers", "wait", false}, {"silent", "headers", false},
		{"in the middle", chat("one"), false}, {"in the middle of a resumable one", chat("one"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := make(chan struct{}, 1)
			up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				if c.first != "wait" {
					say(w, strings.TrimPrefix(c.first, "headers"))
				}
				linger(r)
			})
			s := newSite(t, sockets, up.url)
			e := s.edge()
			if c.first != "" {
				s.worker()
			}
			p := e.socket(t)
			q := question("a")
			q.Resume = c.resume
			p.say(q)
			switch {
			case c.first == "":
				await(t, func() bool { return strings.HasPrefix(s.redis.Do("XLEN weir:{jobs}"), ":1") })
			case strings.HasPrefix(c.first, "data"):
				p.some("a", 1)
			default:
				<-asked
			}
			p.say(ws.Cancel{ID: "a"})
			if end := p.whole("a")["a"].end; end.Outcome != "cancelled" || end.Code != ws.Stopped || end.Reconnect {
				t.Errorf("%+v", end)
			}
			if c.first != "" {
				<-up.gone
			}
			await(t, func() bool { return strings.HasPrefix(s.redis.Do("XLEN weir:{jobs}"), ":0") })
		})
	}
}

// A stream is resumed on another edge's socket, after a position and by an id:
// nothing is lost and nothing comes twice. Its cancel there ends it for all.
func TestSocketResumeElsewhere(t *testing.T) {
	t.Parallel()
	more := make(chan string)
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		say(w, chat("one")+chat("two"))
		for {
			select {
			case p := <-more:
				say(w, p)
			case <-r.Context().Done():
				return
			}
		}
	})
	s := newSite(t, strings.Replace(sockets, "grace: 2s", "grace: 30s", 1), up.url)
	s.lease = 10 * time.Second // nobody dies here
	e, other := s.edge(), s.edge()
	s.worker()
	first := e.socket(t)
	q := question("a")
	q.Resume = true
	first.say(q)
	got := first.some("a", 2)
	if !got.open.Resumable || got.events[1].EventID == "" {
		t.Fatalf("%+v %+v", got.open, got.events[1])
	}
	_ = first.Close()
	p, again := other.socket(t), e.socket(t)
	p.say(ws.Resume{ID: "r", Stream: got.open.Stream, After: 2})
	again.say(ws.Resume{ID: "x", Stream: got.open.Stream, LastEventID: got.events[0].EventID})
	more <- chat("three")
	if rest := p.some("r", 1); rest.frames() != chat("three") || rest.events[0].Seq != 3 {
		t.Errorf("%v %s", rest.seqs(), rest.frames())
	}
	if rest := again.some("x", 2); rest.frames() != chat("two")+chat("three") || rest.events[0].Seq != 2 {
		t.Errorf("%v %s", rest.seqs(), rest.frames())
	}
	again.say(ws.Leave{ID: "x"})
	if end := again.whole("x")["x"].end; end.Outcome != "left" || end.Code != ws.Normal {
		t.Errorf("%+v", end)
	}
	more <- chat("four")
	if rest := p.some("r", 1); rest.frames() != chat("four") {
		t.Errorf("%s", rest.frames())
	}
	p.say(ws.Cancel{ID: "r"})
	if end := p.whole("r")["r"].end; end.Outcome != "cancelled" || end.Code != ws.Stopped {
		t.Errorf("%+v", end)
	}
	<-up.gone
	p.say(ws.Resume{ID: "y", Stream: strings.Repeat("0", 32)})
	if end := p.whole("y")["y"].end; end.Code != ws.Unresumable || end.Reconnect {
		t.Errorf("%+v", end)
	}
}

// A socket whose client leaves takes its streams with it, but for those that can
// be resumed.
func TestSocketGone(t *testing.T) {
	t.Parallel()
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		say(w, chat("one"))
		linger(r)
	})
	s := newSite(t, strings.Replace(sockets, "grace: 2s", "grace: 30s", 1), up.url)
	s.lease = 10 * time.Second // nobody dies here
	e := s.edge()
	s.worker()
	p := e.socket(t)
	a, b := question("a"), question("b")
	b.Resume = true
	p.say(a)
	p.some("a", 1)
	p.say(b)
	kept := p.some("b", 1)
	_ = p.Close()
	<-up.gone // the one that cannot be resumed
	q := e.socket(t)
	q.say(ws.Resume{ID: "r", Stream: kept.open.Stream})
	if got := q.some("r", 1); got.frames() != chat("one") {
		t.Errorf("%s", got.frames())
	}
	select {
	case <-up.gone:
		t.Error("the one that can be resumed was ended")
	default:
	}
}

// What goes wrong between an edge and its worker is told with a code that lets
// the client come again.
func TestSocketWorkerKilled(t *testing.T) {
	t.Parallel()
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		say(w, chat("one"))
		linger(r)
	})
	s := newSite(t, sockets, up.url)
	e := s.edge()
	w := s.process(up.url)
	p := e.socket(t)
	p.say(question("a"))
	p.some("a", 1)
	q := question("b")
	q.Resume = true
	p.say(q)
	kept := p.some("b", 1)
	f := e.socket(t)
	f.say(ws.Resume{ID: "r", Stream: kept.open.Stream})
	f.some("r", 1)
	w.kill()
	all := p.whole("a", "b")
	all["r"] = f.whole("r")["r"]
	for id, got := range all {
		if got.end.Outcome != "error" || got.end.Code != ws.Broken || !got.end.Reconnect || got.end.Reason == "" ||
			len(got.events) != 1 || !strings.Contains(got.frames(), got.end.Reason) || got.end.Reason != "worker_lost" && id != "r" {
			t.Errorf("%s: %+v\n%s", id, got.end, got.frames())
		}
	}
}

// Without Redis a question on a socket is refused, and one that runs ends with an
// error; the client may come again in both.
func TestSocketRedisDown(t *testing.T) {
	t.Parallel()
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		say(w, chat("one"))
		linger(r)
	})
	s := newSite(t, sockets, up.url)
	e := s.edge()
	s.worker()
	p := e.socket(t)
	p.say(question("a"))
	p.some("a", 1)
	s.redis.Kill()
	p.say(question("b"))
	for id, got := range p.whole("a", "b") {
		if got.end.Outcome != "error" || got.end.Reason != "relay_unavailable" || got.end.Code != ws.Broken || !got.end.Reconnect {
			t.Errorf("%s: %+v", id, got.end)
		}
	}
}

// An edge that drains says when to come back, ends what it lets go of with the
// code that says so, and the rest comes elsewhere.
func TestSocketDrainEdge(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	up := talking(t, more)
	s := newSite(t, strings.Replace(sockets, "grace: 2s", "grace: 30s", 1), up.url)
	s.lease = 10 * time.Second // nobody dies here
	e, other := s.edge(), s.edge()
	s.worker()
	p := e.socket(t)
	q := question("a")
	q.Resume = true
	p.say(q)
	begin := p.some("a", 2)
	go func() { _ = e.front.Drain(context.Background()) }()
	rest := p.whole("a")["a"]
	if rest.end.Outcome != "broken" || rest.end.Code != ws.Drain || !rest.end.Reconnect || rest.end.RetryAfterMs < 1000 || rest.end.Reason == "" {
		t.Errorf("%+v", rest.end)
	}
	var closed *client.CloseError
	if _, err := p.tryNext(); !errors.As(err, &closed) || closed.Code != ws.Drain {
		t.Errorf("the socket: %v", err)
	}
	close(more)
	seen := append(begin.events, rest.events...)
	o := other.socket(t)
	o.say(ws.Resume{ID: "r", Stream: begin.open.Stream, After: seen[len(seen)-1].Seq})
	end := o.whole("r")["r"]
	all := &came{events: append(seen, end.events...)}
	for i, n := range all.seqs() {
		if n != int64(i+1) {
			t.Fatalf("events are numbered %v", all.seqs())
		}
	}
	if !strings.HasSuffix(all.frames(), chatEnd) || end.end.Outcome != "done" {
		t.Errorf("%+v\n%s", end.end, all.frames())
	}
}
