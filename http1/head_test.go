package http1

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// wholeEnd is the length of a complete head, or -1, by looking at all of it.
func wholeEnd(h []byte) int {
	best := -1
	for _, blank := range []string{"\n\n", "\n\r\n"} {
		if i := bytes.Index(h, []byte(blank)); i >= 0 && (best < 0 || i+len(blank) < best) {
			best = i + len(blank)
		}
	}
	return best
}

// However a head is cut, its end is found where it is, and no byte is looked at
// again and again: a head that comes byte by byte costs no more than its length.
func TestHeadEndInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(rapid.StringOfN(rapid.RuneFrom([]rune("ab\r\n")), 0, 60, -1).Draw(t, "head"))
		var h []byte
		end, next := -1, 0
		for len(raw) > 0 && end < 0 {
			n := rapid.IntRange(1, len(raw)).Draw(t, "piece")
			h, raw = append(h, raw[:n]...), raw[n:]
			before := next
			end, next = headEnd(h, before)
			if want := wholeEnd(h); end != want {
				t.Fatalf("%q: end %d, want %d", h, end, want)
			}
			if end < 0 && (next < before || next < len(h)-2) {
				t.Fatalf("%q: looked at up to %d, then %d", h, before, next)
			}
		}
	})
}
