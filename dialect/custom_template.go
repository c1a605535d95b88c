package dialect

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// requestSpec is how a custom dialect asks. Strings hold placeholders: {model},
// {prompt}, {messages}, {system}, {max_tokens}, {stream}, and {stream|yes|no}
// for either word; {{ is a brace. A string that is nothing but a placeholder
// becomes its value: a number, true or false, a list.
type requestSpec struct {
	Method  string            `yaml:"method"`
	Path    string            `yaml:"path"`
	Query   map[string]string `yaml:"query"`
	Headers map[string]string `yaml:"headers"`
	Key     string            `yaml:"key"`
	Body    any               `yaml:"body"`
}

// Validate implements config.Validator.
func (s *requestSpec) Validate() error {
	if s.Path != "" && s.Path[0] != '/' {
		return fmt.Errorf("path %q does not begin with /", s.Path)
	}
	if s.Key != "" {
		if name, _, _ := strings.Cut(s.Key, ":"); strings.TrimSpace(name) == "" || strings.ContainsAny(name, " \t\r\n") {
			return errors.New("key names no header: write it as Authorization: Bearer, or X-Api-Key")
		}
	}
	trial := Ask{}
	if _, err := fill(s.Body, trial); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	for _, text := range s.texts() {
		if _, err := fillText(text, trial); err != nil {
			return err
		}
	}
	return nil
}

// texts lists the strings besides the body's that may hold placeholders.
func (s *requestSpec) texts() []string {
	all := []string{s.Path}
	for _, v := range s.Query {
		all = append(all, v)
	}
	for _, v := range s.Headers {
		all = append(all, v)
	}
	return all
}

// Request implements Dialect.
func (d *custom) Request(a Ask) (*http.Request, error) {
	s := &d.spec.Request
	path, err := fillText(s.Path, a)
	if err != nil {
		return nil, err
	}
	u, err := a.endpoint(path, "/v1")
	if err != nil {
		return nil, err
	}
	if u.RawQuery, err = s.query(u, a); err != nil {
		return nil, err
	}
	body, err := fill(s.Body, a)
	if err != nil {
		return nil, err
	}
	header, err := s.header(a)
	if err != nil {
		return nil, err
	}
	req, err := a.post(u, body, acceptSSE, header)
	if err != nil {
		return nil, err
	}
	if m := strings.ToUpper(s.Method); m != "" && m != http.MethodPost {
		req.Method = m
		if s.Body == nil && a.Body == nil {
			req.Body, req.GetBody, req.ContentLength = nil, nil, 0
			req.Header.Del("Content-Type")
		}
	}
	return req, nil
}

// header is the API key's and the dialect's own.
func (s *requestSpec) header(a Ask) (http.Header, error) {
	header := http.Header{}
	if name, prefix, _ := strings.Cut(s.Key, ":"); name != "" {
		if prefix = strings.TrimSpace(prefix); prefix != "" {
			prefix += " "
		}
		header = a.keyHeader(strings.TrimSpace(name), prefix)
	}
	for k, v := range s.Headers {
		filled, err := fillText(v, a)
		if err != nil {
			return nil, err
		}
		header.Set(k, filled)
	}
	return header, nil
}

// query adds the dialect's parameters; those of the user's URL win.
func (s *requestSpec) query(u *url.URL, a Ask) (string, error) {
	if len(s.Query) == 0 {
		return u.RawQuery, nil
	}
	q := u.Query()
	for k, v := range s.Query {
		filled, err := fillText(v, a)
		if err != nil {
			return "", err
		}
		if !q.Has(k) {
			q.Set(k, filled)
		}
	}
	return q.Encode(), nil
}

// fill replaces the placeholders in a body.
func fill(x any, a Ask) (any, error) {
	var err error
	switch x := x.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, v := range x {
			if out[k], err = fill(v, a); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(x))
		for i, v := range x {
			if out[i], err = fill(v, a); err != nil {
				return nil, err
			}
		}
		return out, nil
	case string:
		if name, ok := strings.CutPrefix(x, "{"); ok && strings.IndexByte(name, '}') == len(name)-1 && !strings.HasPrefix(name, "{") {
			return placeholder(name[:len(name)-1], a)
		}
		return fillText(x, a)
	}
	return x, nil
}

// fillText replaces the placeholders inside a text.
func fillText(s string, a Ask) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		if after, ok := strings.CutPrefix(rest, "{"); ok {
			b.WriteByte('{')
			s = after
			continue
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", fmt.Errorf("%q has a { without }; write {{ for the character itself", s)
		}
		v, err := placeholder(name, a)
		if err != nil {
			return "", err
		}
		if _, ok := v.([]Message); ok {
			return "", fmt.Errorf("{%s} is a list: it must stand alone", name)
		}
		fmt.Fprint(&b, v)
		s = after
	}
}

func placeholder(name string, a Ask) (any, error) {
	if yes, no, ok := strings.Cut(strings.TrimPrefix(name, "stream|"), "|"); ok && strings.HasPrefix(name, "stream|") {
		if a.Whole {
			return no, nil
		}
		return yes, nil
	}
	switch name {
	case "model":
		return a.model(), nil
	case "prompt":
		return a.prompt(), nil
	case "messages":
		return a.turns(), nil
	case "system":
		system, _ := a.system()
		return system, nil
	case "max_tokens":
		return a.maxTokens(), nil
	case "stream":
		return !a.Whole, nil
	}
	return nil, fmt.Errorf("no placeholder is called {%s}; there are {model}, {prompt}, {messages}, {system}, {max_tokens}, {stream} and {stream|yes|no}", name)
}
