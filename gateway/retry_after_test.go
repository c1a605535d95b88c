package gateway

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// asks notes who was asked when.
type asks struct {
	mu    sync.Mutex
	names string
	at    []time.Time
}

func (a *asks) note(name string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names, a.at = a.names+name, append(a.at, time.Now())
	return strings.Count(a.names, name)
}

// told is who was asked, and when.
func (a *asks) told() (names string, at []time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.names, slices.Clone(a.at)
}

// script answers each time as the next word says: a number is a refusal with
// that Retry-After, "no" one without, "ok" an answer.
func (a *asks) script(name string, words ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch word := words[min(a.note(name), len(words))-1]; word {
		case "ok":
			sse(chat("a")+chatFinish+chatDone)(w, r)
		case "no":
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "of "+name)
		default:
			w.Header().Set("Retry-After", word)
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, "of "+name)
		}
	}
}

// An address is not asked before it wants to be; others need not wait for it.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		a, b   []string
		asked  string
		waited bool   // a second, before the last
		after  string // told to the client; "" = it got an answer
	}{
		{"the only one", []string{"1", "ok"}, nil, "aa", true, ""},
		{"the other at once", []string{"20"}, []string{"ok"}, "ab", false, ""},
		{"the other again", []string{"20"}, []string{"no", "no", "ok"}, "abbb", false, ""},
		{"the sooner", []string{"20"}, []string{"1", "ok"}, "abb", true, ""},
		{"both", []string{"1", "ok"}, []string{"1"}, "aba", true, ""},
		{"both for long", []string{"100"}, []string{"70"}, "ab", false, "70"},
		{"both for long, the first less", []string{"70"}, []string{"100"}, "ab", false, "70"},
		{"the only one for long", []string{"70"}, nil, "a", false, "70"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var seen asks
			urls := `"` + scripted(t, seen.script("a", c.a...)) + `"`
			if c.b != nil {
				urls += `, "` + scripted(t, seen.script("b", c.b...)) + `"`
			}
			g := start(t, "upstreams: {main: {urls: [%s]}}\nroutes: [{path: \"/*\", upstream: main, retry: {attempts: 4, backoff: 1ms}}]\n", urls)
			resp := post(t, g.url+"/v1/chat/completions", ask1)
			got := text(t, resp)
			names, at := seen.told()
			if names != c.asked {
				t.Fatalf("asked %s, want %s", names, c.asked)
			}
			if n := len(at); c.waited && at[n-1].Sub(at[n-2]) < 900*time.Millisecond {
				t.Errorf("it was asked again after %s", at[n-1].Sub(at[n-2]))
			}
			switch {
			case c.after == "" && !strings.HasPrefix(got, chat("a")):
				t.Errorf("%d %q", resp.StatusCode, got)
			case c.after != "" && (resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != c.after || !strings.HasPrefix(got, "of ")):
				t.Errorf("%d, Retry-After %q, %q", resp.StatusCode, resp.Header.Get("Retry-After"), got)
			}
		})
	}
}

// Between two attempts the backoff is waited for; it doubles, and differs by
// chance.
func TestBackoff(t *testing.T) {
	t.Parallel()
	var seen asks
	g := start(t, "upstreams: {main: {urls: [\"%s\"]}}\nroutes: [{path: \"/*\", upstream: main, retry: {attempts: 3, backoff: 100ms}}]\n",
		scripted(t, seen.script("a", "no", "no", "ok")))
	if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); !strings.HasPrefix(got, chat("a")) {
		t.Fatalf("got %q", got)
	}
	_, at := seen.told()
	for i, least := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond} {
		if d := at[i+1].Sub(at[i]); d < least {
			t.Errorf("attempt %d came after %s, the backoff is %s", i+2, d, least)
		}
	}
	for attempt, first := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		different := map[time.Duration]bool{}
		for range 50 {
			d := backoff(time.Second, attempt)
			if d < first || d > first*3/2 {
				t.Errorf("after attempt %d: %s", attempt+1, d)
			}
			different[d] = true
		}
		if len(different) < 25 {
			t.Errorf("after attempt %d: only %d different pauses", attempt+1, len(different))
		}
	}
	if d := backoff(0, 3); d != 0 {
		t.Errorf("no backoff is %s", d)
	}
	if d := backoff(time.Second, 99); d < 64*time.Second || d > 96*time.Second {
		t.Errorf("the longest is %s", d)
	}
}
