package tap

import (
	"testing"
	"time"

	"weir/stream"
)

// BenchmarkTap is the whole pipe for one read that brings one event: framing,
// classification, counting, keeping.
func BenchmarkTap(b *testing.B) {
	for _, c := range []struct{ name, delta string }{{"english", "river "}, {"chinese", "河流"}} {
		b.Run(c.name, func(b *testing.B) {
			event := []byte(`data: {"id":"chatcmpl-abcdefghijkl","object":"chat.completion.chunk","created":1700000000,"model":"mock","choices":[{"index":0,"delta":{"content":"` + c.delta + `"},"logprobs":null,"finish_reason":null}]}` + "\n\n")
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			var t *Tap
			for i := 0; b.Loop(); i++ {
				if i%500 == 0 {
					o := sse()
					o.KeepText = false // as the gateway reads
					t = New(o)
				}
				n := t.Read(stream.Read{App: time.Duration(i) * ms, Bytes: len(event), Waited: true})
				if err := t.Feed(event, n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
