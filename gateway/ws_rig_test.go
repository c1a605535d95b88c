package gateway

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/ws"
)

// page is a client of /weir/ws.
type page struct {
	t            *testing.T
	conn         *websocket.Conn
	asked, ended map[string]int // by id
}

// connect opens a socket and takes its hello.
func connect(t *testing.T, url string, header ...string) (*page, *ws.Hello) {
	t.Helper()
	conn, resp, err := dialSocket(t, url, header...)
	if err != nil {
		t.Fatalf("%v (%v)", err, resp)
	}
	p := &page{t: t, conn: conn, asked: map[string]int{}, ended: map[string]int{}}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return p, next[*ws.Hello](p)
}

func dialSocket(t *testing.T, url string, header ...string) (*websocket.Conn, *http.Response, error) {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, strings.Replace(url, "http", "ws", 1)+"/weir/ws", &websocket.DialOptions{HTTPHeader: h})
	if conn != nil {
		conn.SetReadLimit(64 << 20)
	}
	return conn, resp, err
}

func (p *page) say(message string) {
	p.t.Helper()
	switch m, _ := ws.Decode("client", []byte(message)); m := m.(type) {
	case *ws.Start:
		p.asked[m.ID]++
	case *ws.Append:
		p.asked[m.ID]++
	case *ws.Resume:
		p.asked[m.ID]++
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	if err := p.conn.Write(ctx, websocket.MessageText, []byte(message)); err != nil {
		p.t.Fatal(err)
	}
}

// any takes the next message.
func (p *page) any() any {
	p.t.Helper()
	b, err := p.read()
	if err != nil {
		p.t.Fatal(err)
	}
	m, err := ws.Decode("gateway", b)
	if err != nil {
		p.t.Fatalf("%s: %v", b, err)
	}
	if e, ok := m.(*ws.End); ok {
		if p.ended[e.ID]++; p.ended[e.ID] > p.asked[e.ID] {
			p.t.Errorf("%s ended %d times and was asked for %d times", e.ID, p.ended[e.ID], p.asked[e.ID])
		}
	}
	return m
}

func (p *page) read() ([]byte, error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	_, b, err := p.conn.Read(ctx)
	return b, err
}

// next takes the next message, which is to be of a type.
func next[T any](p *page) T {
	p.t.Helper()
	m := p.any()
	got, ok := m.(T)
	if !ok {
		p.t.Fatalf("%T came: %+v", m, m)
	}
	return got
}

// closed reads to the close and gives its code.
func (p *page) closed() (ws.Code, string) {
	p.t.Helper()
	for {
		if _, err := p.read(); err != nil {
			var c websocket.CloseError
			if !asClose(err, &c) {
				p.t.Fatalf("no close came: %v", err)
			}
			return ws.Code(c.Code), c.Reason
		}
	}
}

// turnSeen is what came of one stream.
type turnSeen struct {
	open   *ws.Open
	events []*ws.Event
	body   string
	beats  int
	end    *ws.End
}

// data is the events' data, one a line.
func (s *turnSeen) data() string {
	var b strings.Builder
	for _, e := range s.events {
		d, _ := e.Bytes()
		b.Write(d)
		b.WriteByte('\n')
	}
	return b.String()
}

// gather takes messages until the streams of these ids have ended.
func (p *page) gather(ids ...string) map[string]*turnSeen {
	p.t.Helper()
	all := map[string]*turnSeen{}
	for _, id := range ids {
		all[id] = &turnSeen{}
	}
	for left := len(ids); left > 0; {
		switch m := p.any().(type) {
		case *ws.Open:
			all[m.ID].open = m
		case *ws.Event:
			all[m.ID].events = append(all[m.ID].events, m)
		case *ws.Body:
			b, err := m.Bytes()
			if err != nil {
				p.t.Fatal(err)
			}
			all[m.ID].body += string(b)
		case *ws.Heartbeat:
			all[m.ID].beats++
		case *ws.End:
			all[m.ID].end = m
			left--
		case *ws.DrainHint:
		default:
			p.t.Fatalf("%T came: %+v", m, m)
		}
	}
	return all
}

// whole is gather for one stream.
func (p *page) whole(id string) *turnSeen {
	p.t.Helper()
	return p.gather(id)[id]
}

const startA = `{"type":"start","id":"a","path":"/v1/chat/completions","body":` + ask1 + `}`
