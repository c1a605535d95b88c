package tap

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"weir/stream"
)

// What is kept of any events is all of them.
func TestKeptEventsAreWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var k kept
		var want []stream.Event
		for i := range rapid.IntRange(0, 40).Draw(t, "n") {
			e := drawEvent(t)
			e.Seq = i + 1
			k.add(&e)
			want = append(want, e)
		}
		got := k.events()
		if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func drawEvent(t *rapid.T) stream.Event {
	words := rapid.SampledFrom([]string{"", "", "a", "b"})
	e := stream.Event{Kind: stream.Kind(rapid.IntRange(0, 8).Draw(t, "kind")), Choice: rapid.IntRange(0, 2).Draw(t, "choice"),
		Name: words.Draw(t, "name"), Tool: words.Draw(t, "tool"), BodyID: words.Draw(t, "id"), Model: words.Draw(t, "model"),
		Finish: words.Draw(t, "finish"), Note: words.Draw(t, "note"), Text: words.Draw(t, "text"), Summary: rapid.Bool().Draw(t, "summary"),
		Late: rapid.Bool().Draw(t, "late"), Read: rapid.IntRange(0, 9).Draw(t, "read"), Proof: stream.Proof(rapid.IntRange(0, 4).Draw(t, "proof")),
		Bytes:  rapid.SampledFrom([]int{0, 200, math.MaxInt32 + 1}).Draw(t, "bytes"),
		Tokens: drawNumber(t, "tokens"), Chars: drawNumber(t, "chars"), Visible: drawNumber(t, "visible"), Wide: drawNumber(t, "wide")}
	if n, ok := drawNumber(t, "seq").Get(); ok {
		e.ServiceSeq = stream.Some(int64(n) - 1)
	}
	switch rapid.IntRange(0, 9).Draw(t, "own") {
	case 0:
		e.Usage = &stream.Usage{Output: stream.Some(3)}
	case 1:
		e.Fault = &stream.Fault{Code: "x"}
	case 2:
		e.Marks = []string{"m"}
	case 3:
		e.State = json.RawMessage(`{}`)
	}
	return e
}

func drawNumber(t *rapid.T, name string) stream.Maybe[int] {
	n := rapid.SampledFrom([]int{-1, 0, 1, 2, math.MaxInt32, math.MinInt32, math.MaxInt64}).Draw(t, name)
	if n < 0 && rapid.Bool().Draw(t, name+" missing") {
		return stream.None[int]()
	}
	return stream.Some(n)
}
