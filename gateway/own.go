package gateway

import (
	"net/http"
	"strings"
	"time"
)

// counted is a handler of one of the gateway's own paths, whose answers are
// counted under its pattern: no id of a caller's becomes a label.
func (g *Gateway) counted(pattern string, h http.HandlerFunc) http.HandlerFunc {
	_, route, _ := strings.Cut(pattern, " ")
	return func(w http.ResponseWriter, r *http.Request) { g.answerOwn(w, r, route, time.Now(), h) }
}

// answerOwn has a handler answer a request that came at a time.
func (g *Gateway) answerOwn(w http.ResponseWriter, r *http.Request, route string, came time.Time, h http.HandlerFunc) {
	out := &watched{ResponseWriter: w}
	defer func() { g.see.Answered(r.Method, route, out.status, r.TLS != nil, time.Since(came)) }()
	if t, ok := w.(told); ok {
		h(watchedTold{out, t}, r)
		return
	}
	h(out, r)
}

// watched is a ResponseWriter whose status is seen.
type watched struct {
	http.ResponseWriter
	status int // 0 = nothing was answered yet
}

// WriteHeader implements http.ResponseWriter.
func (w *watched) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *watched) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// watchedTold is one that takes what HTTP has no words for.
type watchedTold struct {
	*watched
	to told
}

func (w watchedTold) began(s *session)   { w.to.began(s) }
func (w watchedTold) beat() error        { return w.to.beat() }
func (w watchedTold) refused(f *failure) { w.to.refused(f) }
func (w watchedTold) lost(cause error)   { w.to.lost(cause) }
