package eventlog

import (
	"fmt"

	"weir/stream"
)

// adapt reads an event under the names of the article's log: its event_seq is
// the service's and its time_ms is service time.
func (b *builder) adapt(e *stream.Event, l *eventLine) {
	if !e.ServiceSeq.Known() {
		e.ServiceSeq = l.EventSeq
	}
	if !e.ServiceTime.Known() {
		e.ServiceTime = l.Time.Maybe
	}
	e.Seq = len(b.rec.Events) + 1
	e.Read, e.Arrival = 0, 0
	switch {
	case e.Kind == stream.KindOther && e.Note == "":
		e.Note = fmt.Sprintf("event_type %s is not known", clip(l.EventType))
	case string(l.Batch) == "1" || string(l.Batch) == "true":
		e.Note = "the log marks it as batched" // kept; it makes no gap unknown (METRICS §1)
	}
	if e.Kind == stream.KindOther && e.Name == "" {
		e.Name = l.EventType
	}
}

// conclude says how a stream without an end line ended, where its events do:
// an error event, or a done event. Otherwise the outcome stays unknown.
func (b *builder) conclude() {
	r := b.rec
	spoke, done := false, false
	for i := range r.Events {
		e := &r.Events[i]
		switch {
		case e.Kind.Business():
			spoke = true
		case e.Kind == stream.KindError && !(e.Fault != nil && e.Fault.Recoverable):
			r.Outcome, r.Reason, r.Fault = stream.ErrorEarly, "in_band", e.Fault
			if spoke {
				r.Outcome = stream.ErrorMid
			}
			return
		case e.Kind == stream.KindDone:
			done = true
			r.Proof = max(r.Proof, e.Proof)
			if e.Finish != "" {
				r.Finish = e.Finish
			}
		}
		if e.Usage != nil {
			r.Usage = e.Usage
		}
	}
	if !done {
		return
	}
	r.Proof = max(r.Proof, stream.ProofTerminal)
	if r.Outcome = stream.Complete; holes(r.Events) {
		r.Outcome = stream.Gapped
	}
}

// holes reports whether the service's numbering misses an event.
func holes(events []stream.Event) bool {
	var low, high int64
	seen := map[int64]bool{}
	for i := range events {
		n, ok := events[i].ServiceSeq.Get()
		if !ok {
			continue
		}
		if len(seen) == 0 {
			low, high = n, n
		}
		low, high = min(low, n), max(high, n)
		seen[n] = true
	}
	return len(seen) > 0 && uint64(high-low)+1 != uint64(len(seen))
}
