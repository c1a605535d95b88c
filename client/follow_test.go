package client_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"weir/client"
)

const at = "http://gateway.test/weir/streams/" + streamID

// answer is n words and their end, in SSE.
func answer(n int) (frames []string) {
	for i := range n {
		frames = append(frames, fmt.Sprintf("data: {\"word\":\"字%d\"}\n\n", i))
	}
	return append(frames, "data: [DONE]\n\n")
}

func lines(n int) (frames []string) {
	for i := range n {
		frames = append(frames, fmt.Sprintf("{\"word\":\"字%d\"}\n", i))
	}
	return append(frames, "{\"done\":true}\n")
}

// follow follows the server's stream as its kind is begun.
func follow(t *testing.T, s *server, o client.Options) iter.Seq2[client.Event, error] {
	o.HTTP = s.client(t)
	if !s.stream {
		return client.Follow(t.Context(), at, o)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway.test/v1/chat/completions", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret")
	return client.Do(req, o)
}

// gather takes the stream to its end.
func gather(events iter.Seq2[client.Event, error]) (data []string, err error) {
	for e, err := range events {
		if err != nil {
			return data, err
		}
		data = append(data, string(e.Data))
	}
	return data, nil
}

// exact fails unless data is the first n frames of s, all of them if n < 0.
func exact(t testing.TB, s *server, data []string, n int) {
	t.Helper()
	if n < 0 {
		n = len(s.frames)
	}
	if len(data) != n {
		t.Fatalf("%d events, want %d: %q", len(data), n, data)
	}
	for i, d := range data {
		want := strings.TrimSuffix(strings.TrimPrefix(s.frames[i], "data: "), "\n")
		if d != strings.TrimSuffix(want, "\n") {
			t.Fatalf("event %d is %q, want %q", i+1, d, want)
		}
	}
}

// variants are the kinds of servers that every cut is tried with.
func variants() map[string]*server {
	return map[string]*server{
		"followed":              {frames: answer(4)},
		"begun":                 {frames: answer(4), stream: true},
		"ended by the close":    {frames: answer(4), close: true},
		"begun, by the close":   {frames: answer(4), close: true, stream: true},
		"ndjson":                {frames: lines(4), format: "ndjson"},
		"ndjson, by the close":  {frames: lines(4), format: "ndjson", close: true},
		"without ids":           {frames: answer(4), noIDs: true, stream: true},
		"without ids, by close": {frames: answer(4), noIDs: true, close: true},
	}
}

// TestACutAtEveryByte cuts the first answer after each of its bytes; what comes
// is the exact sequence all the same.
func TestACutAtEveryByte(t *testing.T) {
	for name, s := range variants() {
		t.Run(name, func(t *testing.T) {
			whole := len(s.raw(&http.Request{Method: http.MethodPost}))
			first := 0
			if s.stream { // a question that was not answered is not asked again
				first = len(s.head())
			}
			for k := first; k <= whole; k++ {
				synctest.Test(t, func(t *testing.T) {
					s.requests = nil
					s.cut = func(n int) int {
						if n == 0 {
							return k
						}
						return -1
					}
					data, err := gather(follow(t, s, client.Options{}))
					if err != nil {
						t.Fatalf("cut at %d: %v", k, err)
					}
					exact(t, s, data, -1)
				})
			}
		})
	}
}

// TestEveryAnswerIsCut cuts every answer after the same number of bytes: it
// comes through if each brings an event, and is given up if none does.
func TestEveryAnswerIsCut(t *testing.T) {
	for name, s := range variants() {
		t.Run(name, func(t *testing.T) {
			whole := len(s.raw(&http.Request{Method: http.MethodPost}))
			oneMore := len(s.head()) + 120 // an event of this size is whole within
			for k := len(s.head()); k <= whole; k++ {
				synctest.Test(t, func(t *testing.T) {
					s.requests = nil
					s.cut = func(int) int { return k }
					data, err := gather(follow(t, s, client.Options{}))
					switch {
					case err == nil:
						exact(t, s, data, -1)
					case errors.Is(err, client.ErrGaveUp) && k < oneMore:
						exact(t, s, data, len(data))
					default:
						t.Fatalf("cut at %d: %d events, %v", k, len(data), err)
					}
				})
			}
		})
	}
}

func TestAnyCutsGiveTheExactSequence(t *testing.T) {
	kinds := variants()
	names := []string{"followed", "begun", "ended by the close", "ndjson", "without ids", "begun, by the close"}
	rapid.Check(t, func(r *rapid.T) {
		s := kinds[rapid.SampledFrom(names).Draw(r, "kind")]
		cuts := rapid.SliceOfN(rapid.IntRange(0, 700), 0, 12).Draw(r, "cuts")
		synctest.Test(t, func(t *testing.T) {
			s.requests = nil
			s.cut = func(n int) int {
				switch {
				case n >= len(cuts):
					return -1
				case n == 0 && s.stream:
					return max(cuts[n], len(s.head()))
				}
				return cuts[n]
			}
			data, err := gather(follow(t, s, client.Options{}))
			if err != nil && !errors.Is(err, client.ErrGaveUp) {
				t.Fatalf("%v: %v", cuts, err)
			}
			exact(t, s, data, map[bool]int{true: -1, false: len(data)}[err == nil])
		})
	})
}

func TestEventsHaveNamesAndIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: func(int, *http.Request) (string, bool) {
			return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" +
				"event: a\ndata: {}\nid: x\n\n: hb\n\nevent: ping\ndata: {}\n\ndata: {\"type\":\"message_stop\"}\nid: y\n\n", true
		}}
		var got []string
		for e, err := range follow(t, s, client.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Name+"/"+e.ID)
		}
		if want := "[a/x ping/ /y]"; fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
	})
}

func TestTheCallerMayStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{frames: answer(10)}
		n := 0
		for _, err := range follow(t, s, client.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 3 {
				break
			}
		}
		if n != 3 || len(s.sent()) != 1 {
			t.Errorf("%d events, %d requests", n, len(s.sent()))
		}
	})
}

func TestTheContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, why)
		defer cancel()
		s := &server{frames: answer(2), cut: func(int) int { return 0 }}
		_, err := gather(client.Follow(ctx, at, client.Options{HTTP: s.client(t)}))
		if !errors.Is(err, why) {
			t.Errorf("%v, want the context's cause", err)
		}
	})
}
