package client_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a gateway with one stream, over in-memory connections that it may
// cut after any byte.
type server struct {
	frames  []string // encoded, without ids; the last is terminal
	format  string   // "sse" (default) or "ndjson"
	noIDs   bool     // SSE without ids, as Gemini's streams
	stream  bool     // the first request is a POST that makes the stream
	foreign bool     // no gateway: no Weir-Stream, no Weir-Resumable, no Last-Event-ID
	close   bool     // the body ends with the connection: a cut looks like a clean end
	evicted int      // frames that are not there any more

	cut    func(n int) int                             // bytes of the n-th answer, from 0, that get through; under 0 = all
	answer func(n int, r *http.Request) (string, bool) // a raw answer instead

	mu       sync.Mutex
	requests []*http.Request
}

const streamID, epoch = "5f", "e1"

func id(n int) string { return fmt.Sprintf("%s.%s.%d", streamID, epoch, n) }

// client is an http.Client whose connections end here.
func (s *server) client(t *testing.T) *http.Client {
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go s.serve(ours)
		return theirs, nil
	}, DisableKeepAlives: true, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (s *server) serve(c net.Conn) {
	defer c.Close()
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	raw, ok := "", false
	if s.answer != nil {
		raw, ok = s.answer(n, r)
	}
	if !ok {
		raw = s.raw(r)
	}
	if s.cut != nil {
		if k := s.cut(n); k >= 0 && k < len(raw) {
			raw = raw[:k]
		}
	}
	_, _ = io.WriteString(c, raw)
}

func (s *server) sent() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// raw is the answer's bytes.
func (s *server) raw(r *http.Request) string {
	from := 0
	if r.Method == http.MethodGet {
		if from = s.from(r); from < 0 {
			return "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
		}
	}
	switch {
	case from < s.evicted:
		body := `{"error":{"message":"entries are not kept any more","type":"gap","code":"weir_gap"}}`
		return fmt.Sprintf("HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	case from == len(s.frames):
		return "HTTP/1.1 204 No Content\r\n\r\n"
	}
	var b bytes.Buffer
	for i, f := range s.frames[from:] {
		b.WriteString(s.stamped(f, from+i+1))
	}
	return s.head() + s.chunked(b.String())
}

func (s *server) from(r *http.Request) int {
	at := r.URL.Query().Get("after")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		var ok bool
		if at, ok = strings.CutPrefix(last, streamID+"."+epoch+"."); !ok {
			return -1
		}
	}
	if at == "" {
		return 0
	}
	n, err := strconv.Atoi(at)
	if err != nil || n > len(s.frames) {
		return -1
	}
	return n
}

func (s *server) stamped(frame string, n int) string {
	if s.format == "ndjson" || s.noIDs || s.foreign {
		return frame
	}
	return strings.TrimSuffix(frame, "\n") + "id: " + id(n) + "\n\n"
}

func (s *server) head() string {
	kind := "text/event-stream; charset=utf-8"
	if s.format == "ndjson" {
		kind = "application/x-ndjson"
	}
	h := "HTTP/1.1 200 OK\r\nContent-Type: " + kind + "\r\n"
	if !s.foreign {
		h += "Weir-Stream: " + streamID + "\r\nWeir-Resumable: true\r\n"
	}
	if s.close {
		return h + "Connection: close\r\n\r\n"
	}
	return h + "Transfer-Encoding: chunked\r\n\r\n"
}

// chunked is the body in its framing, a chunk of 7 bytes at a time.
func (s *server) chunked(body string) string {
	if s.close {
		return body
	}
	var b strings.Builder
	for len(body) > 0 {
		n := min(7, len(body))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return b.String() + "0\r\n\r\n"
}
