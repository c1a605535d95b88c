package telemetry

import (
	"io"
	"net/http"
)

// Admin is the handler of an admin listener: /healthz says that the process
// runs, /readyz whether it takes requests (503 while it drains), /metrics what
// it did.
func Admin(g *Gateway, ready func() bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			say(w, http.StatusServiceUnavailable, "draining\n")
			return
		}
		say(w, http.StatusOK, "ready\n")
	})
	mux.Handle("GET /metrics", g.Handler())
	return mux
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // whoever asked and left needs no answer
}
