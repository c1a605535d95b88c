package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/dialect"
	"weir/stream"
)

func TestEndlessHeadIsBounded(t *testing.T) {
	for name, form := range map[string]string{"headers": "X-A: b\r\n", "one line": "x", "informational": "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			u := raw(t, func(c net.Conn) {
				if name != "informational" {
					io.WriteString(c, "HTTP/1.1 200 OK\r\nX: ")
				}
				part := strings.Repeat(form, 1000)
				for {
					if _, err := io.WriteString(c, part); err != nil {
						return
					}
				}
			})
			r := ask(t, client(t, Options{HeaderLimit: 64 << 10}), u)
			wantOutcome(t, r, stream.ErrorEarly, "not_a_stream")
			if !strings.Contains(r.Detail, "larger than the limit of 65536 bytes") {
				t.Errorf("detail %q", r.Detail)
			}
		})
	}
}

func TestEndlessBodyIsBounded(t *testing.T) {
	for _, proto := range []string{"1.1", "h2c"} {
		carrierTest(t, proto, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, chunk("endless ")); err != nil {
					return
				}
			}
		}, func(c *Client, url string) {
			c.o.BodyLimit = 1 << 20
			r := ask(t, c, url)
			if r.Outcome != stream.Timeout || r.Reason != "body_limit" || !r.Truncated {
				t.Errorf("outcome %s, reason %s, truncated %t", r.Outcome, r.Reason, r.Truncated)
			}
			if r.Facts.BodyBytes != 1<<20 {
				t.Errorf("%d bytes kept", r.Facts.BodyBytes)
			}
		})
	}
}

// A server that compresses unasked, and so that weir cannot read, gave no
// stream; its bytes are no broken events.
func TestABodyInAnUnknownEncoding(t *testing.T) {
	carrierTest(t, "1.1", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "br")
		io.WriteString(w, strings.Repeat("\x0b\x02\x80abc\n", 20_000)) // more than is read of an error
	}, func(c *Client, url string) {
		r := ask(t, c, url)
		wantOutcome(t, r, stream.ErrorEarly, "not_a_stream")
		if len(r.Events) != 0 || !strings.Contains(r.Detail, "content-encoding br, which was not asked for") {
			t.Errorf("%d events, detail %q", len(r.Events), r.Detail)
		}
	})
}

// A body of tiny frames is within the limit of bytes long after its events
// have filled the memory.
func TestEndlessEventsAreBounded(t *testing.T) {
	carrierTest(t, "1.1", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(":\n\n", 1000)); err != nil {
				return
			}
		}
	}, func(c *Client, url string) {
		c.o.EventLimit = 2500
		r := ask(t, c, url)
		if r.Outcome != stream.Hung || r.Reason != "event_limit" || !r.Truncated || len(r.Events) != 2500 {
			t.Errorf("outcome %s, reason %s, truncated %t, %d events", r.Outcome, r.Reason, r.Truncated, len(r.Events))
		}
		if !strings.Contains(r.Detail, "too many events: more than 2500") {
			t.Errorf("detail %q", r.Detail)
		}
	})
}

func TestEndlessErrorBodyIsBounded(t *testing.T) {
	carrierTest(t, "1.1", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusBadGateway)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("<p>bad gateway</p>", 100)); err != nil {
				return
			}
		}
	}, func(c *Client, url string) {
		r := ask(t, c, url)
		wantOutcome(t, r, stream.ErrorEarly, "http_502")
		if len(r.Facts.BodyStart) > startSize {
			t.Errorf("%d bytes of the body kept", len(r.Facts.BodyStart))
		}
	})
}

func TestOneByteAtATime(t *testing.T) {
	whole := chunkedHead + asChunk(chunk("slow ")) + asChunk(finish+done) + "0\r\n\r\n"
	u := raw(t, func(c net.Conn) {
		for i := range whole {
			io.WriteString(c, whole[i:i+1])
			time.Sleep(200 * time.Microsecond)
		}
	})
	r := ask(t, client(t, Options{}), u)
	wantOutcome(t, r, stream.Complete, "")
	wantStamps(t, r)
}

func TestHugeFrameIsAClearStatement(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: "+strings.Repeat("x", 1<<20))
	})
	r := ask(t, client(t, Options{FrameLimit: 64 << 10}), s.URL)
	wantOutcome(t, r, stream.ErrorEarly, "frame")
	if r.Detail == "" {
		t.Error("no detail")
	}
}

