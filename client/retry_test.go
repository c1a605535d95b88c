package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/client"
)

// waits are the pauses of following s, and what came of it.
func waits(t *testing.T, s *server, o client.Options) (pauses []time.Duration, data []string, err error) {
	o.Retrying = func(r client.Reconnect) {
		if r.Err == nil || r.Try < 1 {
			t.Errorf("a try without its reason: %+v", r)
		}
		pauses = append(pauses, r.Wait)
	}
	start := time.Now()
	data, err = gather(follow(t, s, o))
	var sum time.Duration
	for _, p := range pauses {
		sum += p
	}
	if took := time.Since(start); took != sum && o.Silence == 0 {
		t.Errorf("it took %v, the pauses are %v", took, sum)
	}
	return pauses, data, err
}

func TestDelaysDoubleAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{frames: answer(2), cut: func(int) int { return 0 }}
		pauses, _, err := waits(t, s, client.Options{})
		if !errors.Is(err, client.ErrGaveUp) || len(pauses) != 5 || len(s.sent()) != 6 {
			t.Fatalf("%d pauses, %d requests, %v; want 5 tries after the first", len(pauses), len(s.sent()), err)
		}
		spread := false
		for i, p := range pauses {
			least := time.Second << i
			if p < least || p > least+500*time.Millisecond {
				t.Errorf("pause %d is %v, want %v and up to 500 ms more", i+1, p, least)
			}
			spread = spread || p != least
		}
		if !spread {
			t.Error("no pause has jitter")
		}
	})
}

func TestTheCounterBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{frames: answer(8)}
		one := len(s.head()) + 60 // one event, not two
		s.cut = func(n int) int {
			if n%3 == 2 {
				return one
			}
			return 0
		}
		pauses, data, err := waits(t, s, client.Options{Jitter: -1})
		if err != nil {
			t.Fatalf("%d events after %v: %v", len(data), pauses, err)
		}
		exact(t, s, data, -1)
		for i, p := range pauses { // 1 s, 2 s, and the third try brings an event
			if want := []time.Duration{time.Second, 2 * time.Second, time.Second}[min(i, 1)]; i < 2 && p != want {
				t.Errorf("pause %d is %v, want %v", i+1, p, want)
			}
			if p > 4*time.Second {
				t.Errorf("pause %d is %v: the counter was not reset", i+1, p)
			}
		}
	})
}

func TestTheServersRetryIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{frames: answer(2)}
		s.frames[0] = "retry: 7000\n" + s.frames[0]
		s.cut = func(n int) int { return []int{len(s.head()) + 90, 0, -1}[min(n, 2)] }
		pauses, data, err := waits(t, s, client.Options{Jitter: -1})
		if err != nil || len(data) != 3 {
			t.Fatalf("%q, %v", data, err)
		}
		if fmt.Sprint(pauses) != "[7s 14s]" {
			t.Errorf("pauses %v, want 7 s and its double", pauses)
		}
	})
}

func TestAnEndlessRetryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{frames: answer(2)}
		s.frames[0] = "retry: 9223372036854775807\n" + s.frames[0]
		s.cut = func(n int) int { return []int{len(s.head()) + 120, 0, 0, -1}[min(n, 3)] }
		pauses, data, err := waits(t, s, client.Options{Jitter: -1})
		if err != nil || len(data) != 3 || fmt.Sprint(pauses) != "[5m0s 5m0s 5m0s]" {
			t.Errorf("pauses %v, %q, %v", pauses, data, err)
		}
	})
}

func status(code int, more string) string {
	return fmt.Sprintf("HTTP/1.1 %d X\r\n%sContent-Length: 4\r\n\r\nno.\n", code, more)
}

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{frames: answer(2), answer: func(n int, _ *http.Request) (string, bool) {
			return status(503, "Retry-After: 20\r\n"), n == 0
		}}
		pauses, data, err := waits(t, s, client.Options{Jitter: -1})
		if err != nil || len(data) != 3 || fmt.Sprint(pauses) != "[20s]" {
			t.Errorf("pauses %v, %q, %v", pauses, data, err)
		}
	})
}

