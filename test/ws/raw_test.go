package ws

import (
	"io"
	"net"
	"testing"
	"time"
)

// raws are sockets of which the client holds hardly more than a descriptor.
type raws struct {
	b    *testing.B
	addr string
	all  []net.Conn
}

func rawConns(b *testing.B, addr string) *raws {
	r := &raws{b: b, addr: addr, all: make([]net.Conn, 0, b.N)}
	b.Cleanup(func() {
		for _, c := range r.all {
			_ = c.Close() // the benchmark is over
		}
	})
	return r
}

// open makes a handshake and reads the hello.
func (r *raws) open() {
	c, err := net.DialTimeout("tcp", r.addr, 30*time.Second)
	if err != nil {
		r.b.Fatal(err)
	}
	r.all = append(r.all, c)
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	_, err = io.WriteString(c, "GET /weir/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	buf := make([]byte, 64)
	for seen := ""; err == nil; {
		var n int
		n, err = c.Read(buf)
		if seen += string(buf[:n]); len(seen) > 300 || n > 0 && buf[n-1] == '}' {
			break
		}
	}
	if err != nil {
		r.b.Fatal(err)
	}
	_ = c.SetDeadline(time.Time{})
}
