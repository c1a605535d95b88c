package probe

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"weir/http1"
)

// maxRedirects bounds a chain of redirects.
const maxRedirects = 10

// harmless are the request headers that may follow to another host: they say
// how to read and to answer, and cannot hold a credential. Whatever else the
// user or the dialect set stays behind.
var harmless = []string{
	"Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "Content-Encoding",
	"User-Agent", "Anthropic-Version", "Traceparent", "X-Request-Id", "Cache-Control",
}

// redirect returns the request that a response asks for instead, or nil where
// the response is to be taken as it is. A POST is sent again only for 307 and
// 308: the others would turn it into a GET, which asks nothing.
func redirect(req *http.Request, res *http.Response) (*http.Request, error) {
	location := res.Header.Get("Location")
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		if req.Method != http.MethodGet {
			return nil, nil
		}
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	if location == "" {
		return nil, nil
	}
	u, err := req.URL.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("redirect to a malformed address")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("redirect to %s, which is not http or https", Target(u))
	}
	return follow(req, u)
}

func follow(req *http.Request, u *url.URL) (*http.Request, error) {
	next := req.Clone(req.Context())
	next.Host = ""
	if sameHost(req.URL, u) {
		next.Host = keepHost(req)
	} else {
		next.Header = http.Header{}
		for _, name := range harmless {
			if v := req.Header.Values(name); len(v) > 0 {
				next.Header[name] = append([]string(nil), v...)
			}
		}
	}
	u.User, u.Fragment = nil, ""
	next.URL = u
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, fmt.Errorf("the body cannot be sent again after a redirect: %w", err)
		}
		next.Body = body
	}
	return next, nil
}

// keepHost is the Host header the user set apart from the URL.
func keepHost(req *http.Request) string {
	if req.Host != req.URL.Host {
		return req.Host
	}
	return ""
}

// sameHost reports whether credentials may go from a to b: the same scheme,
// host and port, or the step from http to https on the default ports.
func sameHost(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	if a.Scheme == b.Scheme {
		return http1.HostPort(a) == http1.HostPort(b) || strings.EqualFold(http1.HostPort(a), http1.HostPort(b))
	}
	return a.Scheme == "http" && b.Scheme == "https" && strings.HasSuffix(http1.HostPort(a), ":80") && strings.HasSuffix(http1.HostPort(b), ":443")
}
