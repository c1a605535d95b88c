package http1

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// dies serves one request on each connection, and dies over the next; again
// says what it says before.
func dies(t *testing.T, last string) (url string, asked *atomic.Int32) {
	asked = new(atomic.Int32)
	return raw(t, func(c net.Conn) {
		asked.Add(1)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		if readHead(c) != "" {
			asked.Add(1)
			_, _ = io.WriteString(c, last)
		}
	}), asked
}

// What a server may have read and acted upon is not asked twice, except where
// twice is the same as once.
func TestClientAsksOnceForWhatMayHarm(t *testing.T) {
	for name, k := range map[string]struct {
		method, key, last string
		asked             int32
	}{
		"post":              {"POST", "", "", 2},
		"post with its key": {"POST", "k-1", "", 3},
		"delete":            {"DELETE", "", "", 2},
		"get":               {"GET", "", "", 3},
		"seen":              {"GET", "", "HTTP/1.1 100 Continue\r\n\r\n", 2},
		"hinted":            {"GET", "", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 2},
		"half a head":       {"GET", "", "HTTP/1.1 200 OK\r\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			u, asked := dies(t, k.last)
			c := newClient(t, ClientOptions{})
			get(t, c, request(t, "GET", u, ""))
			req := request(t, k.method, u, "x")
			if k.key != "" {
				req.Header.Set("Idempotency-Key", k.key)
			}
			res, err := c.Do(t.Context(), req, &Trip{T0: StartClock()})
			if err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
			c.Close()
			if n := asked.Load(); n != k.asked || (err == nil) != (k.asked == 3) {
				t.Errorf("asked %d times, want %d: %v", n, k.asked, err)
			}
		})
	}
}

// Read may take a part of what a socket read brought: Next gives the rest.
func TestNextGoesOnWhereReadStopped(t *testing.T) {
	for _, size := range []int{1, 100, 5000, 100_000} {
		want := strings.Repeat("0123456789", size)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, want) }))
		c := newClient(t, ClientOptions{})
		res, err := c.Do(t.Context(), request(t, "GET", s.URL, ""), &Trip{T0: StartClock()})
		if err != nil {
			t.Fatal(err)
		}
		body, got := res.Body.(*Body), []byte(nil)
		for err == nil {
			var p [7]byte
			n, readErr := body.Read(p[:])
			got = append(got, p[:n]...)
			if err = readErr; err == nil {
				var a *Arrived
				a, err = body.Next()
				got = append(got, a.Data...)
			}
		}
		if !errors.Is(err, io.EOF) || string(got) != want {
			t.Errorf("%d of %d bytes, %v", len(got), len(want), err)
		}
		_ = body.Close()
		c.Close()
		s.Close()
	}
}

// A server that says more than its head allows is not asked again on that
// connection, though nobody read the body.
func TestClientDropsWhatSaidTooMuch(t *testing.T) {
	for name, k := range map[string]struct{ method, head string }{
		"empty": {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		"head":  {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"},
		"204":   {"GET", "HTTP/1.1 204 No Content\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			u := raw(t, func(c net.Conn) {
				_, _ = io.WriteString(c, k.head+"HTTP/1.1 200 OK\r\nX-Foreign: 1\r\n")
				if readHead(c) != "" {
					t.Error("the connection was used again")
				}
			})
			c := newClient(t, ClientOptions{})
			for range 2 {
				res, err := c.Do(t.Context(), request(t, k.method, u, ""), &Trip{T0: StartClock()})
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
			}
			c.Close()
		})
	}
}

// Many servers send their session tickets when the handshake is over (OpenSSL's
// do): a connection opened ahead is good for the first request all the same.
func TestWarmConnectionOutlivesTickets(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert} // with it, Go's tickets come late too
	s.StartTLS()
	defer s.Close()
	c := newClient(t, ClientOptions{Dialer: DialerOptions{Insecure: true, Sessions: tls.NewLRUClientSessionCache(4)}})
	req := request(t, "GET", s.URL, "")
	if err := c.Warm(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	conn := c.pool.idle[poolKey(req)][0].c // its clear is set where the tickets were taken in already
	for began := time.Now(); conn.s.idle() && conn.clear == nil; time.Sleep(time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatal("no tickets came")
		}
	}
	if _, body, trip := get(t, c, req); !trip.Warm || body != "ok" || trip.TLS != "TLS 1.3" {
		t.Errorf("warm %t, %q over %s", trip.Warm, body, trip.TLS)
	}
	s.CloseClientConnections() // the goodbye is no ticket
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		if _, _, trip := get(t, c, req); !trip.Warm {
			break
		}
		if time.Since(began) > 30*time.Second {
			t.Fatal("a connection that was closed is still used")
		}
	}
	c.Close()
}
