package diagnose

import "weir/stream"

// flush is one arrival as the sender's side may have made it.
type flush struct {
	at       float64 // ms
	bytes    float64
	frames   int
	business int
	last     float64 // bytes of the last frame it completed
	next     float64 // bytes of the first frame the next arrival completed
	cut      bool    // it ended inside a frame
}

// train is the flushes of one answer. The last is whatever was left at the
// end, so it says nothing of a rule that ended the others.
type train struct {
	flushes  []flush
	cutKnown bool // frames account for every byte, so cut means something
}

// flushesOf reads an answer's arrivals.
func flushesOf(r *stream.Record) train {
	t := train{flushes: make([]flush, len(r.Arrivals))}
	frames := make([]float64, len(r.Arrivals)) // bytes of frames completed in each
	total := 0.0
	for i, a := range r.Arrivals {
		t.flushes[i].at, t.flushes[i].bytes = float64(a.At)/1e6, float64(a.Bytes)
		total += float64(a.Bytes)
	}
	for i := range r.Events {
		e := &r.Events[i]
		if e.Arrival < 1 || e.Arrival > len(t.flushes) {
			continue
		}
		f := &t.flushes[e.Arrival-1]
		if e.Kind.Business() {
			f.business++
		}
		if e.Bytes == 0 {
			continue
		}
		f.frames++
		f.last = float64(e.Bytes)
		frames[e.Arrival-1] += f.last
		if e.Arrival > 1 && t.flushes[e.Arrival-2].next == 0 {
			t.flushes[e.Arrival-2].next = f.last
		}
	}
	sent, done := 0.0, 0.0
	for i := range t.flushes {
		sent, done = sent+t.flushes[i].bytes, done+frames[i]
		t.flushes[i].cut = sent != done
	}
	t.cutKnown = done == total
	return t
}

// whole are the flushes before the last.
func (t train) whole() []flush {
	if len(t.flushes) < 2 {
		return nil
	}
	return t.flushes[:len(t.flushes)-1]
}
