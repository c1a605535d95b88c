package probe

import (
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"weir/dialect"
	"weir/stream"
)

// TestStaleConnection: a server that closes an idle connection just when the
// next request is written has not failed that request's answer.
func TestStaleConnection(t *testing.T) {
	var conns atomic.Int32
	url := raw(t, func(c net.Conn) {
		body := asChunk(chunk("a ")) + asChunk(finish+done) + "0\r\n\r\n"
		_, _ = io.WriteString(c, chunkedHead+body)
		if conns.Add(1) == 1 {
			readHead(c) // the next request comes, and is left unanswered
		}
	})
	c := client(t, Options{})
	for i, want := range []struct {
		conn string
		note bool
	}{{"cold", false}, {"cold", true}} {
		rs, err := c.Do(t.Context(), dialect.Ask{URL: url + "/v1/chat/completions"}, Meta{Index: i})
		if err != nil {
			t.Fatal(err)
		}
		r := rs[0]
		if r.Outcome != stream.Complete || r.Conn != want.conn || slices.Contains(r.Notes, noteStale) != want.note {
			t.Errorf("request %d: %s on a %s connection, notes %q (%s)", i, r.Outcome, r.Conn, r.Notes, r.Detail)
		}
	}
	if n := conns.Load(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

// TestNoAnswerOnANewConnection: there it is the server's failure, and is not
// asked again.
func TestNoAnswerOnANewConnection(t *testing.T) {
	var conns atomic.Int32
	url := raw(t, func(net.Conn) { conns.Add(1) })
	rs, err := client(t, Options{}).Do(t.Context(), dialect.Ask{URL: url + "/v1/chat/completions"}, Meta{})
	if err != nil {
		t.Fatal(err)
	}
	if rs[0].Outcome != stream.Reset || conns.Load() != 1 {
		t.Errorf("%s after %d connections, want reset after one", rs[0].Outcome, conns.Load())
	}
}
