package metric

import (
	"time"

	"weir/stream"
)

// Series is the business side of a stream in time: the arrivals that held
// business events and the gaps between them.
type Series struct {
	Bursts []Burst
	Gaps   []Gap // in order of time; the open gap, if any, is the last
}

// Burst is an arrival that held business events.
type Burst struct {
	At     time.Duration // since t0: stamp of its first read
	Events int           // business events in it
	Bytes  int           // of the whole arrival; 0 where unknown
}

// Gap is the time from one burst to the next, or the open gap from the last
// output of an unfinished stream to its end.
type Gap struct {
	From, To time.Duration
	After    int    // business events before it: its position in the answer
	Phase    string // the stage or tool event it holds; "" = an ordinary gap
	Open     bool
}

// Length is how long the gap lasted (of an open one: at least).
func (g Gap) Length() time.Duration { return g.To - g.From }

// Observe reads the series of a record. An answer that came as one body is one
// burst. Where a log's times fall, the gap is unknown and left out.
func Observe(r *stream.Record) Series {
	return observe(r, clock{
		at:       func(e *stream.Event) time.Duration { return arrivalTime(r, e) },
		together: func(a, b *stream.Event) bool { return together(r, a, b) },
		open:     true,
	})
}

// clock says by whose stamps a series is read.
type clock struct {
	at       func(*stream.Event) time.Duration
	together func(a, b *stream.Event) bool
	open     bool // the end of the stream is on this clock too
}

func observe(r *stream.Record, c clock) Series {
	n := min(len(r.Arrivals), len(r.Events)) // 0 in a log without reads
	s := Series{Bursts: make([]Burst, 0, n), Gaps: make([]Gap, 0, n)}
	var prev *stream.Event // last business event
	stage, seen := "", 0
	for i := range r.Events {
		e := &r.Events[i]
		if e.Kind == stream.KindStage {
			stage = stageName(e)
		}
		if !e.Kind.Business() {
			continue
		}
		if prev == nil || !c.together(prev, e) {
			b := Burst{At: c.at(e), Bytes: arrivalBytes(r, e)}
			if prev != nil {
				g := Gap{From: s.Bursts[len(s.Bursts)-1].At, To: b.At, After: seen, Phase: phaseOf(stage, prev, e)}
				if g.Length() >= 0 {
					s.Gaps = append(s.Gaps, g)
				}
			}
			s.Bursts = append(s.Bursts, b)
		}
		s.Bursts[len(s.Bursts)-1].Events++
		prev, stage = e, ""
		seen++
	}
	if c.open {
		s.addOpen(r, prev, seen, stage)
	}
	return s
}

// addOpen adds the gap from the last output to the end of a stream that spoke
// and did not complete.
func (s *Series) addOpen(r *stream.Record, last *stream.Event, seen int, stage string) {
	end, ok := r.End.Get()
	if last == nil || !ok || r.Outcome == stream.Unknown || r.Outcome.Ended() || end < last.At {
		return
	}
	s.Gaps = append(s.Gaps, Gap{From: last.At, To: end, After: seen, Phase: stage, Open: true})
}

func stageName(e *stream.Event) string {
	if e.Name == "" {
		return stream.KindStage.String()
	}
	return e.Name
}

// phaseOf names what a gap between two business events holds: a stage event
// that stood between them, or a tool call that begins or ends there.
func phaseOf(stage string, before, after *stream.Event) string {
	if stage != "" {
		return stage
	}
	if (before.Kind == stream.KindTool) != (after.Kind == stream.KindTool) {
		return stream.KindTool.String()
	}
	return ""
}

// together reports whether two events, a before b, came in one arrival: by its
// number where both have one, else (a log without reads) by equal times.
func together(r *stream.Record, a, b *stream.Event) bool {
	switch {
	case r.Whole:
		return true
	case !r.NoReads && a.Arrival > 0 && b.Arrival > 0:
		return a.Arrival == b.Arrival
	}
	return a.At == b.At
}

// arrivalTime is the stamp of the first read of the event's arrival.
func arrivalTime(r *stream.Record, e *stream.Event) time.Duration {
	if a := arrivalOf(r, e); a != nil {
		return a.At
	}
	return e.At
}

func arrivalBytes(r *stream.Record, e *stream.Event) int {
	if a := arrivalOf(r, e); a != nil {
		return a.Bytes
	}
	return 0
}

func arrivalOf(r *stream.Record, e *stream.Event) *stream.Arrival {
	if r.NoReads || e.Arrival < 1 || e.Arrival > len(r.Arrivals) {
		return nil
	}
	return &r.Arrivals[e.Arrival-1]
}

// known are the lengths, in ms, of the gaps that make up the rhythm: neither
// open nor holding a phase.
func (s Series) known() []float64 {
	out := make([]float64, 0, len(s.Gaps))
	for _, g := range s.Gaps {
		if !g.Open && g.Phase == "" {
			out = append(out, ms(g.Length()))
		}
	}
	return out
}

// withZeros are the known gaps and a 0 for each unknown one inside an arrival:
// what tools that time every event by itself would see.
func (s Series) withZeros() []float64 {
	out := s.known()
	for _, b := range s.Bursts {
		out = append(out, make([]float64, b.Events-1)...)
	}
	return out
}

// stallable are the gaps in which a stream may have stalled: the known ones
// and the open one.
func (s Series) stallable() []Gap {
	out := make([]Gap, 0, len(s.Gaps))
	for _, g := range s.Gaps {
		if g.Phase == "" {
			out = append(out, g)
		}
	}
	return out
}

// open is the open gap.
func (s Series) open() (Gap, bool) {
	if n := len(s.Gaps); n > 0 && s.Gaps[n-1].Open {
		return s.Gaps[n-1], true
	}
	return Gap{}, false
}
