package gateway

import (
	"io"
	"net/http"
)

// serveStop ends a stream at its owner's wish: it wins over every grace window.
func (g *Gateway) serveStop(w http.ResponseWriter, r *http.Request) {
	id := identify(r)
	if !g.keys.admits(id.principal) {
		g.unauthorized(w, r, id)
		return
	}
	l := g.streams.find(r.PathValue("id"), id.principal)
	if l == nil && g.shared() != nil {
		g.stopElsewhere(w, r, id)
		return
	}
	if l == nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"message":"no such stream is running","type":"not_found"}}`+"\n")
		return
	}
	l.stop("stopped")
	w.WriteHeader(http.StatusNoContent)
}
