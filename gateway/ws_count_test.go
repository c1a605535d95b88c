package gateway

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// Every socket is counted once, opened and closed, with its code and who closed
// it; so is what of its client's was refused.
func TestSocketsAreCounted(t *testing.T) {
	g := start(t, small, scripted(t, sse(chat("a"))))
	want := []string{"handshake origin"}
	if conn, _, err := dialSocket(t, g.url, "Origin", "https://evil.example.com"); err == nil {
		_ = conn.CloseNow()
		t.Error("a foreign page may connect")
	}
	_ = get(t, g.url+"/weir/ws") // and no upgrade
	want = append(want, "handshake handshake")
	for _, c := range []struct {
		do   func(p *page)
		want []string
	}{
		{func(p *page) { _ = p.conn.Close(websocket.StatusNormalClosure, "") }, []string{"closed 1000 client"}},
		{func(p *page) { _ = p.conn.Close(4999, "secret") }, []string{"closed 4999 client"}},
		{func(p *page) { _ = p.conn.CloseNow() }, []string{"closed 1006 connection"}},
		{func(p *page) { _ = p.conn.Write(p.t.Context(), websocket.MessageBinary, []byte("x")); p.closed() }, []string{"message binary", "closed 1003 gateway"}},
		{func(p *page) { p.say(`{"type":"nonsense"}`); p.closed() }, []string{"message bad_message", "closed 4500 gateway"}},
		{func(p *page) { p.say(`{"type":"ping","data":"` + strings.Repeat("x", 64<<10) + `"}`); p.closed() }, []string{"message too_big", "closed 1009 gateway"}},
		{func(p *page) {
			p.say(`{"type":"cancel","id":"nothing"}`)
			p.any()
			_ = p.conn.Close(websocket.StatusGoingAway, "")
		}, []string{"message unknown_id", "closed 1001 client"}},
	} {
		p, _ := connect(t, g.url)
		c.do(p)
		want = append(append(want, "opened"), c.want...)
		until(t, "it is over", func() bool { return g.g.sockets.count() == 0 })
	}
	unknownFrame(t, g.url)
	want = append(want, "opened", "closed 1002 gateway")
	until(t, "it is over", func() bool { return g.g.sockets.count() == 0 })
	drained, _ := connect(t, g.url)
	g.g.Close()
	drained.closed()
	want = append(want, "opened", "closed 4000 gateway")
	g.mu.Lock()
	defer g.mu.Unlock()
	var got []string
	for _, line := range g.sockets {
		got = append(got, strings.TrimSpace(line))
	}
	if !slices.Equal(got, want) {
		t.Errorf("counted\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if strings.Contains(g.logs.String(), "secret") {
		t.Error("a client's reason is in the log")
	}
}

// unknownFrame opens a socket and sends a frame that RFC 6455 has not.
func unknownFrame(t *testing.T, url string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	_, _ = io.WriteString(c, "GET /weir/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n\x83\x80\x00\x00\x00\x00")
	_, _ = io.ReadAll(c)
}
