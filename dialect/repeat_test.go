package dialect

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"weir/stream"
	"weir/wire"
)

// repeatShapes are frames around a text, among them such as look alike and are
// not.
var repeatShapes = []string{
	`{"id":"a","model":"m","choices":[{"index":0,"delta":{"content":"%s"}}]}`,
	`{"id":"a","model":"m","choices":[{"index":1,"delta":{"content":"%s"},"finish_reason":null}]}`,
	`{"id":"b","choices":[{"index":0,"delta":{"role":"assistant","content": "%s"}}],"prompt_progress":{"total":2,"processed":1}}`,
	`{"choices":[{"delta":{"content" : "%s"}}],"usage":null}`,
	`{"choices":[{"delta":{"content":"%s","refusal":"%[1]s"}}]}`,
	`{"choices":[{"delta":{"reasoning":"%s","content":""}}]}`,
	`{"content":"a","choices":[{"delta":{"\u0063ontent":"%s"}}]}`,
	`{"x":"\"content\":\"a","choices":[{"delta":{"content":"%s"}}]}`,
	`{"x":"content","choices":[{"delta":{"content":"%s"}}]}`,
	`{"choices":[{"delta":{"content":"%s"},"logprobs":{"content":[{"token":"x"}]}}]}`,
	`{"choices":[{"delta":{"content":"%s"}}],"timings":{"predicted_n":3}}`,
	`{"choices":[{"delta":{"content":"%s"}}],"usage":{"completion_tokens":4,"prompt_tokens":2}}`,
	`{"choices":[{"delta":{"content":"%s"},"finish_reason":"stop"}]}`,
	`{"choices":[{"delta":{"content":"%s"}}],"time_info":{"queue_time":0.5}}`,
	`{"choices":[{"delta":{"content":"%s"}},{"index":1,"delta":{"content":"b"}}]}`,
	`{"choices":[{"delta":{},"message":{"content":"%s"}}]}`,
	`{"choices":[{"text":"%s"}]}`,
	`{"content":"%s","stop":false,"tokens":[7],"id":"c"}`,
	`{"error":{"message":"%s"}}`,
	`{"choices":[{"delta":{"content":"%s"}}]`,
	`[DONE]`,
}

var repeatTexts = []string{"", "a", " river", "content", "水流", "<", "think>", "</think>", "<think>", "`", `\n`, `\"`, `\ud83d`,
	"\x01", "\xff", `"}}]}`, `a"},"finish_reason":"stop","x":{"y":"`, `","content":"z`}

// A frame that is known again says what it says when it is parsed.
func TestRepeatSaysWhatParsingSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quick, parsing := openAIChat{}.NewClassifier().(*chat), openAIChat{}.NewClassifier().(*chat)
		parsing.repeat.vain = maxVain
		for range rapid.IntRange(1, 12).Draw(t, "runs") {
			shape := rapid.SampledFrom(repeatShapes).Draw(t, "shape")
			name := rapid.SampledFrom([]string{"", "", "", "ping", "error", "x"}).Draw(t, "name")
			for range rapid.IntRange(1, 5).Draw(t, "frames") {
				data := fmt.Appendf(nil, shape, rapid.SampledFrom(repeatTexts).Draw(t, "text"))
				kind := rapid.SampledFrom([]wire.Kind{wire.Event, wire.Event, wire.Event, wire.Event, wire.Unterminated, wire.Body}).Draw(t, "kind")
				f := wire.Frame{Kind: kind, Event: []byte(name), Data: data, Raw: data}
				got, want := classifyOne(t, quick, f), classifyOne(t, parsing, f)
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%s %q\n got %+v\nwant %+v", kind, data, got, want)
				}
			}
		}
		if quick.Ended() != parsing.Ended() && !reflect.DeepEqual(quick.Ended(), parsing.Ended()) {
			t.Fatalf("ended %+v, want %+v", quick.Ended(), parsing.Ended())
		}
	})
}

func classifyOne(t *rapid.T, c Classifier, f wire.Frame) (out []stream.Event) {
	if err := c.Classify(f, func(e *stream.Event) { out = append(out, *e) }); err != nil {
		t.Fatal(err)
	}
	return out
}

// What the property holds for is really used, and given up where it is in vain.
func TestRepeatIsUsed(t *testing.T) {
	c := openAIChat{}.NewClassifier().(*chat)
	known := 0
	again := c.again
	c.again = func(b []byte) bool { known++; return again(b) }
	feed := func(format string, i int) {
		data := fmt.Appendf(nil, format, i)
		_ = c.Classify(wire.Frame{Kind: wire.Event, Data: data}, func(*stream.Event) {})
	}
	for i := range 100 {
		feed(`{"choices":[{"delta":{"content":"word-%d 水"}}],"id":"a"}`, i)
	}
	if known != 99 {
		t.Errorf("%d of 99 known again", known)
	}
	for i := range 100 {
		feed(`{"choices":[{"delta":{"content":"a"}}],"id":"%d"}`, i)
	}
	if known != 99 || len(c.repeat.frame) != 0 {
		t.Errorf("%d known, %q kept", known, c.repeat.frame)
	}
}
