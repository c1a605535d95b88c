package load

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"weir/stream"
	"weir/tap"
)

// Live counts a load while it runs, for a view of it. Final figures never come
// from here. All methods are safe for concurrent use, and do nothing on nil.
type Live struct {
	dues, sent, done, dropped, ownDrops, queued, inFlight, events atomic.Int64

	mu       sync.Mutex
	now      Phase
	shard    Shard
	since    time.Time
	outcomes map[stream.Outcome]int
	late     *hdrhistogram.Histogram // µs
	ttft     *hdrhistogram.Histogram
	gaps     *hdrhistogram.Histogram
}

// NewLive returns counters at zero.
func NewLive() *Live {
	h := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3) }
	return &Live{outcomes: map[stream.Outcome]int{}, late: h(), ttft: h(), gaps: h()}
}

// Quantiles of a live histogram, in ms; missing where there is no value.
type Quantiles struct{ P50, P95, P99 stream.Maybe[float64] }

// Snapshot is the counters at a moment.
type Snapshot struct {
	Phase        string
	Arrivals     string
	PhaseElapsed time.Duration
	PhaseSpan    time.Duration // 0 = by requests
	PlannedRate  float64       // arrivals a second at this moment, of this shard; 0 where none is planned

	Due, Sent, Done, Dropped, OwnDrops, Queued, InFlight int
	Events                                               int // of output

	Outcomes map[stream.Outcome]int
	Lateness Quantiles // from due to begun
	TTFT     Quantiles // from sent: while it runs, of streams that spoke
	Gaps     Quantiles // between arrivals of output
}

// Snapshot reads the counters.
func (l *Live) Snapshot() Snapshot {
	if l == nil {
		return Snapshot{}
	}
	s := Snapshot{
		Due: int(l.dues.Load()), Sent: int(l.sent.Load()), Done: int(l.done.Load()), Dropped: int(l.dropped.Load()),
		OwnDrops: int(l.ownDrops.Load()), Queued: int(l.queued.Load()), InFlight: int(l.inFlight.Load()),
		Events: int(l.events.Load()), Outcomes: map[stream.Outcome]int{},
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for o, n := range l.outcomes {
		s.Outcomes[o] = n
	}
	s.Lateness, s.TTFT, s.Gaps = quantilesOf(l.late), quantilesOf(l.ttft), quantilesOf(l.gaps)
	if l.since.IsZero() {
		return s
	}
	s.Phase, s.Arrivals, s.PhaseElapsed, s.PhaseSpan = l.now.Name, l.now.Kind(), time.Since(l.since), l.now.Span()
	_, shards := l.shard.of()
	if l.now.Open() && l.now.Kind() != KindTrace {
		s.PlannedRate = l.now.curve().at(s.PhaseElapsed.Seconds()) / float64(shards)
	}
	return s
}

func quantilesOf(h *hdrhistogram.Histogram) Quantiles {
	if h.TotalCount() == 0 {
		return Quantiles{}
	}
	at := func(q float64) stream.Maybe[float64] { return stream.Some(float64(h.ValueAtQuantile(q)) / 1000) }
	return Quantiles{at(50), at(95), at(99)}
}

func (l *Live) phase(p Phase, shard Shard) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now, l.shard, l.since = p, shard, time.Now()
}

func (l *Live) due(a admission) {
	if l == nil {
		return
	}
	l.dues.Add(1)
	switch a {
	case full:
		l.dropped.Add(1)
		l.outcome(stream.Dropped)
	case short:
		l.ownDrops.Add(1)
	case waiting:
		l.queued.Add(1)
	}
}

func (l *Live) started(a *arrival) {
	if l == nil {
		return
	}
	l.sent.Add(1)
	l.inFlight.Add(1)
	if a.scheduled.IsZero() {
		return
	}
	late := time.Since(a.scheduled)
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.late.RecordValue(max(1, late.Microseconds())) // beyond an hour: not shown
}

func (l *Live) ended(records []*stream.Record) {
	if l == nil {
		return
	}
	l.inFlight.Add(-1)
	l.done.Add(1)
	if len(records) == 0 {
		return // it could not be asked
	}
	worst := stream.Outcome("")
	for _, r := range records {
		worst = stream.Worst(worst, r.Outcome)
	}
	l.outcome(worst)
}

func (l *Live) outcome(o stream.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[o]++
}

// newMarker watches every answer as it comes, through the place where probe
// takes marks; nil where nobody looks.
func (l *Live) newMarker() func() tap.Marker {
	if l == nil {
		return nil
	}
	return func() tap.Marker { return &glance{live: l} }
}

// glance follows one answer for the live view.
type glance struct {
	live    *Live
	spoke   bool
	at      time.Duration
	arrival int
}

// Mark never marks; it looks.
func (g *glance) Mark(e *stream.Event) []string {
	if !e.Kind.Business() {
		return nil
	}
	g.live.events.Add(1)
	if g.spoke && e.Arrival == g.arrival {
		return nil // inside an arrival the gap is not known
	}
	h, d := g.live.ttft, e.At
	if g.spoke {
		h, d = g.live.gaps, e.At-g.at
	}
	g.spoke, g.at, g.arrival = true, e.At, e.Arrival
	g.live.mu.Lock()
	defer g.live.mu.Unlock()
	_ = h.RecordValue(max(1, d.Microseconds())) // beyond an hour: not shown
	return nil
}
