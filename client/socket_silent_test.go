package client_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/client"
	"weir/ws"
)

// A gateway that accepts a connection and then says nothing, as a process that
// was stopped, is left for the next one.
func TestSilentHandshake(t *testing.T) {
	var n atomic.Int32
	var silent sync.WaitGroup
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say := func(c *websocket.Conn, m any) {
			p, err := ws.Encode(m)
			if err != nil {
				t.Error(err)
			}
			_ = c.Write(r.Context(), websocket.MessageText, p)
		}
		k := n.Add(1)
		if k == 2 {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			silent.Go(func() { untilGone(c) })
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		say(c, ws.Hello{Protocol: ws.Protocol, Auth: "done"})
		if _, _, err := c.Read(r.Context()); err != nil {
			t.Error(err)
		}
		say(c, ws.Open{ID: "s", Turn: 1, Status: 200, ContentType: "text/event-stream", Stream: "abc", Resumable: true})
		if k == 1 {
			say(c, event(1, "a"))
			return
		}
		say(c, event(2, "[DONE]"))
		say(c, ws.End{ID: "s", Turn: 1, Outcome: "done", Code: ws.Normal, Status: 200})
		_, _, _ = c.Read(r.Context()) // until the client leaves
	}))
	t.Cleanup(func() { s.Close(); silent.Wait() })
	o := quick
	o.Silence = 300 * time.Millisecond
	var got []string
	for e, err := range client.Ask(t.Context(), strings.Replace(s.URL, "http", "ws", 1), client.Question{Path: "/v1/chat/completions"}, o) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(e.Data))
	}
	if strings.Join(got, " ") != "a [DONE]" || n.Load() != 3 {
		t.Errorf("%q in %d connections", got, n.Load())
	}
}

func untilGone(c net.Conn) {
	defer c.Close()
	buf := make([]byte, 1<<10)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
	}
}
