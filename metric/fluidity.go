package metric

import (
	"math"
	"time"

	"weir/stat"
	"weir/stream"
)

// Deadlines of fluidity_index (METRICS §6, a choice).
const (
	fluidFirst = 2 * time.Second       // D_p: the first token
	fluidNext  = 50 * time.Millisecond // D_d: each further one
)

// What fluidity_index counted.
const (
	ByTokens = "tokens"
	ByChars  = "chars"
)

type fluidity struct {
	index Value
	basis string
}

// deadlines plays a stream of tokens against their deadlines as Etalon's code
// does: time saved is slack for the next, a late token costs every deadline it
// ran over and the slack.
type deadlines struct {
	slack       time.Duration
	met, missed float64
	started     bool
}

// token is one that came t after the one before; each further one has the
// deadline next.
func (d *deadlines) token(t, next time.Duration) {
	due := next
	if !d.started {
		due, d.started = fluidFirst, true
	}
	if t <= due+d.slack {
		d.met++
		d.slack += due - t
		return
	}
	d.miss(t, due, next)
}

func (d *deadlines) miss(t, due, next time.Duration) {
	over := math.Floor(float64(t-d.slack-due) / float64(next))
	d.missed += max(1, over+1) // below 0 only where an unfinished stream ended before its next deadline
	d.slack = 0
}

// fluidity is by tokens where every business event counts its own, else by the
// characters of the text.
func (v *view) fluidity() fluidity {
	if v.r.Whole && v.spoke() || v.r.Outcome == stream.Dropped {
		return fluidity{}
	}
	if !v.spoke() {
		if v.r.Outcome == stream.Unknown {
			return fluidity{}
		}
		return fluidity{index: stat.At(0)}
	}
	if f, ok := v.playTokens(); ok {
		return f
	}
	return v.playChars()
}

func (v *view) playTokens() (fluidity, bool) {
	var d deadlines
	var prev time.Duration
	for _, e := range v.business {
		n, ok := e.Tokens.Get()
		if !ok {
			return fluidity{}, false
		}
		for i := range n {
			if i == 0 {
				d.token(e.At-prev, fluidNext)
				prev = e.At
			} else {
				d.token(0, fluidNext)
			}
		}
	}
	if !d.started {
		return fluidity{}, false // counts of 0 throughout count nothing
	}
	v.lateEnd(&d, prev, fluidNext)
	return d.result(ByTokens), true
}

// playChars gives each character the time a reader takes for it.
func (v *view) playChars() fluidity {
	var d deadlines
	var prev time.Duration
	last := readOther
	for _, e := range v.business {
		if e.Kind != stream.KindText {
			continue
		}
		chars, ok := e.Chars.Get()
		wide, ok2 := e.Wide.Get()
		if !ok || !ok2 {
			return fluidity{}
		}
		for i := range chars {
			last = readOther
			if i < wide {
				last = readWide
			}
			if i == 0 {
				d.token(e.At-prev, last)
				prev = e.At
			} else {
				d.token(0, last)
			}
		}
	}
	if !d.started {
		return fluidity{}
	}
	v.lateEnd(&d, prev, last)
	return d.result(ByChars)
}

// lateEnd counts the open gap of an unfinished stream as one more late token.
func (v *view) lateEnd(d *deadlines, prev, next time.Duration) {
	if end, ok := v.r.End.Get(); ok && v.unfinished() {
		d.miss(end-prev, next, next)
	}
}

func (d *deadlines) result(basis string) fluidity {
	return fluidity{index: stat.At(d.met / (d.met + d.missed)), basis: basis}
}
