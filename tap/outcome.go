package tap

import (
	"slices"
	"time"

	"weir/stream"
)

// settle decides how one answer ended: the first rule of METRICS §7 that holds.
func settle(r *stream.Record, c stream.Closing, end stream.End) {
	s := survey(r.Events)
	r.Finish, r.HangAt = s.finish, hang(r.Events, c.At)
	if c.Detail != "" {
		r.Detail = c.Detail
	}
	proof := proven(s, c, end)
	switch fault := s.fault; {
	case c.How == stream.Failed:
		r.Outcome, r.Reason, r.Fault = spoken(s.spoke, stream.ErrorMid, stream.ErrorEarly), c.Reason, s.fault
	case fault != nil && !(fault.Recoverable && proof > stream.ProofNone):
		r.Outcome, r.Reason, r.Fault = spoken(s.spokeBeforeFault, stream.ErrorMid, stream.ErrorEarly), "in_band", fault
	case proof > stream.ProofNone:
		r.Outcome, r.Proof = stream.Complete, proof
		if holes(r.Events, end) {
			r.Outcome = stream.Gapped
		}
	case c.How == stream.UserStop:
		r.Outcome, r.Reason = stream.Cancelled, c.Reason
	case c.How == stream.Broken:
		r.Outcome, r.Reason = stream.Reset, c.Reason
	case c.How == stream.CleanEOF:
		r.Outcome, r.Reason = cleanEnd(r, s)
	default:
		r.Outcome = spoken(s.spoke && c.At-s.lastBusiness < hangAfter, stream.Timeout, stream.Hung)
	}
}

func spoken(yes bool, then, otherwise stream.Outcome) stream.Outcome {
	if yes {
		return then
	}
	return otherwise
}

// cleanEnd names a clean EOF without proof of the end.
func cleanEnd(r *stream.Record, s facts) (stream.Outcome, string) {
	switch {
	case r.Whole && !s.spoke:
		return stream.ErrorEarly, "not_a_stream"
	case r.Facts.BodyBytes == 0 && len(r.Events) == 0:
		return stream.Truncated, "empty"
	}
	return stream.Truncated, ""
}

// facts are what an answer's events add up to.
type facts struct {
	spoke            bool
	spokeBeforeFault bool
	lastBusiness     time.Duration
	fault            *stream.Fault // the first the protocol does not call recoverable, else the first
	proof            stream.Proof
	finish           string
}

func survey(events []stream.Event) facts {
	var s facts
	for i := range events {
		e := &events[i]
		switch {
		case e.Kind.Business():
			s.spoke, s.lastBusiness = true, e.At
		case e.Kind == stream.KindError:
			f := e.Fault
			if f == nil {
				f = &stream.Fault{}
			}
			if s.fault == nil || s.fault.Recoverable && !f.Recoverable {
				s.fault, s.spokeBeforeFault = f, s.spoke
			}
		case e.Kind == stream.KindDone:
			s.proof = max(s.proof, e.Proof)
			if e.Finish != "" {
				s.finish = e.Finish
			}
		case e.Kind == stream.KindRestart:
			s.proof, s.finish = stream.ProofNone, ""
		}
	}
	return s
}

// proven says what proves the end of the answer. A dialect without an end mark
// is proven by a clean EOF, if it said anything.
func proven(s facts, c stream.Closing, end stream.End) stream.Proof {
	if s.proof > stream.ProofNone {
		return s.proof
	}
	if end.ByEOF && c.How == stream.CleanEOF && s.spoke {
		return stream.ProofTransport
	}
	return stream.ProofNone
}

// holes reports whether the service's own numbering misses a number, the first
// and last included where the protocol states them. Repeats and disorder are
// no holes.
func holes(events []stream.Event, end stream.End) bool {
	var seqs []int64
	for i := range events {
		if n, ok := events[i].ServiceSeq.Get(); ok {
			seqs = append(seqs, n)
		}
	}
	if len(seqs) == 0 {
		return false
	}
	slices.Sort(seqs)
	if first, ok := end.FirstSeq.Get(); ok && seqs[0] > first {
		return true
	}
	if last, ok := end.LastSeq.Get(); ok && seqs[len(seqs)-1] < last {
		return true
	}
	for i := 1; i < len(seqs); i++ {
		if seqs[i]-seqs[i-1] > 1 {
			return true
		}
	}
	return false
}

// hang says when business silence first reached hangAfter: only a suspicion.
func hang(events []stream.Event, end time.Duration) stream.Maybe[time.Duration] {
	var last time.Duration
	for i := range events {
		e := &events[i]
		if !e.Kind.Business() && e.Kind != stream.KindDone && e.Kind != stream.KindError {
			continue
		}
		if e.At-last >= hangAfter {
			return stream.Some(last + hangAfter)
		}
		last = e.At
		if e.Kind == stream.KindDone {
			return stream.None[time.Duration]()
		}
	}
	if end-last >= hangAfter {
		return stream.Some(last + hangAfter)
	}
	return stream.None[time.Duration]()
}
