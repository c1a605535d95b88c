package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/dialect"
	"weir/stream"
)

// raw serves every connection with f, which closes it by returning.
func raw(t testing.TB, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			readHead(c)
			f(c)
			c.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

// readHead reads a request with its body, as far as it has come.
func readHead(c net.Conn) {
	var b [16 << 10]byte
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
	_, _ = c.Read(b[:])
	_ = c.SetReadDeadline(time.Time{})
}

const chunkedHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func asChunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

func TestHowAStreamEnds(t *testing.T) {
	two := asChunk(chunk("a ")) + asChunk(chunk("b "))
	for name, k := range map[string]struct {
		sends   string
		rst     bool
		outcome stream.Outcome
		reason  string
	}{
		"complete":          {chunkedHead + two + asChunk(finish+done) + "0\r\n\r\n", false, stream.Complete, ""},
		"complete, no eof":  {chunkedHead + two + asChunk(finish+done), false, stream.Complete, ""},
		"truncated":         {chunkedHead + two + "0\r\n\r\n", false, stream.Truncated, ""},
		"cut in framing":    {chunkedHead + two, false, stream.Reset, "eof"},
		"cut in a chunk":    {chunkedHead + two + "40\r\ndata", false, stream.Reset, "eof"},
		"reset":             {chunkedHead + two, true, stream.Reset, ""},
		"closed after head": {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + chunk("a"), false, stream.Truncated, ""},
		"http/1.0":          {"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + chunk("a") + finish + done, false, stream.Complete, ""},
		"1xx first":         {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + chunkedHead + two + asChunk(finish) + "0\r\n\r\n", false, stream.Complete, ""},
		"bad chunk":         {chunkedHead + two + "zz\r\n", false, stream.Reset, "framing"},
		"empty":             {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, stream.Truncated, "empty"},
		"no response":       {"", false, stream.Reset, "eof"},
		"cut head":          {"HTTP/1.1 200 OK\r\nConte", false, stream.Reset, "eof"},
		"not http":          {"SSH-2.0-OpenSSH_9\r\n", false, stream.ErrorEarly, "not_a_stream"},
		"bad head":          {"HTTP/1.1 abc\r\n\r\n", false, stream.ErrorEarly, "not_a_stream"},
		"html":              {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 33\r\n\r\n<html><title>Sign in</title></htm", false, stream.ErrorEarly, "not_a_stream"},
	} {
		t.Run(name, func(t *testing.T) {
			url := raw(t, func(c net.Conn) {
				io.WriteString(c, k.sends)
				if k.rst {
					time.Sleep(50 * time.Millisecond) // what was sent is read before the reset discards it
					c.(*net.TCPConn).SetLinger(0)
				}
			})
			r := ask(t, client(t, Options{}), url)
			wantOutcome(t, r, k.outcome, k.reason)
			if !r.End.Known() {
				t.Error("end is missing")
			}
		})
	}
}

func TestNoConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	l.Close()
	tlsServer := httptest.NewTLSServer(speaker(1, 0))
	defer tlsServer.Close()
	plain := serve(t, speaker(1, 0))
	for _, k := range []struct{ name, url, reason, http string }{
		{"refused", closed, "refused", ""},
		{"refused h2c", closed, "refused", "h2c"},
		{"dns", "http://no-such-host.invalid", "dns", ""},
		{"unknown authority", tlsServer.URL, "tls", ""},
		{"unknown authority h2", tlsServer.URL, "tls", "2"},
		{"tls to a plain port", strings.Replace(plain.URL, "http:", "https:", 1), "tls", ""},
		{"plain to a tls port", strings.Replace(tlsServer.URL, "https:", "http:", 1), "http_400", ""},
		{"h2c to HTTP/1.1", plain.URL, "not_a_stream", "h2c"},
	} {
		t.Run(k.name, func(t *testing.T) {
			r := ask(t, client(t, Options{HTTP: k.http}), k.url)
			wantOutcome(t, r, stream.ErrorEarly, k.reason)
			if r.Detail == "" {
				t.Error("no detail")
			}
		})
	}
}

func TestHTTPErrorIsSaid(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	})
	r := askAs(t, client(t, Options{KeepText: true}), dialect.Ask{URL: s.URL + "/v1/chat/completions", APIKey: "sk-very-secret"})
	wantOutcome(t, r, stream.ErrorEarly, "http_401")
	if r.Detail != "HTTP 401 Unauthorized, application/json: Incorrect API key provided: ***" {
		t.Errorf("detail %q", r.Detail)
	}
	if r.Facts.RetryAfter != "7" || !strings.Contains(r.Facts.BodyStart, "provided: ***") {
		t.Errorf("facts %+v", r.Facts)
	}
	if s := fmt.Sprintf("%+v", *r); strings.Contains(s, "very-secret") {
		t.Errorf("the key is in the record: %s", s)
	}
}

