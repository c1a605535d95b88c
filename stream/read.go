package stream

import "time"

// Stamp says which clock stamped a record's reads.
type Stamp string

// The stamps, best first.
const (
	StampKernel  Stamp = "kernel" // kernel receive time of the socket read
	StampSocket  Stamp = "socket" // when the socket read returned
	StampBody    Stamp = "body"   // when the body or message read returned (HTTP/2, HTTP/3, WebSocket)
	StampUnknown Stamp = ""       // from a log that does not say
)

// Read is one read that brought body bytes.
type Read struct {
	At     time.Duration        // the stamp in use, since t0
	App    time.Duration        // when the read returned, since t0
	Kernel Maybe[time.Duration] // kernel receive time of its newest byte, since t0
	Bytes  int                  // body bytes it brought (after transfer decoding, before content decoding)
	Waited bool                 // it had to wait for data (assumed where that cannot be seen)
	LagMax Maybe[time.Duration] // of a read that did not wait: the most its oldest byte can have waited
}

// Lag is application minus kernel stamp: the wait of the newest byte only.
func (r Read) Lag() Maybe[time.Duration] {
	if k, ok := r.Kernel.Get(); ok {
		return Some(r.App - k)
	}
	return Maybe[time.Duration]{}
}

// Arrival is a group of reads that came as one: one flush of the sender or of
// a relay may take several reads.
type Arrival struct {
	At    time.Duration // stamp of its first read
	Bytes int
	Reads int
}

// ArrivalGap is the least time between the first read of an arrival and a
// read that opens a new one (METRICS §1, a choice).
const ArrivalGap = time.Millisecond

// Grouper assigns reads to arrivals as they come. A read opens a new arrival
// if it had to wait for data and returned at least ArrivalGap after the
// arrival's first read; any other read joins the arrival before it.
// The zero value is ready.
type Grouper struct {
	n        int
	firstApp time.Duration
}

// Add returns the 1-based arrival of the next read.
func (g *Grouper) Add(r Read) int {
	if g.n == 0 || (r.Waited && r.App-g.firstApp >= ArrivalGap) {
		g.n, g.firstApp = g.n+1, r.App
	}
	return g.n
}

// Arrivals groups the reads of a whole response.
func Arrivals(reads []Read) []Arrival {
	var all []Arrival
	var g Grouper
	for _, r := range reads {
		n := g.Add(r)
		if n > len(all) {
			all = append(all, Arrival{At: r.At})
		}
		all[n-1].Bytes += r.Bytes
		all[n-1].Reads++
	}
	return all
}