func TestWhatATryCannotMend(t *testing.T) {
	for _, code := range []int{400, 401, 403, 404, 410, 501, 302} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{answer: func(int, *http.Request) (string, bool) { return status(code, ""), true }}
			_, err := gather(follow(t, s, client.Options{}))
			var e *client.StatusError
			if !errors.As(err, &e) || e.Status != code || e.Body != "no.\n" || len(s.sent()) != 1 {
				t.Errorf("%d: %v after %d requests", code, err, len(s.sent()))
			}
		})
	}
}

// TestAQuestionIsAskedOnce: whether an unanswered POST was received is unknown.
func TestAQuestionIsAskedOnce(t *testing.T) {
	for name, raw := range map[string]string{"cut": "", "503": status(503, ""), "429": status(429, "Retry-After: 1\r\n"), "204": status(204, "")} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{stream: true, answer: func(int, *http.Request) (string, bool) { return raw, true }}
			if _, err := gather(follow(t, s, client.Options{})); err == nil || len(s.sent()) != 1 {
				t.Errorf("%s: %v after %d requests", name, err, len(s.sent()))
			} else if strings.Contains(err.Error(), "secret") {
				t.Errorf("the key is in the error: %v", err)
			}
		})
	}
}

func TestWhatIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{frames: answer(3), stream: true}
		s.cut = func(n int) int { return []int{len(s.head()) + 120, -1}[min(n, 1)] }
		if _, err := gather(follow(t, s, client.Options{Header: http.Header{"X-Tenant": {"a"}}})); err != nil {
			t.Fatal(err)
		}
		first, second := s.sent()[0], s.sent()[1]
		if first.Method != http.MethodPost || first.Header.Get("Weir-Resume") != "1" || first.Header.Get("X-Tenant") != "" {
			t.Errorf("first %s %v", first.Method, first.Header)
		}
		if second.Method != http.MethodGet || second.URL.Path != "/weir/streams/"+streamID || second.Header.Get("Last-Event-ID") != id(2) ||
			second.Header.Get("Authorization") != "Bearer secret" || second.Header.Get("X-Tenant") != "a" || second.Header.Get("Weir-Resume") != "1" {
			t.Errorf("second %s %s %v", second.Method, second.URL, second.Header)
		}
	})
}

func TestACountWhereThereAreNoIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{frames: lines(6), format: "ndjson"}
		s.cut = func(n int) int { return []int{len(s.head()) + 60, -1}[min(n, 1)] }
		data, err := gather(client.Follow(t.Context(), at+"?after=2&x=y", client.Options{HTTP: s.client(t)}))
		if err != nil || len(data) != 5 {
			t.Fatalf("%q, %v", data, err)
		}
		if got := s.sent()[1].URL.RawQuery; got != "after=4&x=y" {
			t.Errorf("resumed with %s after two events beyond the second", got)
		}
	})
}

func TestNoResumeNoEnd(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nWeir-Stream: 5f\r\nWeir-Resumable: false\r\n\r\n"
	for body, want := range map[string]error{
		"data: {}\n\ndata: [DONE]\n\n":                    nil,
		"data: {}\n\ndata: {\"error\":{}}\n\n":            nil,
		"data: {}\n\n":                                    client.ErrUnproven,
		"data: {}\n\ndata: [DONE]\n":                      client.ErrUnproven, // not a whole event
		"data: {\"error\":null}\n\n":                      client.ErrUnproven,
		"data: {\"text\":\"response.completed\"}\n\n":     client.ErrUnproven,
		"event: message_stop\ndata: {\"type\":\"x\"}\n\n": nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{stream: true, answer: func(int, *http.Request) (string, bool) { return head + body, true }}
			_, err := gather(follow(t, s, client.Options{}))
			if !errors.Is(err, want) || len(s.sent()) != 1 {
				t.Errorf("%q: %v after %d requests, want %v", body, err, len(s.sent()), want)
			}
		})
	}
}

