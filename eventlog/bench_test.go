package eventlog

import (
	"testing"
	"time"

	"weir/stream"
)

// What logging costs a run: nanoseconds and allocations per event.
func BenchmarkAppendRecord(b *testing.B) {
	r := sample("req_0001")
	const n = 200
	r.Events, r.Reads, r.Arrivals = nil, nil, nil
	for i := range n {
		at := time.Duration(i) * 20 * time.Millisecond
		r.Reads = append(r.Reads, stream.Read{At: at, App: at, Waited: true})
		r.Arrivals = append(r.Arrivals, stream.Arrival{At: at, Bytes: 180, Reads: 1})
		r.Events = append(r.Events, stream.Event{Kind: stream.KindText, Seq: i + 1, At: at, Read: i + 1, Arrival: i + 1,
			Text: " word", Chars: stream.Some(5), Visible: stream.Some(4), Wide: stream.Some(0), Bytes: 180})
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = AppendRecord(buf[:0], r, false); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
	b.ReportMetric(float64(len(buf))/n, "bytes/event")
}
