package gateway

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"weir/wire"
)

// However a stream is cut into reads, the pieces put together are the stream,
// and each piece but the last ends where an event does: a decoder that is
// given a piece has nothing left in it.
func TestCutterAnySplit(t *testing.T) {
	alphabet := []string{"data: x\n", "data: y\r\n", "data:z\r", "\n", "\r\n", "\r", ": c\n", "event: e\n", "\ufeff", "junk", "data: 你好", "id: 1\n"}
	rapid.Check(t, func(t *rapid.T) {
		var body []byte
		for _, s := range rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 30).Draw(t, "body") {
			body = append(body, s...)
		}
		c := cutter{format: "sse"}
		var pieces [][]byte
		var pend []byte
		rest := body
		for len(rest) > 0 {
			n := rapid.IntRange(1, len(rest)).Draw(t, "read")
			p := rest[:n]
			rest = rest[n:]
			for len(p) > 0 {
				k := c.next(p)
				if k == 0 {
					pend = append(pend, p...)
					break
				}
				pieces = append(pieces, append(bytes.Clone(pend), p[:k]...))
				pend, p = nil, p[k:]
			}
		}
		if got := append(bytes.Join(pieces, nil), pend...); !bytes.Equal(got, body) {
			t.Fatalf("%q became %q", body, got)
		}
		d, err := wire.New("sse", wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range pieces {
			open := true
			count := func(f wire.Frame) { open = open && f.Kind != wire.Unterminated }
			_ = d.Feed(p, count)
			// A block left open would be told by a decoder of its own.
			own, _ := wire.New("sse", wire.Options{})
			_ = own.Feed(bytes.TrimPrefix(p, []byte("\ufeff")), count)
			_ = own.Close(count)
			if !open {
				t.Fatalf("piece %d of %q is no whole event: %q", i, pieces, p)
			}
		}
	})
}

func BenchmarkCutter(b *testing.B) {
	event := []byte(chat("river "))
	c := cutter{format: "sse"}
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		if c.next(event) != len(event) {
			b.Fatal("not whole")
		}
	}
}
