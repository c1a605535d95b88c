package http1

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func newClient(t *testing.T, o ClientOptions) *Client {
	t.Helper()
	c := NewClient(o)
	t.Cleanup(c.Close)
	return c
}

func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, url, r)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// get asks, reads the whole body and closes it.
func get(t *testing.T, c *Client, req *http.Request) (*http.Response, string, *Trip) {
	t.Helper()
	trip := &Trip{T0: StartClock()}
	res, err := c.Do(t.Context(), req, trip)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res, string(b), trip
}

// Every way a body can be delimited is read to its end, and the connection is
// used again where it can be.
func TestClientReadsEveryFraming(t *testing.T) {
	for name, k := range map[string]struct {
		method, answer, body string
		again                bool
	}{
		"length":         {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", true},
		"empty":          {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", true},
		"chunks":         {"GET", chunkedHead + asChunk("hel") + "2;x=y\r\nlo\r\n" + "0\r\nX-Sum: 1\r\n\r\n", "hello", true},
		"until close":    {"GET", "HTTP/1.1 200 OK\r\n\r\nhello", "hello", false},
		"close":          {"GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", "hello", false},
		"http/1.0":       {"GET", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", false},
		"head":           {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "", true},
		"head of chunks": {"HEAD", chunkedHead, "", true},
		"204":            {"GET", "HTTP/1.1 204 No Content\r\n\r\n", "", true},
		"304":            {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "", true},
		"informational":  {"GET", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", true},
		"more than said": {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n", "ok", false},
	} {
		t.Run(name, func(t *testing.T) {
			until := strings.Contains(name, "until") || strings.Contains(name, "close")
			u := raw(t, func(c net.Conn) {
				_, _ = io.WriteString(c, k.answer)
				if !until {
					for readHead(c) != "" { // asked again
						_, _ = io.WriteString(c, k.answer)
					}
				}
			})
			c := newClient(t, ClientOptions{})
			for i := range 2 {
				_, body, trip := get(t, c, request(t, k.method, u, ""))
				if body != k.body || trip.Warm != (i > 0 && k.again) {
					t.Errorf("request %d: %q, warm %t", i, body, trip.Warm)
				}
				if !trip.Phases.Headers.Known() || !trip.Phases.RequestWritten.Known() || trip.Phases.Connect.Known() == trip.Warm {
					t.Errorf("request %d: phases %+v", i, trip.Phases)
				}
			}
			c.Close()
		})
	}
}

// A server may close an idle connection just as the next request is written:
// that is repeated, once a new connection is there. On a new one it is not, nor
// is what the server may have read and acted upon.
func TestClientRepeatsOnlyWhatNobodySaw(t *testing.T) {
	var conns atomic.Int32
	u := raw(t, func(c net.Conn) {
		n := conns.Add(1)
		if n == 3 {
			return // a new connection, without a word
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		if n == 1 {
			readHead(c) // the next request comes, and is left unanswered
		}
	})
	c := newClient(t, ClientOptions{})
	for range 2 {
		if _, body, _ := get(t, c, request(t, "GET", u, "")); body != "ok" {
			t.Fatalf("body %q", body)
		}
	}
	if _, err := c.Do(t.Context(), request(t, "GET", u, ""), &Trip{T0: StartClock()}); !errors.Is(err, ErrNoResponse) || conns.Load() != 3 {
		t.Errorf("%v after %d connections", err, conns.Load())
	}
}

// Ending the context ends the request before the head and within the body.
func TestClientEndsWithItsContext(t *testing.T) {
	for _, head := range []string{"", chunkedHead + asChunk("x")} {
		hold := make(chan struct{})
		u := raw(t, func(c net.Conn) { _, _ = io.WriteString(c, head); <-hold })
		c := newClient(t, ClientOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		res, err := c.Do(ctx, request(t, "GET", u, ""), &Trip{T0: StartClock()})
		if err == nil {
			_, err = io.ReadAll(res.Body)
			_ = res.Body.Close()
		}
		if err == nil || ctx.Err() == nil {
			t.Errorf("head %q: %v", head, err)
		}
		close(hold)
	}
}

// A server may answer before it has read a request that does not fit into
// buffers.
func TestClientTakesAnAnswerWhileItWrites(t *testing.T) {
	hold := make(chan struct{})
	u := raw(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
		<-hold
	})
	c := newClient(t, ClientOptions{})
	res, body, _ := get(t, c, request(t, "POST", u, strings.Repeat("x", 32<<20)))
	if res.StatusCode != http.StatusRequestEntityTooLarge || body != "no" {
		t.Errorf("%d %q", res.StatusCode, body)
	}
	close(hold)
}

func TestClientSaysWhereHTTP2IsSpoken(t *testing.T) {
	for _, k := range []struct {
		two  bool
		asks []string
		want error
	}{{true, []string{"h2", "http/1.1"}, ErrHTTP2}, {false, []string{"h2", "http/1.1"}, nil}, {true, nil, nil}} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			_, _ = w.Write(bytes.ToUpper(b))
		}))
		s.EnableHTTP2 = k.two
		s.StartTLS()
		c := newClient(t, ClientOptions{Protocols: k.asks, Dialer: DialerOptions{Roots: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}})
		for range 2 {
			trip := &Trip{T0: StartClock()}
			res, err := c.Do(t.Context(), request(t, "POST", s.URL, "loud"), trip)
			if !errors.Is(err, k.want) {
				t.Fatalf("%+v: %v", k, err)
			}
			if err == nil {
				if b, _ := io.ReadAll(res.Body); string(b) != "LOUD" || trip.TLS == "" {
					t.Errorf("%q over %q", b, trip.TLS)
				}
				_ = res.Body.Close()
			}
		}
		c.Close()
		s.Close()
	}
}

// Reads carry the kernel's stamps, and the client says what would spoil them.
func TestClientStampsReads(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("kernel stamps are Linux's")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			_, _ = io.WriteString(w, "data: x\n\n")
			w.(http.Flusher).Flush()
			time.Sleep(2 * time.Millisecond)
		}
	}))
	defer s.Close()
	c := newClient(t, ClientOptions{})
	trip := &Trip{T0: StartClock()}
	res, err := c.Do(t.Context(), request(t, "GET", s.URL, ""), trip)
	if err != nil {
		t.Fatal(err)
	}
	j, body, n := NewJudge(trip.T0), res.Body.(*Body), 0
	for {
		a, err := body.Next()
		if n += len(a.Data); len(a.Data) > 0 {
			j.See(a.App, a.Kernel)
		}
		if err != nil {
			break
		}
	}
	if ooo, ok := body.Disorder().Get(); n != 27 || j.Why() != "" || !ok || ooo != 0 {
		t.Errorf("%d bytes, %q, disorder %d %t", n, j.Why(), ooo, ok)
	}
	_ = body.Close()
	c.Close()
}