func TestCancelKeepsWhatCame(t *testing.T) {
	for _, http := range []string{"1.1", "h2c"} {
		carrierTest(t, http, speaker(100, 20*time.Millisecond), func(c *Client, url string) {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(300*time.Millisecond, func() { cancel(errors.New("plan: cancel_after")) })
			records, err := c.Do(ctx, dialect.Ask{URL: url + "/v1/chat/completions"}, Meta{})
			if err != nil {
				t.Fatal(err)
			}
			wantOutcome(t, records[0], stream.Cancelled, "")
			if n := count(records[0], stream.KindText); n < 2 || records[0].Detail != "plan: cancel_after" {
				t.Errorf("%d text events, detail %q", n, records[0].Detail)
			}
			r := ask(t, c, url+"/other") // the client is still good
			if r.Conn == "" {
				t.Error("no connection after a cancel")
			}
		})
	}
}

func carrierTest(t *testing.T, proto string, h http.HandlerFunc, f func(c *Client, url string)) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/", h)
	s := httptest.NewUnstartedServer(mux)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	defer s.Close()
	c := client(t, Options{HTTP: proto, Timeout: 20 * time.Second})
	f(c, s.URL)
	c.Close()
}

func TestDeadlines(t *testing.T) {
	silent := func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then does the server notice that we leave
		<-r.Context().Done()
	}
	talks := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for r.Context().Err() == nil {
			fmt.Fprint(w, chunk("x"))
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}
	for _, k := range []struct {
		name    string
		h       http.HandlerFunc
		o       Options
		outcome stream.Outcome
		detail  string
	}{
		{"no head", silent, Options{Timeout: 300 * time.Millisecond}, stream.Hung, "total deadline of 300ms"},
		{"no head in its time", silent, Options{HeaderTimeout: 300 * time.Millisecond}, stream.Hung, "no response head within 300ms"},
		{"no head in its time, h2c", silent, Options{HTTP: "h2c", HeaderTimeout: 300 * time.Millisecond}, stream.Hung, "no response head within 300ms"},
		{"still talking", talks, Options{Timeout: 500 * time.Millisecond}, stream.Timeout, "total deadline of 500ms"},
		{"still talking, h2c", talks, Options{HTTP: "h2c", Timeout: 500 * time.Millisecond}, stream.Timeout, "total deadline of 500ms"},
	} {
		t.Run(k.name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(k.h)
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetHTTP1(true)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.Start()
			defer s.Close()
			c := client(t, k.o)
			r := ask(t, c, s.URL)
			c.Close()
			if r.Outcome != k.outcome || !strings.Contains(r.Detail, k.detail) {
				t.Errorf("outcome %s, detail %q; want %s, %q", r.Outcome, r.Detail, k.outcome, k.detail)
			}
		})
	}
}

// A server that leaves the body open after its last event is not waited for
// until the deadline, and the answer is complete.
func TestEndGrace(t *testing.T) {
	for _, proto := range []string{"1.1", "h2c"} {
		carrierTest(t, proto, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			speak(w, 3, 0)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, func(c *Client, url string) {
			c.o.EndGrace = 200 * time.Millisecond
			r := ask(t, c, url)
			wantOutcome(t, r, stream.Complete, "")
			if len(r.Notes) != 1 || r.End.Or(0) > 10*time.Second {
				t.Errorf("notes %q, end %v", r.Notes, r.End)
			}
		})
	}
}
