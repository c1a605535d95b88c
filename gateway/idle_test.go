package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// every is a service that says n words, one each gap.
func every(gap time.Duration, n int) http.HandlerFunc {
	pieces := []string{chatRole}
	for range n {
		pieces = append(pieces, gap.String(), chat("w"))
	}
	return sse(append(pieces, chatFinish, chatDone)...)
}

// Heartbeats are sent when nothing else was for their time, and only then.
func TestHeartbeatsOnlyWhenIdle(t *testing.T) {
	for _, c := range []struct {
		route string
		gap   time.Duration
		n     int
		want  int
	}{
		{"", 900 * time.Millisecond, 40, 0},
		{"", 10 * time.Millisecond, 1000, 0},
		{"", 2700 * time.Millisecond, 4, 6}, // the first pause is held
		{", resume: {enabled: true}", 900 * time.Millisecond, 40, 0},
		{", resume: {enabled: true}", 2700 * time.Millisecond, 4, 6},
		{", open: {mode: early}", 900 * time.Millisecond, 40, 0},
		{", pacing: {enabled: true}", 800 * time.Millisecond, 40, 0},
		{", open: {mode: early}", 2700 * time.Millisecond, 4, 8},
	} {
		inBubble(t, "routes: [{path: \"/*\", upstream: main, heartbeat: 1s"+c.route+"}]\n", every(c.gap, c.n), func(b *bubble) {
			got := b.ask()
			if beats := strings.Count(got, ": hb\n"); beats != c.want {
				t.Errorf("%q, an event each %s: %d heartbeats, want %d", c.route, c.gap, beats, c.want)
			}
			if words := strings.Count(got, chat("w")); words != c.n {
				t.Errorf("%q: %d events of %d", c.route, words, c.n)
			}
		})
	}
}

// So it is for those that follow a stream.
func TestFollowersHeartbeatsOnlyWhenIdle(t *testing.T) {
	for gap, want := range map[time.Duration]int{900 * time.Millisecond: 0, 10 * time.Millisecond: 0, 2700 * time.Millisecond: 8} {
		inBubble(t, "routes: [{path: \"/*\", upstream: main, heartbeat: 1s, open: {mode: early}, resume: {enabled: true}}]\n", every(gap, 4), func(b *bubble) {
			owner := b.open(http.MethodPost, "/v1/chat/completions", ask1)
			read := make(chan struct{})
			go func() {
				defer close(read)
				_, _ = io.Copy(io.Discard, owner.Body)
			}()
			got := b.rest(b.open(http.MethodGet, "/weir/streams/"+owner.Header.Get("Weir-Stream"), ""))
			if beats := strings.Count(got, ": hb\n"); beats != want || strings.Count(got, chat("w")) != 4 {
				t.Errorf("an event each %s: %d heartbeats, want %d: %q", gap, beats, want, got)
			}
			<-read
			_ = owner.Body.Close()
		})
	}
}

// Silence is told to the client once, by a heartbeat that nothing else would
// have sent; comments of the service neither put it off nor count as one.
func TestSilenceIsTold(t *testing.T) {
	for _, route := range []string{"", ", resume: {enabled: true}", ", pacing: {enabled: true}", ", heartbeat: 0s"} {
		inBubble(t, "routes: [{path: \"/*\", upstream: main, silence: {log: 2s, act: 4s, tell: 6s}"+route+"}]\n",
			sse(chat("a"), "5s", ": still here\n\n", "4s", chat("b"), "5s", chat("c"), chatFinish+chatDone), func(b *bubble) {
				began := time.Now()
				got := b.ask()
				want := chat("a") + ": still here\n\n" + ": hb\n" + chat("b") + chat("c") + chatFinish + chatDone
				if got != want {
					t.Errorf("%q: got %q, want %q", route, got, want)
				}
				if w := b.with(": hb\n"); len(w) != 1 || w[0].at.Sub(began) != 6*time.Second {
					t.Errorf("%q: told %v", route, w)
				}
			})
	}
}
