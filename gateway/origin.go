package gateway

import (
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Pages of browsers. A page of any origin can have its reader's browser send a
// request to any address that the reader can reach, with a question in it, and
// the service's key is then the gateway's to add: that the page cannot read the
// answer saves no token. So a request that names its page's origin is refused
// unless the origin is listed, before anything else. Programs name none.

// admitsPage reports whether a request may go on; else it was answered: refused,
// or the answer to a browser that asks what it may send.
func (g *Gateway) admitsPage(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header["Origin"]
	switch {
	case len(origin) == 0, g.c.WS.Enabled && r.Method == http.MethodGet && r.URL.Path == ownPrefix+"ws": // which has a list of its own beside
		return true
	case len(origin) == 1 && ownPage(origin[0], r.Host):
		return true
	case !originAllowed(origin, g.c.Origins):
		g.refusePage(w, r)
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin[0])
	h.Set("Vary", "Origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", exposed)
		return true
	}
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", g.askable(r.Header["Access-Control-Request-Headers"]))
	h.Set("Access-Control-Max-Age", "600")
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	w.WriteHeader(http.StatusNoContent)
	return false
}

// exposed are the answer's headers that a listed page may read, beside those
// that every page may.
const exposed = "weir-stream, weir-resumable, x-request-id, x-upstream-request-id, traceresponse, server-timing, retry-after"

// sendable are the headers that a listed page may send, whatever it asks for.
const sendable = "authorization, content-type, last-event-id, traceparent, weir-resume, x-request-id"

// askable are these, and those it asks for that go upstream anyway: the SDKs of
// the providers send many.
func (g *Gateway) askable(asked []string) string {
	list := strings.Split(sendable, ", ")
	for _, v := range asked {
		for name := range strings.SplitSeq(v, ",") {
			name = strings.ToLower(strings.TrimSpace(name))
			if !slices.Contains(list, name) && len(list) < 64 && g.takes(textproto.CanonicalMIMEHeaderKey(name)) {
				list = append(list, name)
			}
		}
	}
	return strings.Join(list, ", ")
}

// takes reports whether a request's header is of use here.
func (g *Gateway) takes(key string) bool {
	if key == "Tracestate" || isKeyHeader(key) {
		return true
	}
	if neverForwarded(key) {
		return false
	}
	for _, u := range g.ups {
		if u.forward[key] {
			return true
		}
	}
	return passedOn[key] || hasPassedPrefix(key)
}

// ownPage reports whether an origin is that of the host which was asked, and
// must be. It need not be with http and a name: a page of any name can have that
// name resolve to the gateway's address. With https, the name's certificate was
// shown to the browser; an address, and localhost, resolve to nothing else.
func ownPage(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || host == "" || !strings.EqualFold(u.Host, host) || origin != u.Scheme+"://"+u.Host {
		return false
	}
	_, err = netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (err == nil || strings.EqualFold(u.Hostname(), "localhost"))
}

func (g *Gateway) refusePage(w http.ResponseWriter, r *http.Request) {
	f := &failure{reason: "origin", text: "pages of this origin may not ask; origins lists those that may", status: http.StatusForbidden}
	id := identify(r)
	if strings.HasPrefix(r.URL.Path, ownPrefix) {
		skipBody(w, r)
		refuseOwn(w, id, f)
		return
	}
	id.tell(w.Header())
	x := &exchange{g: g, id: id, start: time.Now(), method: r.Method, path: r.URL.EscapedPath(), unread: r}
	defer x.answered(r.TLS != nil)
	x.see(r)
	x.refuse(w, f)
}
