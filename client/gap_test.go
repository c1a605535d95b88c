package client_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"weir/client"
)

func TestEvictionIsAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{frames: answer(9)}
		s.cut = func(n int) int {
			if n == 0 {
				return len(s.head()) + 120
			}
			s.evicted = 6
			return -1
		}
		s.answer = func(n int, _ *http.Request) (string, bool) { // before the request is answered
			if n == 1 {
				s.evicted = 6
			}
			return "", false
		}
		data, err := gather(follow(t, s, client.Options{}))
		var gap *client.GapError
		if !errors.As(err, &gap) || gap.From != id(2) || gap.Detail != "entries are not kept any more" {
			t.Fatalf("%q, %v", data, err)
		}
		exact(t, s, data, 2)
	})
}

// TestAGapInTheStream: what a server sends is checked, not believed.
func TestAGapInTheStream(t *testing.T) {
	const event = "data: {}\nid: 5f.e1.1\n\n"
	for name, c := range map[string]struct {
		rest  string
		fails bool
	}{
		"the next one":              {"data: {}\nid: 5f.e1.2\n\n", false},
		"one missing":               {"data: {}\nid: 5f.e1.3\n\n", true},
		"another epoch":             {"data: {}\nid: 5f.e2.2\n\n", true},
		"another stream":            {"data: {}\nid: 60.e1.2\n\n", true},
		"the server says so":        {"event: error\ndata: {\"error\":{\"code\":\"weir_gap\",\"message\":\"m\"}}\n\n", true},
		"anthropic":                 {"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"reason\":\"weir_gap\"}}\n\n", true},
		"dify":                      {"data: {\"event\":\"error\",\"code\":\"weir_gap\"}\n\n", true},
		"ollama":                    {"data: {\"error\":\"gone\",\"reason\":\"weir_gap\"}\n\n", true},
		"an answer about weir_gap":  {"data: {\"text\":\"\\\"weir_gap\\\"\",\"x\":[\"weir_gap\"]}\nid: 5f.e1.2\n\n", false},
		"a heartbeat without an id": {"event: ping\ndata: {}\n\ndata: {}\nid: 5f.e1.2\n\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{answer: func(int, *http.Request) (string, bool) {
					return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nWeir-Stream: 5f\r\n\r\n" + event + c.rest + "data: [DONE]\n\n", true
				}}
				data, err := gather(follow(t, s, client.Options{}))
				if errors.Is(err, client.ErrGap) != c.fails || !c.fails && err != nil || c.fails && len(data) != 1 {
					t.Errorf("%q, %v", data, err)
				}
			})
		})
	}
}

func TestWhatComesTwiceIsGivenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{frames: answer(3), answer: func(int, *http.Request) (string, bool) {
			return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nWeir-Stream: 5f\r\n\r\n" +
				"data: a\nid: 5f.e1.1\n\ndata: b\nid: 5f.e1.2\n\ndata: a\nid: 5f.e1.1\n\ndata: b\nid: 5f.e1.2\n\ndata: [DONE]\nid: 5f.e1.3\n\n", true
		}}
		data, err := gather(follow(t, s, client.Options{}))
		if err != nil || len(data) != 3 || data[2] != "[DONE]" {
			t.Errorf("%q, %v", data, err)
		}
	})
}
