package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// ownPrefix is where the gateway's own paths are.
const ownPrefix = "/weir/"

// identity is the ids of a request.
type identity struct {
	request   string // ours: the client's where it is good, else made
	given     bool   // it is the client's
	trace     string // traceparent sent upstream
	state     string // tracestate, passed on with a good traceparent
	principal principal
	keyed     bool // a key was presented
}

func identify(r *http.Request) identity {
	id := identity{request: one(r.Header, "X-Request-Id"), given: true}
	if !goodID(id.request) {
		id.request, id.given = randomID(), false
	}
	id.trace = childOf(one(r.Header, "Traceparent"))
	if id.trace == "" {
		id.trace = "00-" + randomID() + "-" + randomID()[:16] + "-01"
	} else if state := one(r.Header, "Tracestate"); len(state) <= 512 {
		id.state = state
	}
	id.principal = anonymous
	if key := presented(r); key != "" {
		id.principal, id.keyed = sha256.Sum256([]byte(key)), true
	}
	return id
}

// one is a header's value if it was sent once; twice is nothing to rely on.
func one(h http.Header, name string) string {
	if v := h[name]; len(v) == 1 {
		return v[0]
	}
	return ""
}

// goodID reports whether an id is safe to log, send and look up.
func goodID(s string) bool {
	if len(s) < 8 || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// childOf is a W3C traceparent with a span of ours in the same trace; "" where
// the given one is not well-formed.
func childOf(parent string) string {
	p := strings.Split(parent, "-")
	if len(p) != 4 || p[0] != "00" || !hexOf(p[1], 32) || !hexOf(p[2], 16) || !hexOf(p[3], 2) {
		return ""
	}
	var span [8]byte
	_, _ = rand.Read(span[:]) // never fails: it ends the program instead
	return "00-" + p[1] + "-" + hex.EncodeToString(span[:]) + "-" + p[3]
}

// hexOf reports whether s is n lower-case hex digits, not all of them 0.
func hexOf(s string, n int) bool {
	if len(s) != n || n > 2 && strings.Trim(s, "0") == "" {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// keyHeaders are where clients put their keys, in the order of looking.
var keyHeaders = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// presented is the key a client shows, "" for none.
func presented(r *http.Request) string {
	for _, name := range keyHeaders {
		if v := one(r.Header, name); v != "" {
			if scheme, rest, ok := strings.Cut(v, " "); ok && name == "Authorization" && strings.EqualFold(scheme, "Bearer") {
				return strings.TrimSpace(rest)
			}
			return v
		}
	}
	if r.URL.RawQuery != "" && strings.Contains(r.URL.RawQuery, "key=") {
		return r.URL.Query().Get("key") // as Gemini's clients may
	}
	return ""
}
