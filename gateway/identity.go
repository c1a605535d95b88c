package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
)

// ownPrefix is where the gateway's own paths are.
const ownPrefix = "/weir/"

// identity is the ids of a request.
type identity struct {
	request   string // ours: the client's where it is good, else made
	given     string // the client's x-request-id where it is not good, as a log may hold it
	client    string // its x-client-request-id, the same way
	trace     string // traceparent sent upstream
	state     string // tracestate, passed on with a good traceparent
	principal principal
	keyed     bool // a key was presented
}

func identify(r *http.Request) identity {
	id := identity{request: one(r.Header, "X-Request-Id"), client: quotable(r.Header["X-Client-Request-Id"])}
	if !goodID(id.request) {
		id.request, id.given = randomID(), quotable(r.Header["X-Request-Id"])
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

// mostQuoted is the most that is kept of an id which a client made up, in bytes.
const mostQuoted = 128

// quotable is what a client sent as an id, safe to log and to keep: what is not
// printable ASCII is escaped as in Go, several values are separated by commas,
// and what is long is cut, which three dots say.
func quotable(values []string) string {
	v := strings.Join(values, ", ")
	more := len(v) > mostQuoted
	if more {
		v = v[:mostQuoted]
	}
	q := strconv.QuoteToASCII(v)
	q = q[1 : len(q)-1]
	if more {
		q += "..."
	}
	return q
}

// traceResponse is the answer's header that tells the trace: its id is the
// client's own where a good traceparent came, the span is the gateway's.
const traceResponse = "Traceresponse"

// tell puts the ids into the header of an answer.
func (id *identity) tell(h http.Header) {
	h.Set("X-Request-Id", id.request)
	h.Set(traceResponse, id.trace)
}

// said is what the client gave for ids beside the one that holds, for the log.
func (id *identity) said() (list []slog.Attr) {
	if id.given != "" {
		list = append(list, slog.String("given_id", id.given))
	}
	if id.client != "" {
		list = append(list, slog.String("client_request_id", id.client))
	}
	return list
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
