package pace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"pgregory.net/rapid"
)

// written is how an event of each dialect holds a text; %s is a JSON string.
var written = []struct {
	form Form
	text string
}{
	{Form{"openai.chat", "sse"}, "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n"},
	{Form{"openai.chat", "sse"}, "data:{\"choices\": [ {\"delta\":{\"role\":\"assistant\",\"content\": %s }} ] }\r\n\r\n"},
	{Form{"openai.responses", "sse"}, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":7,\"delta\":%s}\n\n"},
	{Form{"anthropic", "sse"}, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":%s}}\n\n"},
	{Form{"gemini", "sse"}, "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":%s}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":4,\"x\":[{\"y\":1}]},\"modelVersion\":\"g\"}\r\n\r\n"},
	{Form{"ollama", "ndjson"}, "{\"model\":\"m\",\"created_at\":\"t\",\"message\":{\"role\":\"assistant\",\"content\":%s},\"done\":false}\n"},
	{Form{"ollama", "ndjson"}, "{\"model\":\"m\",\"created_at\":\"t\",\"response\":%s,\"done\":false}\n"},
	{Form{"dify", "sse"}, "data: {\"event\":\"message\",\"task_id\":\"t\",\"answer\":%s}\n\n"},
	{Form{"dify", "sse"}, "data: {\"event\":\"text_chunk\",\"task_id\":\"t\",\"data\":{\"text\":%s,\"from_variable_selector\":[\"a\"]}}\n\n"},
	{Form{"acme", "sse"}, "data: {\"delta\":%s}\n\n"},
}

// clusters are texts in which cutting is easily done wrong.
var clusters = []string{"a", "b ", "word ", "é", "e\u0301", "\u0301", "漢", "字", "한", "ᄒ", "ᅡ", "ᆫ", "क्षि", "🇩", "🇪", "🇫🇷", "👩", "\u200d", "👩‍👩‍👧‍👦",
	"👍🏽", "🏽", "\r", "\n", "\r\n", "\"", "\\", "\t", "\u0000", "<b>", "/", "ि", "नि"}

func textOf(t *rapid.T, name string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(clusters), 0, 60).Draw(t, name), "")
}

// quoted writes a JSON string in one of the ways there are.
func quoted(t *rapid.T, s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if !rapid.Bool().Draw(t, "escaped") {
		return string(b)
	}
	var out strings.Builder
	for _, r := range string(b) {
		switch {
		case r > 0xffff:
			_, _ = fmt.Fprintf(&out, `\u%04x\u%04X`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		case r > 0x7f:
			_, _ = fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

type sent struct {
	bytes string
	text  string
	plain bool
	at    time.Time
}

// simulate plays a source with a clock that is a variable; the one who pops may
// be late.
func simulate(t *rapid.T, b *Buffer[int], f Form, source []sent) (got []Piece[int], late time.Duration) {
	pop := func(now time.Time) {
		for p, ok := b.Pop(now); ok; p, ok = b.Pop(now) {
			got = append(got, p)
		}
	}
	for i, s := range source {
		for next, ok := b.Next(); ok && next.Before(s.at); next, ok = b.Next() {
			lag := time.Duration(rapid.IntRange(0, 3000).Draw(t, "lag")) * time.Microsecond
			if next.Add(lag).After(s.at) {
				lag = s.at.Sub(next)
			}
			late = max(late, lag)
			pop(next.Add(lag))
		}
		b.Push(Event[int]{Bytes: []byte(s.bytes), Text: s.plain, Form: f, Load: i}, s.at)
		pop(s.at)
	}
	b.Flush()
	pop(source[len(source)-1].at)
	return got, late
}

func TestNothingIsChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SampledFrom(written).Draw(t, "form")
		o := Options{MaxDelay: time.Duration(rapid.IntRange(1, 400).Draw(t, "bound")) * ms,
			Whole: rapid.IntRange(0, 4).Draw(t, "whole") == 0, Limit: rapid.SampledFrom([]int{0, 500, 5000}).Draw(t, "limit")}
		now := time.Unix(0, 0)
		var source []sent
		for i := range rapid.IntRange(1, 60).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 2, 2, 20, 60, 200, 300, 5000}).Draw(t, "gap")) * ms)
			s := sent{at: now, plain: rapid.IntRange(0, 15).Draw(t, "kind") > 0}
			if s.bytes = fmt.Sprintf("data: {\"other\":%d}\n\n", i); s.plain {
				s.text = textOf(t, "text")
				s.bytes = fmt.Sprintf(w.text, quoted(t, s.text))
			}
			source = append(source, s)
		}
		b := New[int](o)
		got, late := simulate(t, b, w.form, source)
		judge(t, b, o, w.form, source, got, late)
	})
}

func judge(t *rapid.T, b *Buffer[int], o Options, f Form, source []sent, got []Piece[int], late time.Duration) {
	all, cuts := "", []int{}
	i, left := 0, ""
	for n, p := range got {
		s := source[i]
		switch {
		case p.Load != i:
			t.Fatalf("event %d left where %d was next", p.Load, i)
		case p.Delay > o.MaxDelay+late:
			t.Fatalf("event %d waited %s, the one who pops was %s late", i, p.Delay, late)
		case (n == 0 || !s.plain) && p.Delay > 0:
			t.Fatalf("event %d of %+v waited %s", i, s, p.Delay)
		case p.Last && left == "" && string(p.Bytes) != s.bytes:
			t.Fatalf("a whole event was changed: %q from %q", p.Bytes, s.bytes)
		case !p.Last && o.Whole:
			t.Fatal("cut")
		}
		if !p.Last || left != "" {
			piece := textIn(t, f, p.Bytes)
			if piece == "" {
				t.Fatalf("an empty piece: %q", p.Bytes)
			}
			left += piece
			all += piece
			if !p.Last {
				cuts = append(cuts, len(all))
				continue
			}
			if left != s.text {
				t.Fatalf("%q came out as %q", s.text, left)
			}
		} else {
			all += s.text
		}
		i, left = i+1, ""
	}
	if i != len(source) || b.Waiting() != 0 {
		t.Fatalf("%d of %d events left, %d bytes wait", i, len(source), b.Waiting())
	}
	boundaries := []int{}
	for it := graphemes.FromString(all); it.Next(); {
		boundaries = append(boundaries, it.End())
	}
	for _, c := range cuts {
		if _, ok := slices.BinarySearch(boundaries, c); !ok {
			t.Fatalf("cut inside a grapheme cluster: %q | %q", all[:c], all[c:])
		}
	}
}

// textIn reads the text of a piece by another way: the decoder of encoding/json,
// and all other keys as they were.
func textIn(t *rapid.T, f Form, piece []byte) string {
	data := piece
	if f.Format == "sse" {
		_, data, _ = bytes.Cut(piece, []byte("data:"))
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v: %q", err, piece)
	}
	for _, path := range [][]any{{"choices", 0, "delta", "content"}, {"delta", "text"}, {"candidates", 0, "content", "parts", 0, "text"},
		{"message", "content"}, {"response"}, {"answer"}, {"data", "text"}} {
		x := v
		for _, key := range path {
			switch k := key.(type) {
			case string:
				m, _ := x.(map[string]any)
				x = m[k]
			case int:
				l, _ := x.([]any)
				if x = nil; len(l) > k {
					x = l[k]
				}
			}
		}
		if s, ok := x.(string); ok {
			return s
		}
	}
	t.Fatalf("no text in %q", piece)
	return ""
}
