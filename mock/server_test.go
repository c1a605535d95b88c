package mock

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/wire"
)

// h2 makes a transport that speaks HTTP/2 only, in the clear or by TLS.
func h2(pool *x509.CertPool) *http.Transport {
	tr := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: &tls.Config{RootCAs: pool}}
	tr.Protocols.SetHTTP2(true)
	tr.Protocols.SetUnencryptedHTTP2(pool == nil)
	return tr
}

func TestHTTP2(t *testing.T) {
	plain := serve(t, Options{Set: "ttft=0s,gap=1ms,n=4"})
	secure := serve(t, Options{Set: "ttft=0s,gap=1ms,n=4", TLS: true})
	pem, err := os.ReadFile(secure.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatal("the CA file holds no certificate")
	}
	for url, c := range map[string]*http.Client{plain.URL(): client(t, h2(nil)), secure.URL(): client(t, h2(pool))} {
		if a := askMock(t, c, url+chat, ""); a.proto != "HTTP/2.0" || a.count(textEvents) != 4 || a.count("[DONE]") != 1 {
			t.Errorf("%s: %s, %v: %s", url, a.proto, a.err, a.body)
		}
		a := askMock(t, c, url+chat+"?reset_after=2", "")
		if a.err == nil || a.count(textEvents) != 2 {
			t.Errorf("%s: reset was %v after %d", url, a.err, a.count(textEvents))
		}
		if a := askMock(t, c, url+chat+"?truncate_after=2", ""); a.err != nil || a.count(textEvents) != 2 {
			t.Errorf("%s: truncation was %v", url, a.err)
		}
	}
	c1 := client(t, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}})
	if a := askMock(t, c1, secure.URL()+chat+"?reset_after=2", ""); a.err == nil || errors.Is(a.err, io.ErrUnexpectedEOF) {
		t.Errorf("TLS over HTTP/1.1: reset was %v", a.err)
	}
}

func TestHTTP10ClosesTheBody(t *testing.T) {
	s := serve(t, Options{Set: "ttft=0s,gap=0s,n=4"})
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST "+chat+" HTTP/1.0\r\nContent-Length: 15\r\n\r\n{\"stream\":true}"); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(conn)
	head, body, _ := strings.Cut(string(b), "\r\n\r\n")
	if err != nil || !strings.HasPrefix(head, "HTTP/1.0 200") || strings.Contains(head, "Transfer-Encoding") || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("%v: %s", err, b)
	}
}

// waitFor waits until ok, for at most ten seconds.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never happened: ", what)
		}
	}
}

func TestHangAndWhoLeft(t *testing.T) {
	s := serve(t, Options{Set: "ttft=0s,gap=0s,n=4"})
	for name, tr := range map[string]*http.Transport{"http1": {}, "h2c": h2(nil)} {
		t.Run(name, func(t *testing.T) {
			before := s.Stats()
			c := client(t, tr)
			ctx, leave := context.WithCancel(context.Background())
			defer leave()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+chat+"?hang_after=2", strings.NewReader(`{"stream":true}`))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var got bytes.Buffer
			buf := make([]byte, 4096)
			for strings.Count(got.String(), textEvents) < 2 {
				n, err := resp.Body.Read(buf)
				if err != nil {
					t.Fatal(err)
				}
				got.Write(buf[:n])
			}
			if st := s.Stats(); st.Active != 1 || st.Started != before.Started+1 {
				t.Errorf("while it hangs: %+v", st)
			}
			leave()
			waitFor(t, "the silent stream is cancelled", func() bool {
				st := s.Stats()
				return st.Active == 0 && st.Cancelled == before.Cancelled+1 && st.Completed == before.Completed
			})
		})
	}
	var st Stats
	resp, err := client(t, &http.Transport{}).Get(s.URL() + "/mock/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&st); err != nil || st != s.Stats() {
		t.Errorf("/mock/stats says %+v, %v; it is %+v", st, err, s.Stats())
	}
}

