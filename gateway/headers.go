package gateway

import (
	"net/http"
	"net/textproto"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// passedOn lists the request headers that go upstream. What is not here or in
// the upstream's forward stays: cookies, forwarding headers, proxy credentials.
var passedOn = map[string]bool{
	"Accept": true, "Accept-Language": true, "Content-Type": true, "User-Agent": true,
	"Idempotency-Key": true, "Prefer": true, "X-Client-Request-Id": true,
	"Http-Referer": true, "X-Title": true, // OpenRouter's
	"X-Weir-Mock": true, // tells weir's mock how to behave
}

// passedPrefixes are the same by prefix: the providers' own.
var passedPrefixes = []string{"Anthropic-", "Openai-", "X-Stainless-", "X-Goog-", "X-Dashscope-"}

// neverForwarded reports headers that no configuration may pass on: hop by
// hop, or the gateway's own to set.
func neverForwarded(key string) bool {
	switch key {
	case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te",
		"Trailer", "Transfer-Encoding", "Upgrade", "Host", "Content-Length", "Accept-Encoding", "Content-Encoding",
		"X-Request-Id", "Traceparent", "Tracestate", "Cookie", "X-Forwarded-For", "X-Forwarded-Host",
		"X-Forwarded-Proto", "Forwarded", "X-Real-Ip", "Expect", "Last-Event-Id":
		return true
	}
	return strings.HasPrefix(key, "Weir-")
}

func validHeaderName(s string) bool { return httpguts.ValidHeaderFieldName(s) }

// upstreamHeader is the header of the request to the upstream: a list of what
// may pass, one value each, and what the gateway sets itself.
func upstreamHeader(in http.Header, u *upstream, id identity, keys *keyring, dialect string) http.Header {
	out := http.Header{}
	named := namedByConnection(in)
	for key := range in {
		if named[key] || isKeyHeader(key) || neverForwarded(key) || !(passedOn[key] || u.forward[key] || hasPassedPrefix(key)) {
			continue
		}
		if v := one(in, key); v != "" && httpguts.ValidHeaderFieldValue(v) {
			out.Set(key, v)
		}
	}
	out.Set("Accept-Encoding", "identity")
	out.Set("X-Request-Id", id.request)
	out.Set("Traceparent", id.trace)
	if id.state != "" && httpguts.ValidHeaderFieldValue(id.state) {
		out.Set("Tracestate", id.state)
	}
	switch {
	case u.key.s != "":
		setKey(out, dialect, u.key.s)
	case keys.open:
		for _, key := range keyHeaders {
			if v := one(in, key); v != "" && httpguts.ValidHeaderFieldValue(v) {
				out.Set(key, v)
			}
		}
	}
	if out.Get("User-Agent") == "" {
		out.Set("User-Agent", "") // else net/http adds its own
	}
	return out
}

// setKey puts a server's key where its dialect wants it.
func setKey(h http.Header, dialect, key string) {
	switch dialect {
	case "anthropic":
		h.Set("X-Api-Key", key)
	case "gemini":
		h.Set("X-Goog-Api-Key", key)
	default:
		h.Set("Authorization", "Bearer "+key)
	}
}

func isKeyHeader(key string) bool {
	for _, k := range keyHeaders {
		if k == key {
			return true
		}
	}
	return false
}

func hasPassedPrefix(key string) bool {
	for _, p := range passedPrefixes {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

// namedByConnection lists the headers that Connection makes hop by hop.
func namedByConnection(h http.Header) map[string]bool {
	var named map[string]bool
	for _, v := range h["Connection"] {
		for name := range strings.SplitSeq(v, ",") {
			if named == nil {
				named = map[string]bool{}
			}
			named[textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))] = true
		}
	}
	return named
}

// copyResponseHeader takes over what the upstream said, but for what speaks of
// the connection, of this hop's own making, or of another origin.
func copyResponseHeader(to, from http.Header, stream bool) {
	named := namedByConnection(from)
	for key, values := range from {
		switch {
		case named[key], strings.HasPrefix(key, "Weir-"), strings.HasPrefix(key, "Access-Control-"):
			continue // who may read an answer is the gateway's to say
		case stream && (key == "Content-Length" || key == "Content-Encoding" || key == "Content-Type" || key == "Etag"):
			continue
		}
		switch key {
		case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding",
			"Upgrade", "Alt-Svc", "Set-Cookie", "Server-Timing", "X-Accel-Buffering", "Incremental", "X-Request-Id", traceResponse:
			continue
		case "Cache-Control":
			if stream {
				continue
			}
		}
		to[key] = append([]string(nil), values...)
	}
	if id := one(from, "X-Request-Id"); id != "" && one(from, upstreamIDHeader) == "" {
		to.Set(upstreamIDHeader, id)
	}
}

// upstreamIDHeader is the answer's header with the service's own id of the
// request. What a gateway behind this one put there is handed on.
const upstreamIDHeader = "X-Upstream-Request-Id"

// streamHeader says to every relay between here and the reader that this is a
// stream, to be passed on as it comes and not to be changed.
func streamHeader(h http.Header, contentType string) {
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("Incremental", "?1")
}
