package judge

import (
	"slices"
	"time"

	"weir/stream"
)

// matcher recognises the events that a rule's name means.
type matcher struct {
	name   string
	mark   bool
	kind   stream.Kind
	isKind bool
}

// newMatcher resolves a name: a mark of the scenario, else anything that an
// event is called.
func newMatcher(name string, marks []string) matcher {
	m := matcher{name: name, mark: slices.Contains(marks, name)}
	m.kind, m.isKind = stream.ParseKind(name)
	return m
}

func (m matcher) is(e *stream.Event) bool {
	if m.mark {
		return slices.Contains(e.Marks, m.name)
	}
	return e.Name == m.name || e.Tool == m.name || m.isKind && e.Kind == m.kind
}

// kept is how a stream stands to a rule.
type kept uint8

const (
	fine kept = iota
	broken
	censored // we cut the stream before it was decided
)

// finding is what one stream bears against one rule.
type finding struct {
	is   kept
	came [2]bool // which of the rule's names came
}

func (w *watched) judge(r *stream.Record) finding {
	switch {
	case w.When != "":
		return w.inTime(r)
	case w.Never != "":
		return w.notBefore(r)
	}
	return w.notMore(r)
}

// inTime follows when, then, within. Of several whens that wait, the first
// waits longest, so that it alone decides.
func (w *watched) inTime(r *stream.Record) finding {
	var f finding
	var since time.Duration
	waits := false
	for i := range r.Events {
		e := &r.Events[i]
		if w.names[0].is(e) {
			f.came[0] = true
			if !waits {
				since, waits = e.At, true
			}
		}
		if !w.names[1].is(e) {
			continue
		}
		f.came[1] = true
		if waits && w.Within > 0 && e.At-since > w.Within {
			f.is = broken
		}
		waits = false
	}
	if waits && f.is != broken {
		f.is = w.unanswered(r, since)
	}
	return f
}

// unanswered is a when whose then had not come by the end of what was seen: a
// violation, unless what we did not see might have had it in time.
func (w *watched) unanswered(r *stream.Record, since time.Duration) kept {
	if r.Outcome != stream.Unknown && !r.Outcome.Ours() && !r.Truncated {
		return broken // it ended by itself: nothing more can come
	}
	if end, ok := seenUntil(r); ok && w.Within > 0 && end-since > w.Within {
		return broken
	}
	return censored
}

// seenUntil is how long the stream was watched.
func seenUntil(r *stream.Record) (time.Duration, bool) {
	n := len(r.Events)
	if end, ok := r.End.Get(); ok && !r.Truncated {
		return end, true
	}
	if n == 0 {
		return 0, false
	}
	return r.Events[n-1].At, true
}

// notBefore follows never, before. Where the stream was cut nothing was broken
// in what was seen, and the rule asks for nothing to come.
func (w *watched) notBefore(r *stream.Record) finding {
	var f finding
	for i := range r.Events {
		e := &r.Events[i]
		f.came[1] = f.came[1] || w.names[1].is(e)
		if !w.names[0].is(e) {
			continue
		}
		f.came[0] = true
		if !f.came[1] {
			f.is = broken
		}
	}
	return f
}

// notMore follows at_most, of.
func (w *watched) notMore(r *stream.Record) finding {
	var f finding
	n := 0
	for i := range r.Events {
		if w.names[0].is(&r.Events[i]) {
			n++
		}
	}
	f.came[0] = n > 0
	if n > w.AtMost {
		f.is = broken
	}
	return f
}