func TestCloseEndsHangingStreams(t *testing.T) {
	s, err := Start(Options{Set: "ttft=1h"})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	c := client(t, &http.Transport{})
	wg.Go(func() { _ = askMock(t, c, s.URL()+chat, "") })
	waitFor(t, "the stream starts", func() bool { return s.Stats().Active == 1 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

func TestFreezeStopsEveryStream(t *testing.T) {
	s := serve(t, Options{Set: "ttft=0s,gap=10ms,n=60", FreezeEvery: 600 * time.Millisecond, FreezeFor: 300 * time.Millisecond})
	c := client(t, &http.Transport{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			a := askMock(t, c, s.URL()+chat, "")
			longest := time.Duration(0)
			for i := 1; i < len(a.at); i++ {
				longest = max(longest, a.at[i]-a.at[i-1])
			}
			// A stopped server makes no progress: all is late, nothing comes in a heap.
			if longest < 250*time.Millisecond || a.last() < 840*time.Millisecond || len(a.at) < 30 {
				t.Errorf("longest gap %s, end %s, %d reads", longest, a.last(), len(a.at))
			}
		})
	}
	wg.Wait()
}

// safeBuffer is a bytes.Buffer for the truth log's goroutine.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

type truthLine struct {
	RequestID string `json:"request_id"`
	Seq       int    `json:"event_seq"`
	Kind      string `json:"kind"`
	Bytes     int    `json:"bytes"`
	Before    int64  `json:"before_unix_ns"`
	After     int64  `json:"after_unix_ns"`
}

func TestTruthTellsEveryEvent(t *testing.T) {
	var truth safeBuffer
	s, err := Start(Options{Set: "ttft=10ms,gap=1ms,n=5", Truth: &truth})
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, &http.Transport{})
	began := time.Now().UnixNano()
	queries := []string{"", "&flush_bytes=700", "&flush_every=30ms", "&gzip=1", "&cut=crlf"}
	var want []answer
	for i, q := range queries {
		want = append(want, askMock(t, c, s.URL()+chat+"?heartbeat_every=3ms"+q, "", "X-Request-Id", fmt.Sprint("r", i)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got := map[string][]truthLine{}
	for line := range strings.SplitSeq(strings.TrimSpace(truth.b.String()), "\n") {
		var l truthLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got[l.RequestID] = append(got[l.RequestID], l)
	}
	for i, a := range want {
		lines := got[fmt.Sprint("r", i)]
		bytes, last := 0, began
		for j, l := range lines {
			bytes += l.Bytes
			if l.Seq != j+1 || l.Before < last || l.After < l.Before {
				t.Errorf("%q line %d: %+v after %d", queries[i], j, l, last)
			}
			last = l.Before
		}
		if len(lines) != len(a.frames) || bytes != len(a.body) {
			t.Errorf("%q: %d lines of %d bytes, but %d frames of %d bytes came", queries[i], len(lines), bytes, len(a.frames), len(a.body))
		}
	}
}

func TestTruthSaysWhenItIsIncomplete(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	s, err := Start(Options{Set: "ttft=0s,n=1", Truth: w})
	if err != nil {
		t.Fatal(err)
	}
	_ = askMock(t, client(t, &http.Transport{}), s.URL()+chat, "")
	if err := s.Close(); err == nil {
		t.Error("a truth log that could not be written was called complete")
	}
}

func TestUnknownPathListsPaths(t *testing.T) {
	s := serve(t, Options{})
	a := askMock(t, client(t, &http.Transport{}), s.URL()+"/v2/chat", "")
	if a.status != 404 || !strings.Contains(string(a.body), chat) || a.kinds(wire.Body) != 1 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestEventSourceCanGet(t *testing.T) {
	s := serve(t, Options{Set: "ttft=0s,n=1"})
	resp, err := client(t, &http.Transport{}).Get(s.URL() + custom)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(b), "event: done") {
		t.Errorf("%v: %s", err, b)
	}
}

func TestWholeAnswers(t *testing.T) {
	s := serve(t, Options{Set: "ttft=30ms,gap=1ms,n=4"})
	c := client(t, &http.Transport{})
	ask := func(path string) answer { return askMock(t, c, s.URL()+path, `{"stream":false}`) }
	if a := ask("/v1/messages?heartbeat_every=10ms"); !json.Valid(a.body) || a.body[0] != '\n' {
		t.Errorf("heartbeats before a body: %s", a.body)
	}
	if a := ask(chat); a.at[0] < 30*time.Millisecond || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("came at %v: %s", a.at, a.body)
	}
	if a := ask(chat + "?truncate_after=2"); a.err != nil || json.Valid(a.body) || len(a.body) == 0 {
		t.Errorf("truncated: %v %s", a.err, a.body)
	}
	if a := ask(chat + "?reset_after=2"); a.err == nil {
		t.Errorf("reset: %s", a.body)
	}
	if a := ask(chat + "?error_after=2"); a.count(`"error":{`) != 1 {
		t.Errorf("error: %s", a.body)
	}
}
