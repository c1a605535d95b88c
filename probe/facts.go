package probe

import (
	"net/http"
	"strings"

	"weir/stream"
)

// upstreamIDs are the headers in which services state the id they gave the
// request, most telling first.
var upstreamIDs = []string{
	"X-Request-Id", "Request-Id", "Apim-Request-Id", "X-Ms-Request-Id", "X-Generation-Id",
	"X-Amzn-Requestid", "X-Trace-Id", "X-Ds-Trace-Id", "X-Correlation-Id",
}

// extraFacts are further headers that tell of the path an answer took.
var extraFacts = []string{
	"Cf-Ray", "Openai-Processing-Ms", "X-Envoy-Upstream-Service-Time", "X-Served-By",
	"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Remaining-Tokens", "Alt-Svc",
}

// maxFact bounds one header's value in a record.
const maxFact = 512

// readFacts takes from the head what the response says of itself.
func readFacts(f *stream.Facts, res *http.Response, below lower) {
	get := func(name string) string { return clip(strings.Join(res.Header.Values(name), ", "), maxFact) }
	f.HTTPVersion, f.Status = res.Proto, res.StatusCode
	f.Remote, f.TLSVersion, f.TransferEncoding = below.remote, below.tls, below.framing
	f.ContentType = get("Content-Type")
	f.ContentEncoding = strings.ToLower(get("Content-Encoding"))
	f.Server, f.Via, f.XAccelBuffering = get("Server"), get("Via"), get("X-Accel-Buffering")
	f.CacheControl, f.XCache, f.Age = get("Cache-Control"), get("X-Cache"), get("Age")
	f.ServerTiming, f.RetryAfter = get("Server-Timing"), get("Retry-After")
	for _, name := range upstreamIDs {
		switch id := get(name); {
		case id == "":
		case id == f.OurID:
			f.EchoedID = id
		case f.UpstreamID == "":
			f.UpstreamID = id
		}
	}
	for _, name := range extraFacts {
		if v := get(name); v != "" {
			if f.Extra == nil {
				f.Extra = map[string]string{}
			}
			f.Extra[strings.ToLower(name)] = v
		}
	}
}

// clip cuts s to at most n bytes at a character's edge.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
