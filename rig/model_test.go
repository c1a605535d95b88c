package rig

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestFirstModel(t *testing.T) {
	for name, c := range map[string]struct {
		path, body string
		status     int
		model, why string
	}{
		"a list":             {"/v1", `{"data":[{"id":"m1"},{"id":"m2"}]}`, 200, "m1", "first of GET /v1/models"},
		"an empty list":      {"", `{"data":[]}`, 200, "", "lists no model"},
		"a page":             {"/v1/chat/completions", "<html>", 200, "", "lists no model"},
		"not found":          {"/v1", "{}", 404, "", "GET /v1/models: HTTP 404"},
		"a path that has no": {"/custom/chat", "", 200, "", "names no list"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("Authorization"); r.URL.Path != "/v1/models" || got != "Bearer k" {
				t.Errorf("%s: asked %s with %q", name, r.URL.Path, got)
			}
			w.WriteHeader(c.status)
			w.Write([]byte(c.body))
		}))
		model, why := FirstModel(t.Context(), s.URL+c.path, "k", nil, nil)
		s.Close()
		if model != c.model || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, %s", name, model, why)
		}
	}
}

func TestFirstModelSaysWhyThereIsNone(t *testing.T) {
	if _, why := FirstModel(t.Context(), "http://user:hunter2@127.0.0.1:1/v1", "", nil, nil); !strings.Contains(why, "refused") || strings.Contains(why, "hunter2") {
		t.Errorf("refused: %s", why)
	}
	hung := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	defer s.Close()
	defer close(hung)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, why := FirstModel(ctx, s.URL, "", nil, nil); why != "GET /v1/models was not answered in time" {
		t.Errorf("hung: %s", why)
	}
}
