package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// role is a frame that says nothing to a reader yet, as large as wanted.
func role(n, size int) string {
	return fmt.Sprintf(`data: {"id":"c1","n":%d,"pad":%q,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
		n, strings.Repeat("p", size)) + "\n\n"
}

// Frames before the first output are kept back, and leave with it: in order,
// in one write to the client's connection, whatever the output came with.
func TestHeldFramesLeaveWithTheFirstOutput(t *testing.T) {
	for _, route := range []string{"", ", resume: {enabled: true}", ", pacing: {enabled: true}", ", meta_event: true"} {
		for name, output := range map[string][]string{
			"alone":        {chat("a"), "1s", chat("b")},
			"with another": {chat("a") + chat("b")},
			"with a held":  {role(8, 1) + chat("a") + chat("b")},
			"in two reads": {chat("a")[:20], "1s", chat("a")[20:] + chat("b")},
			"with the end": {chat("a") + chat("b") + chatFinish},
		} {
			held := role(1, 1) + ": processing\n\n" + role(2, 1) + role(3, 1)
			pieces := append([]string{role(1, 1), "1s", ": processing\n\n", "1s", role(2, 1) + role(3, 1), "1s"}, output...)
			inBubble(t, "routes: [{path: \"/*\", upstream: main"+route+"}]\n", sse(append(pieces, "1s", chatFinish, chatDone)...), func(b *bubble) {
				for range 10 { // pump and writer race for what comes in one read
					got := b.ask()
					if !strings.HasPrefix(got, held) || strings.Index(got, `"content":"a"`) > strings.Index(got, `"content":"b"`) {
						t.Fatalf("%s%s: got %q", name, route, got)
					}
					first := b.with("data: ")[0]
					if !strings.Contains(first.bytes, held) || !strings.Contains(first.bytes, `"content":"a"`) {
						t.Fatalf("%s%s: the first write has %q", name, route, first.bytes)
					}
					b.writes = nil
				}
			})
		}
	}
}

// No more than 64 KiB are kept back: then they leave, long before the hold
// ends.
func TestHeldFramesAreBounded(t *testing.T) {
	const frame, size, gap = 1 << 10, 64 << 10, 10 * time.Millisecond
	for _, route := range []string{"", ", resume: {enabled: true}", ", pacing: {enabled: true}"} {
		var pieces []string
		whole, most := "", 0
		for i := range 100 {
			f := role(i, frame)
			if len(whole) <= size {
				most = i + 1
			}
			whole += f
			pieces = append(pieces, gap.String(), f)
		}
		inBubble(t, "routes: [{path: \"/*\", upstream: main"+route+"}]\n", sse(append(pieces, "5s", chat("a"), chatFinish, chatDone)...), func(b *bubble) {
			began := time.Now()
			if got := b.ask(); got != whole+chat("a")+chatFinish+chatDone {
				t.Errorf("%q: got %d bytes, %.300q", route, len(got), got)
			}
			at := b.with("data: ")[0].at.Sub(began)
			if want := time.Duration(most) * gap; at != want {
				t.Errorf("%q: the first frames left after %s, want %s", route, at, want)
			}
		})
	}
}
