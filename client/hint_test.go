package client

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestRetryAfterOfAnEvent(t *testing.T) {
	for data, want := range map[string]time.Duration{
		`{"error":{"message":"closing","reason":"shutdown","retry_after_ms":3456}}`:                   3456 * time.Millisecond,
		`{"type":"error","error":{"type":"overloaded_error","retry_after_ms":1200},"request_id":"x"}`: 1200 * time.Millisecond,
		`{"error":"the gateway is closing","retry_after_ms":2000}`:                                    2 * time.Second,
		`{"error":{"retry_after_ms":999999999999}}`:                                                   longestWait,
		`{"error":{"message":"no"}}`:                                                                  -1,
		`{"error":{"retry_after_ms":-5}}`:                                                             -1,
		`{"error":{"retry_after_ms":"soon"}}`:                                                         -1,
		`{"choices":[{"delta":{"content":"say \"retry_after_ms\" aloud"}}]}`:                          -1,
		`"retry_after_ms"`: -1,
		``:                 -1,
	} {
		got, ok := RetryAfter(Event{Data: []byte(data)})
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%s: %v, %v", data, got, ok)
		}
	}
}

func TestRetryAfterOfAnAnswer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer s.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range Do(req, Options{}) {
		var status *StatusError
		if !errors.As(err, &status) || status.RetryAfter() != 3*time.Second {
			t.Errorf("%v", err)
		}
	}
}