// TestAForeignServerCannotResume: it has no ids and takes no count, so that
// asking again would bring everything twice.
func TestAForeignServerCannotResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{frames: answer(4), foreign: true}
		s.cut = func(int) int { return len(s.head()) + 80 }
		data, err := gather(follow(t, s, client.Options{}))
		if !errors.Is(err, client.ErrUnproven) || len(s.sent()) != 1 {
			t.Errorf("%q, %v, %d requests", data, err, len(s.sent()))
		}
	})
}

func TestNoStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: func(int, *http.Request) (string, bool) {
			return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>proxy", true
		}}
		if _, err := gather(follow(t, s, client.Options{})); !errors.Is(err, client.ErrNoStream) || !strings.Contains(err.Error(), "<html>proxy") {
			t.Errorf("%v", err)
		}
	})
}

// quiet is a connection that brings one event and then nothing.
func quiet(t *testing.T, beats time.Duration) *http.Client {
	s := &server{frames: answer(1)}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer ours.Close()
			buf := make([]byte, 4096)
			n, _ := ours.Read(buf)
			s.close = true
			_, _ = io.WriteString(ours, s.head())
			if !strings.Contains(string(buf[:n]), "Last-Event-Id") {
				_, _ = io.WriteString(ours, s.stamped(s.frames[0], 1))
			}
			for beats > 0 {
				time.Sleep(beats)
				if _, err := io.WriteString(ours, ": hb\n"); err != nil {
					return
				}
			}
			_, _ = ours.Read(buf) // until the client leaves
		}()
		return theirs, nil
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestSilenceIsTheCallersChoice(t *testing.T) {
	for _, c := range []struct {
		name           string
		silence, beats time.Duration
		breaks         bool
	}{
		{"by default it waits", 0, 0, false},
		{"broken where asked", 10 * time.Second, 0, true},
		{"heartbeats are no silence", 10 * time.Second, 4 * time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				tries := 0
				o := client.Options{HTTP: quiet(t, c.beats), Silence: c.silence, Retrying: func(r client.Reconnect) {
					tries++
					if !strings.Contains(r.Err.Error(), "silent") {
						t.Errorf("broken for %v", r.Err)
					}
				}}
				_, err := gather(client.Follow(ctx, at, o))
				time.Sleep(c.beats) // so that the server sees that the client left
				switch {
				case c.breaks && (!errors.Is(err, client.ErrGaveUp) || tries != 5):
					t.Errorf("%v after %d tries", err, tries)
				case !c.breaks && (!errors.Is(err, context.DeadlineExceeded) || tries != 0):
					t.Errorf("%v after %d tries; it was to wait", err, tries)
				}
			})
		})
	}
}

// TestARedirectGetsNoKey: a stream is resumed at the host that was asked.
func TestARedirectGetsNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{frames: answer(3), stream: true}
		s.answer = func(n int, _ *http.Request) (string, bool) {
			return "HTTP/1.1 307 X\r\nLocation: http://elsewhere.test/x\r\nContent-Length: 0\r\n\r\n", n == 0
		}
		s.cut = func(n int) int { return []int{-1, len(s.head()) + 120, -1}[min(n, 2)] }
		data, err := gather(follow(t, s, client.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		exact(t, s, data, -1)
		for _, r := range s.sent() {
			if r.Host == "elsewhere.test" && r.Header.Get("Authorization") != "" {
				t.Errorf("%s %s got the key", r.Method, r.URL)
			}
		}
		if last := s.sent()[2]; last.Host != "gateway.test" {
			t.Errorf("resumed at %s", last.Host)
		}
	})
}
