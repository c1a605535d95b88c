package tap

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCounterCountsWhatAReaderSees(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		want   gain
	}{
		{"english", []string{"Hi", " you"}, gain{6, 5, 0}},
		{"chinese", []string{"你", "好。"}, gain{3, 3, 2}},
		{"kana and hangul", []string{"かナ한"}, gain{3, 3, 3}},
		{"white space only", []string{" \n", "\u3000\u00a0"}, gain{4, 0, 0}},
		{"ignorable only", []string{"\u200b", "\ufeff", "\u00ad"}, gain{3, 0, 0}},
		{"hangul filler is ignorable", []string{"\u3164"}, gain{1, 0, 1}},
		{"lone combining mark shows nothing", []string{"\u0301"}, gain{1, 0, 0}},
		{"mark joins its base over a cut", []string{"e", "\u0301", "x"}, gain{2, 2, 0}},
		{"family is one cluster over four pieces", []string{"👨", "\u200d👩", "\u200d👧", "\u200d👦"}, gain{1, 1, 0}},
		{"flag over a cut", []string{"🇨", "🇳🇯", "🇵"}, gain{2, 2, 0}},
		{"CRLF over a cut is one", []string{"a\r", "\nb"}, gain{3, 2, 0}},
		{"replacement character is visible", []string{"\ufffd"}, gain{1, 1, 0}},
		{"empty", []string{"", ""}, gain{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := countAll(c.pieces); got != c.want {
				t.Errorf("%q: got %+v, want %+v", c.pieces, got, c.want)
			}
		})
	}
}

func countAll(pieces []string) gain {
	var c counter
	var sum gain
	for _, p := range pieces {
		g := c.add(p)
		sum.chars += g.chars
		sum.visible += g.visible
		sum.wide += g.wide
	}
	return sum
}

func TestCounterDoesNotCareWhereTextIsCut(t *testing.T) {
	alphabet := []string{"a", " ", "你", "e\u0301", "👩\u200d👧", "🇨🇳", "\u200b", "क्षि", "\r\n", "한"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 20).Draw(t, "text"), "")
		runes := []rune(text)
		var pieces []string
		for len(runes) > 0 {
			n := rapid.IntRange(1, len(runes)).Draw(t, "n")
			pieces = append(pieces, string(runes[:n]))
			runes = runes[n:]
		}
		if whole, cut := countAll([]string{text}), countAll(pieces); whole != cut {
			t.Fatalf("%q: whole %+v, cut as %q %+v", text, whole, pieces, cut)
		}
	})
}

func TestEndlessCombiningMarksStayLinear(t *testing.T) {
	var c counter
	for range 100_000 {
		c.add("\u0301")
	}
	if len(c.tail) > maxTail+8 {
		t.Fatalf("tail grew to %d bytes", len(c.tail))
	}
}
