package relay

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// BySize starts a relay that hands on whole pieces of n bytes and, at the end,
// the rest.
func BySize(t testing.TB, upstream string, n int) string {
	return serve(t, upstream, func(w *http.ResponseController, out io.Writer, in io.Reader) {
		buf := make([]byte, n)
		for {
			got, err := io.ReadFull(in, buf)
			if got > 0 && !pass(w, out, buf[:got]) || err != nil {
				return
			}
		}
	})
}

// ByTime starts a relay that hands on what came at each tick of a period.
func ByTime(t testing.TB, upstream string, period time.Duration) string {
	return serve(t, upstream, func(w *http.ResponseController, out io.Writer, in io.Reader) {
		h := &holder{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(h, in) // however the upstream ends, what came is handed on
		}()
		tick := time.NewTicker(period)
		defer tick.Stop()
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true
			case <-tick.C:
			}
			if p := h.take(); len(p) > 0 && !pass(w, out, p) {
				return
			}
		}
	})
}

// holder keeps what was written until it is taken.
type holder struct {
	mu   sync.Mutex
	held []byte
}

func (h *holder) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = append(h.held, p...)
	return len(p), nil
}

func (h *holder) take() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.held
	h.held = nil
	return p
}

// pass writes one piece and pushes it out; false = the client is gone.
func pass(w *http.ResponseController, out io.Writer, p []byte) bool {
	_, err := out.Write(p)
	return err == nil && w.Flush() == nil
}

// serve starts a relay that copies requests and headers as they are and leaves
// the body of the answer to copy.
func serve(t testing.TB, upstream string, copyBody func(w *http.ResponseController, out io.Writer, in io.Reader)) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := r.Clone(r.Context())
		req.RequestURI, req.URL.Scheme, req.URL.Host = "", "http", hostOf(t, upstream)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		copyBody(http.NewResponseController(w), w, resp.Body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}
