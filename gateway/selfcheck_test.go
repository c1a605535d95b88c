package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// hiding is an answer's writer that hides what wrappers tend to hide.
type hiding struct {
	w        http.ResponseWriter
	flush    func()
	deadline func(time.Time) error
}

func (h hiding) Header() http.Header                { return h.w.Header() }
func (h hiding) Write(p []byte) (int, error)        { return h.w.Write(p) }
func (h hiding) WriteHeader(status int)             { h.w.WriteHeader(status) }
func (h hiding) Flush()                             { h.flush() }
func (h hiding) SetWriteDeadline(t time.Time) error { return h.deadline(t) }

func TestSelfCheck(t *testing.T) {
	c, err := Load("gateway.yaml", []byte(strings.ReplaceAll(small, "%s", "http://127.0.0.1:9")))
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFront(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	around := func(wrap func(http.ResponseWriter) http.ResponseWriter) func(http.Handler) *http.Server {
		return func(h http.Handler) *http.Server {
			return &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(wrap(w), r) })}
		}
	}
	bare := func(w http.ResponseWriter) http.ResponseWriter { return w }
	if err := f.SelfCheck(t.Context(), around(bare)); err != nil {
		t.Errorf("nothing around it: %v", err)
	}
	noDeadline := func(w http.ResponseWriter) http.ResponseWriter {
		return hiding{w, w.(http.Flusher).Flush, func(time.Time) error { return nil }}
	}
	if err := f.SelfCheck(t.Context(), around(noDeadline)); err == nil || !strings.Contains(err.Error(), "write deadlines") {
		t.Errorf("a wrapper that swallows deadlines: %v", err)
	}
	wrapped := func(w http.ResponseWriter) http.ResponseWriter { return onlyWrites{w} }
	if err := f.SelfCheck(t.Context(), around(wrapped)); err == nil || !strings.Contains(err.Error(), "flushes") {
		t.Errorf("a wrapper without Flush: %v", err)
	}
	server := httptest.NewServer(f)
	defer server.Close()
	resp, err := http.Get(server.URL + "/weir/check/anything")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		t.Errorf("a stranger's check: status %d", resp.StatusCode)
	}
}

// onlyWrites has no Unwrap and no Flush.
type onlyWrites struct{ w http.ResponseWriter }

func (o onlyWrites) Header() http.Header         { return o.w.Header() }
func (o onlyWrites) Write(p []byte) (int, error) { return o.w.Write(p) }
func (o onlyWrites) WriteHeader(status int)      { o.w.WriteHeader(status) }
