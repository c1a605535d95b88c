package wire

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"
)

// openAIChunks is n events of exactly 200 bytes as OpenAI-compatible services
// send them, one text delta each.
func openAIChunks(n int) (stream []byte, size int) {
	const size200 = 200
	for i := range n {
		head := fmt.Sprintf(`data: {"id":"chatcmpl-%08d","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":"`, i)
		tail := `"},"finish_reason":null}]}` + "\n\n"
		stream = append(stream, head...)
		stream = append(stream, bytes.Repeat([]byte("t"), size200-len(head)-len(tail))...)
		stream = append(stream, tail...)
	}
	return stream, size200
}

// pieces cuts b into pieces of n bytes, the last may be shorter.
func pieces(b []byte, n int) [][]byte {
	var out [][]byte
	for len(b) > n {
		out = append(out, b[:n])
		b = b[n:]
	}
	return append(out, b)
}

var benchPieces = []struct {
	name string
	size int
}{{"event", 200}, {"4KiB", 4 << 10}}

func benchStream(b *testing.B, size int) [][]byte {
	stream, _ := openAIChunks(20480) // 4,096,000 bytes: whole pieces of both sizes
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	return pieces(stream, size)
}

func BenchmarkSSE(b *testing.B) {
	for _, bp := range benchPieces {
		b.Run(bp.name, func(b *testing.B) {
			ps := benchStream(b, bp.size)
			d, _ := New("sse", Options{})
			events := 0
			emit := func(f Frame) { events += int(f.Kind) + 1 }
			for b.Loop() {
				decodeAll(d, ps, emit)
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(events), "ns/event")
		})
	}
}

// BenchmarkSSENamed is Anthropic's form, an event line before each data line.
func BenchmarkSSENamed(b *testing.B) {
	stream := bytes.Repeat([]byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"+
		"\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n"), 1000)
	for _, size := range []int{len(stream) / 1000, 4 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			ps := pieces(stream, size)
			d, _ := New("sse", Options{})
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				decodeAll(d, ps, func(Frame) {})
			}
		})
	}
}

func BenchmarkIndexByte(b *testing.B) {
	for _, bp := range benchPieces {
		b.Run(bp.name, func(b *testing.B) {
			ps := benchStream(b, bp.size)
			lines := 0
			for b.Loop() {
				lines += scanAll(ps)
			}
			b.ReportMetric(b.Elapsed().Seconds()*2e9/float64(lines), "ns/event")
		})
	}
}

func decodeAll(d Decoder, ps [][]byte, emit func(Frame)) {
	for _, p := range ps {
		if err := d.Feed(p, emit); err != nil {
			panic(err)
		}
	}
}

// scanAll is the yardstick: the least any line decoder can do.
func scanAll(ps [][]byte) (lines int) {
	for _, p := range ps {
		for len(p) > 0 {
			i := bytes.IndexByte(p, '\n')
			if i < 0 {
				break
			}
			lines++
			p = p[i+1:]
		}
	}
	return lines
}

// BenchmarkRatio times both in turn over the same bytes in the same pieces and
// reports the median of decoder speed ÷ yardstick speed: noise of the machine
// falls on both.
func BenchmarkRatio(b *testing.B) {
	for _, bp := range benchPieces {
		b.Run(bp.name, func(b *testing.B) {
			stream, _ := openAIChunks(512) // 102,400 bytes stay in the cache, as bytes just read do
			ps := pieces(stream, bp.size)
			d, _ := New("sse", Options{})
			events := 0
			emit := func(f Frame) { events += int(f.Kind) + 1 }
			var ratios []float64
			lines := 0
			for b.Loop() {
				const passes = 50
				t0 := time.Now()
				for range passes {
					lines += scanAll(ps)
				}
				t1 := time.Now()
				for range passes {
					decodeAll(d, ps, emit)
				}
				ratios = append(ratios, float64(t1.Sub(t0))/float64(time.Since(t1)))
			}
			if lines != 2*events {
				b.Fatalf("%d line ends, %d events: not the same work", lines, events)
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "of-IndexByte")
		})
	}
}
