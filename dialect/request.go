package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// DefaultPrompt is asked where the user asks nothing.
const DefaultPrompt = "Explain in about five sentences how a river finds its way to the sea."

// DefaultMaxTokens bounds the answer where the user does not.
const DefaultMaxTokens = 200

func (a Ask) maxTokens() int {
	if a.MaxTokens > 0 {
		return a.MaxTokens
	}
	return DefaultMaxTokens
}

func (a Ask) model() string {
	if a.Model == "" {
		return "default"
	}
	return a.Model
}

// turns is the conversation to send.
func (a Ask) turns() []Message {
	if len(a.Messages) > 0 {
		return a.Messages
	}
	if a.Prompt == "" {
		return []Message{{Role: "user", Content: DefaultPrompt}}
	}
	return []Message{{Role: "user", Content: a.Prompt}}
}

// prompt is the conversation's last turn, for services that take one text.
func (a Ask) prompt() string {
	t := a.turns()
	return t[len(t)-1].Content
}

// system splits the system turns off, for services that want them apart.
func (a Ask) system() (system string, rest []Message) {
	var parts []string
	for _, m := range a.turns() {
		if m.Role == "system" || m.Role == "developer" {
			parts = append(parts, m.Content)
		} else {
			rest = append(rest, m)
		}
	}
	return strings.Join(parts, "\n\n"), rest
}

// ParseURL reads the URL of a service. Its errors never quote the URL: it may
// hold credentials.
func ParseURL(raw string) (*url.URL, error) {
	if raw == "" {
		return nil, errors.New("the URL is empty: give one such as http://localhost:8000")
	}
	u, err := url.Parse(raw)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		if !strings.Contains(raw, "://") {
			return nil, errors.New("the URL has no scheme: write http:// or https:// before it")
		}
		return nil, fmt.Errorf("the URL cannot be read: %w", hideUserinfo(raw, err))
	}
	switch {
	case u.Scheme == "" || u.Host == "" && !strings.Contains(raw, "://"):
		return nil, errors.New("the URL has no scheme: write http:// or https:// before it")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the URL's scheme %q is neither http nor https", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("the URL has no host")
	}
	u.Fragment = ""
	return u, nil
}

// hideUserinfo drops the details of an error about a URL that holds credentials.
func hideUserinfo(raw string, err error) error {
	if strings.Contains(raw, "@") {
		return errors.New("it is malformed (details left out: it may hold credentials)")
	}
	return err
}

// endpoint is the URL to ask: a URL without a path, or one that ends in one of
// the bases (such as /v1), gets path in its place; a full URL is kept.
func (a Ask) endpoint(path string, bases ...string) (*url.URL, error) {
	u, err := ParseURL(a.URL)
	if err != nil {
		return nil, err
	}
	have := strings.TrimSuffix(u.Path, "/")
	if have == "" {
		return u.JoinPath(path), nil
	}
	for _, base := range bases {
		if before, ok := strings.CutSuffix(have, base); ok {
			u.Path, u.RawPath = before, ""
			return u.JoinPath(path), nil
		}
	}
	return u, nil
}

// post builds the request: body as JSON (or the user's own body as it is), the
// dialect's headers, then the user's, which win.
func (a Ask) post(u *url.URL, body any, accept string, header http.Header) (*http.Request, error) {
	b := a.Body
	if b == nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("write the request body: %w", err)
		}
	}
	req, err := http.NewRequest(http.MethodPost, u.String(), bytes.NewReader(b)) //nolint:noctx // whoever sends it gives the context
	if err != nil {
		return nil, hideUserinfo(u.String(), err)
	}
	req.Header.Set("Content-Type", "application/json")
	if a.Whole {
		accept = "application/json"
	}
	req.Header.Set("Accept", accept)
	for k, v := range header {
		req.Header[k] = v
	}
	for k, v := range a.Header {
		req.Header[http.CanonicalHeaderKey(k)] = v
	}
	return req, nil
}

const acceptSSE = "text/event-stream"

// bearer is the header of the usual way to give a key; none where there is none.
func (a Ask) bearer() http.Header { return a.keyHeader("Authorization", "Bearer ") }

func (a Ask) keyHeader(name, prefix string) http.Header {
	h := http.Header{}
	if a.APIKey != "" {
		h.Set(name, prefix+a.APIKey)
	}
	return h
}
