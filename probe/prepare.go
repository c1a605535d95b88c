package probe

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"weir/dialect"
	"weir/stream"
)

// prepare builds the request and what its record knows beforehand.
func (x *attempt) prepare(m *Meta) error {
	u, err := url.Parse(x.ask.URL)
	if err != nil {
		return fmt.Errorf("malformed URL: %w", withoutURL(err))
	}
	if err := x.c.checkURL(u); err != nil {
		return err
	}
	d := x.c.o.Dialect
	if d == nil {
		d, _ = dialect.Detect(dialect.Hint{Method: http.MethodPost, Path: u.Path, Query: u.RawQuery})
	}
	if x.req, err = d.Request(x.ask); err != nil {
		return fmt.Errorf("build a request of dialect %s: %w", d.Name(), withoutURL(err))
	}
	if x.req.URL == nil {
		return fmt.Errorf("build a request of dialect %s: it has no URL", d.Name())
	}
	x.scrub = newScrubber(x.ask, x.req)
	x.setHeaders()
	x.rec = stream.Record{
		RequestID: x.req.Header.Get("X-Request-Id"), Run: m.Run, Index: m.Index, Hop: m.Hop,
		Labels: m.Labels, Lateness: m.Lateness, InFlight: m.InFlight, Expect: m.Expect,
		Target: Target(x.req.URL), Method: x.req.Method, Dialect: d.Name(), Model: x.ask.Model,
		Prompt: x.prompt(), Streamed: !x.ask.Whole, UsageAsked: asksUsage(x.ask),
		Facts: stream.Facts{
			OurID: x.req.Header.Get("X-Request-Id"), TraceParent: x.req.Header.Get("Traceparent"),
		},
	}
	return nil
}

// maxPrompt bounds the prompt in a record, in bytes.
const maxPrompt = 1 << 20

// prompt is what was asked, for a log that keeps text: the words of a prompt,
// messages as JSON, a body as it was given.
func (x *attempt) prompt() string {
	if !x.c.o.KeepText {
		return ""
	}
	text := cmp.Or(x.ask.Prompt, dialect.DefaultPrompt)
	switch {
	case x.ask.Body != nil:
		text = strings.ToValidUTF8(string(x.ask.Body), "\ufffd")
	case len(x.ask.Messages) > 0:
		b, _ := json.Marshal(x.ask.Messages) // strings only: cannot fail
		text = string(b)
	}
	return clip(x.scrub.clean(text), maxPrompt)
}

func asksUsage(a dialect.Ask) bool {
	if a.Body != nil {
		return bytes.Contains(a.Body, []byte("include_usage"))
	}
	return !a.NoUsage
}

func (c *Client) checkURL(u *url.URL) error {
	shown := SafeURL(u.String())
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("URL %q must begin with http:// or https://", shown)
	case u.Hostname() == "":
		return fmt.Errorf("URL %q names no host", shown)
	case c.o.HTTP == "2" && u.Scheme == "http":
		return fmt.Errorf("HTTP/2 is chosen within TLS, and %s has none: use h2c, or https", shown)
	case c.o.HTTP == "h2c" && u.Scheme == "https":
		return fmt.Errorf("h2c is HTTP/2 without TLS, and %s has TLS: use 2", shown)
	}
	return nil
}

// setHeaders adds what every request carries; what the user set stays.
func (x *attempt) setHeaders() {
	h := x.req.Header
	if h == nil {
		h = http.Header{}
		x.req.Header = h
	}
	if user := x.req.URL.User; user != nil {
		u := *x.req.URL
		u.User = nil
		x.req.URL = &u
		if password, _ := user.Password(); h.Get("Authorization") == "" {
			x.req.SetBasicAuth(user.Username(), password)
		}
	}
	if !validID(h.Get("X-Request-Id")) {
		h.Set("X-Request-Id", "weir-"+strings.ToLower(rand.Text()))
	}
	if h.Get("Traceparent") == "" {
		h.Set("Traceparent", traceParent())
	}
	encoding := "identity"
	if x.c.o.Compressed {
		encoding = "gzip"
	}
	h.Set("Accept-Encoding", encoding)
	setDefault(h, "User-Agent", "weir")
	setDefault(h, "Accept", "text/event-stream, application/json, */*")
}

func setDefault(h http.Header, name, value string) {
	if h.Get(name) == "" {
		h.Set(name, value)
	}
}

// validID reports whether an id survives logs and headers on its way.
func validID(s string) bool {
	if len(s) < 8 || len(s) > 128 {
		return false
	}
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)) {
			return false
		}
	}
	return true
}

// traceParent is a new W3C trace context: version 00, sampled. The ids are
// random and, as the standard demands, not zero.
func traceParent() string {
	var b [24]byte
	rand.Read(b[:]) // never fails, by its contract
	b[0] |= 1
	b[16] |= 1
	return "00-" + hex.EncodeToString(b[:16]) + "-" + hex.EncodeToString(b[16:]) + "-01"
}
