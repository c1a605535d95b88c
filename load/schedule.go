package load

import (
	"errors"
	"fmt"
	"time"
)

// Schedule says when arrivals are due: absolute offsets from the phase's
// start, never falling; false after the last. It is pure: no clock, and the
// same seed gives the same times.
type Schedule interface {
	Next() (due time.Duration, ok bool)
}

// Schedule is the phase's arrivals for one shard, warm-up included. A trace
// must have been read by Load. A closed or single phase has none: its arrivals
// follow from the answers.
func (p Phase) Schedule(seed uint64, shard Shard) (Schedule, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := shard.validate(); err != nil {
		return nil, err
	}
	whole, err := p.whole(seed)
	if err != nil {
		return nil, err
	}
	number, count := shard.of()
	if count == 1 {
		return whole, nil
	}
	return &part{whole: whole, skip: number, every: count}, nil
}

func (p Phase) whole(seed uint64) (Schedule, error) {
	switch {
	case !p.Open():
		return nil, fmt.Errorf("arrivals %s has no schedule: the next request follows from the answer before", p.Kind())
	case p.Kind() == KindTrace && p.trace == nil:
		return nil, errors.New("the trace was not read yet: call Load first")
	case p.Kind() == KindTrace:
		return &replay{trace: p.trace, end: p.Span()}, nil
	}
	return &shaped{curve: p.curve(), arrive: p.process(seed), end: p.Span()}, nil
}

// shaped is a process stretched to a curve.
type shaped struct {
	curve  curve
	arrive process
	end    time.Duration
	at     int // stretch of the curve reached so far
}

func (s *shaped) Next() (time.Duration, bool) {
	due, at, ok := s.curve.when(s.arrive(), s.at)
	s.at = at
	return due, ok && due < s.end
}

// replay is the times of a trace.
type replay struct {
	trace []traced
	end   time.Duration
	next  int
}

func (r *replay) Next() (time.Duration, bool) {
	if r.next >= len(r.trace) || r.trace[r.next].at >= r.end {
		return 0, false
	}
	r.next++
	return r.trace[r.next-1].at, true
}

// part is every n-th arrival of a schedule.
type part struct {
	whole       Schedule
	skip, every int
	begun       bool
}

func (p *part) Next() (due time.Duration, ok bool) {
	n := p.every
	if !p.begun {
		n, p.begun = p.skip+1, true
	}
	for range n {
		if due, ok = p.whole.Next(); !ok {
			return 0, false
		}
	}
	return due, true
}

// phaseSeed gives every phase of a run arrivals of its own.
func phaseSeed(seed uint64, phase int) uint64 { return mix(seed + uint64(phase)*0x9e3779b97f4a7c15) }
