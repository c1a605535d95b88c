package http1

import (
	"fmt"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// raw serves each connection by f, one after the other, once its request is
// here.
func raw(t testing.TB, f func(net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			readHead(c)
			f(c)
			_ = c.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

// readHead reads a request with its body, as far as it has come.
func readHead(c net.Conn) string {
	var b [16 << 10]byte
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	n, _ := c.Read(b[:])
	_ = c.SetReadDeadline(time.Time{})
	return string(b[:n])
}

const chunkedHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func asChunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }
