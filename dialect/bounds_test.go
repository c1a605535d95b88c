package dialect

import (
	"runtime"
	"strings"
	"testing"

	"weir/stream"
	"weir/wire"
)

// TestHostileFrames feeds frames that are small on the wire and large when
// parsed, or broken: they are told as other.
func TestHostileFrames(t *testing.T) {
	for name, data := range map[string]string{
		"a million values":  `{"choices":[` + strings.Repeat("0,", 1<<20) + `0]}`,
		"a thousand levels": `{"choices":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`,
		"many choices":      `{"choices":[` + strings.Repeat("{},", 1<<15) + `{}]}`,
		"not closed":        `{"choices":[{"delta":{"content":"` + strings.Repeat("x", 1<<20),
	} {
		for _, d := range All {
			c := d.NewClassifier()
			var other, n int
			err := c.Classify(wire.Frame{Kind: wire.Event, Data: []byte(data)}, func(e *stream.Event) {
				n++
				if e.Kind == stream.KindOther && len(e.Note) < 400 {
					other++
				}
			})
			wellFormed := name == "many choices" // and not of every dialect
			if err != nil || other == 0 && !wellFormed || n > maxChoices+1 {
				t.Errorf("%s, %s: %d events, %d other, %v", d.Name(), name, n, other, err)
			}
		}
	}
}

// TestLargeFrameIsForgotten shows that a parser does not keep a large frame's
// memory for the small frames that follow.
func TestLargeFrameIsForgotten(t *testing.T) {
	c := openAIChat{}.NewClassifier()
	feed := func(data string) {
		if err := c.Classify(wire.Frame{Kind: wire.Event, Data: []byte(data)}, func(*stream.Event) {}); err != nil {
			t.Fatal(err)
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	feed(`{"choices":[],"x":[` + strings.Repeat("0,", 200_000) + `0],"y":"` + strings.Repeat("z", 4<<20) + `"}`)
	feed(`{"choices":[]}`)
	if grown := int64(heap()) - int64(before); grown > 2<<20 {
		t.Errorf("%d bytes stay", grown)
	}
	runtime.KeepAlive(c)
}