func TestMalformedURLs(t *testing.T) {
	c := client(t, Options{})
	for _, u := range []string{"", "host/path", "ftp://host", "http://", "http://[::1", "http://h%zz", "http://user:s3cretpw@[::1", "user:s3cretpw@host"} {
		_, err := c.Do(context.Background(), dialect.Ask{URL: u, APIKey: "s3cretkey"}, Meta{})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: error %v", u, err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{HTTP: "3"}, {Timeout: -1}, {BodyLimit: -1}, {CACert: []byte("x")}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// Credentials stay with the host they were meant for.
func TestRedirectCredentials(t *testing.T) {
	var got http.Header
	var path string
	target := func(w http.ResponseWriter, r *http.Request) {
		got, path = r.Header.Clone(), r.URL.Path
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || len(body) == 0 {
			http.Error(w, "not asked again", http.StatusTeapot)
			return
		}
		speak(w, 1, 0)
	}
	other := serve(t, target)
	own := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/same/v1/chat/completions":
			http.Redirect(w, r, "/moved/v1/chat/completions", http.StatusPermanentRedirect)
		case "/other/v1/chat/completions":
			http.Redirect(w, r, other.URL+"/v1/chat/completions?token=abcd1234", http.StatusTemporaryRedirect)
		default:
			target(w, r)
		}
	})
	header := http.Header{"Cookie": {"s=cookie1"}, "X-Api-Key": {"key-1"}, "X-Custom": {"anything"}, "Api-Key": {"key-2"}}
	for _, k := range []struct {
		from   string
		follow bool
	}{{"/same", true}, {"/other", false}} {
		r := askAs(t, client(t, Options{}), dialect.Ask{URL: own.URL + k.from + "/v1/chat/completions", APIKey: "sk-key-3", Header: header})
		wantOutcome(t, r, stream.Complete, "")
		for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "X-Custom", "Api-Key"} {
			if (got.Get(name) != "") != k.follow {
				t.Errorf("%s: %s at the target is %q", k.from, name, got.Get(name))
			}
		}
		if got.Get("Content-Type") == "" || got.Get("X-Request-Id") != r.Facts.OurID || path == "" {
			t.Errorf("%s: headers %v", k.from, got)
		}
		if len(r.Facts.Redirects) != 1 || strings.Contains(r.Facts.Redirects[0], "abcd1234") {
			t.Errorf("%s: redirects %q", k.from, r.Facts.Redirects)
		}
	}
}

func TestRedirectsThatAreNotFollowed(t *testing.T) {
	for _, k := range []struct {
		status         int
		to, reason, in string
	}{
		{http.StatusFound, "/elsewhere", "http_302", "points to /elsewhere"},
		{http.StatusMovedPermanently, "/?key=hidden22", "http_301", "points to /?key=***"},
		{http.StatusTemporaryRedirect, "/v1/chat/completions", "redirects", "more than 10"},
		{http.StatusTemporaryRedirect, "gopher://x", "http_307", "gopher"},
		{http.StatusTemporaryRedirect, "", "http_307", "307"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if k.to != "" {
				w.Header().Set("Location", k.to)
			}
			w.WriteHeader(k.status)
		}))
		r := ask(t, client(t, Options{}), s.URL)
		s.Close()
		wantOutcome(t, r, stream.ErrorEarly, k.reason)
		if !strings.Contains(r.Detail, k.in) {
			t.Errorf("%d to %q: detail %q", k.status, k.to, r.Detail)
		}
	}
}

func TestSameHost(t *testing.T) {
	for _, k := range []struct {
		a, b string
		want bool
	}{
		{"http://h/a", "http://h:80/b", true}, {"http://h", "https://h", true}, {"http://H", "http://h", true},
		{"https://h", "http://h", false}, {"http://h", "http://h:81", false}, {"http://h", "http://x.h", false},
		{"http://h:8080", "https://h", false}, {"https://h", "https://h.evil", false},
	} {
		a, _ := url.Parse(k.a)
		b, _ := url.Parse(k.b)
		if got := sameHost(a, b); got != k.want {
			t.Errorf("%s to %s: %t, want %t", k.a, k.b, got, k.want)
		}
	}
}

func TestUserOfURLBecomesBasicAuthAndIsNotKept(t *testing.T) {
	var user, password string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ = r.BasicAuth()
		speak(w, 1, 0)
	})
	r := ask(t, client(t, Options{}), strings.Replace(s.URL, "http://", "http://ann:p4ssword@", 1))
	wantOutcome(t, r, stream.Complete, "")
	if user != "ann" || password != "p4ssword" || strings.Contains(r.Target, "p4ss") || strings.Contains(r.Target, "ann") {
		t.Errorf("user %q, password %q, target %s", user, password, r.Target)
	}
}

func TestCancelledBeforeItBegan(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the run is over"))
	records, err := client(t, Options{}).Do(ctx, dialect.Ask{URL: "http://127.0.0.1:1/v1/chat/completions"}, Meta{})
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, records[0], stream.Cancelled, "")
}

// A server that answers and hangs up without reading a large request is heard.
func TestEarlyAnswerToALargeRequest(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"too large"}`, http.StatusRequestEntityTooLarge)
	})
	body := []byte(`{"prompt":"` + strings.Repeat("x", 8<<20) + `"}`)
	r := askAs(t, client(t, Options{}), dialect.Ask{URL: s.URL + "/v1/chat/completions", Body: body})
	wantOutcome(t, r, stream.ErrorEarly, "http_413")
}

// A page's text cannot draw on a terminal or flood a report.
func TestMessage(t *testing.T) {
	for in, want := range map[string]string{
		`{"error":{"message":"no\n credit"}}`:          "no credit",
		`{"error":"plain"}`:                            "plain",
		`{"detail":[{"msg":"field required"}]}`:        "field required",
		`[{"error":{"code":3,"message":"in a list"}}]`: "in a list",
		"<html><head><TITLE>502\n Bad</TITLE></head>":  "502 Bad",
		"\x1b[31mred\x07 text\u009b":                   "[31mred text",
		"":                                             "",
		`{"x":1}`:                                      `{"x":1}`,
	} {
		if got := message([]byte(in)); got != want {
			t.Errorf("message(%q) = %q, want %q", in, got, want)
		}
	}
	if got := message([]byte(strings.Repeat("界", 1000))); len(got) > maxMessage || strings.Contains(got, "\ufffd") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestUnaskedEncodingIsSaid(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "br")
		w.Write([]byte{0x8b, 0x02, 0x80, 'h', 'i', 0x03})
	})
	r := ask(t, client(t, Options{}), s.URL)
	wantOutcome(t, r, stream.ErrorEarly, "not_a_stream")
	if !strings.Contains(r.Detail, "content-encoding br") {
		t.Errorf("detail %q", r.Detail)
	}
}
