package report

import (
	"slices"
	"strings"
	"time"

	"weir/metric"
	"weir/stream"
)

// What the characters of a strip mean.
const (
	stripOutput    = '#' // output arrived, much of it
	stripSome      = '+' // output arrived, under a quarter of the fullest column
	stripReasoning = '~' // only reasoning arrived
	stripSilence   = '.' // the stream was open and gave nothing for longer than its rhythm
	stripCut       = 'x' // it ended here without completing
)

// Strip draws the arrivals of one stream over time in cols columns between
// bars: |.........########|. span is the time of the whole width, so that
// several streams can share a scale; 0 means the stream's own length. What
// lies after the end is blank.
func Strip(r *stream.Record, cols int, span time.Duration) string {
	cols = max(cols, 1)
	end := Length(r)
	if span <= 0 {
		span = max(end, 1)
	}
	last := column(max(end-1, 0), span, cols) // what ends on a border ends before it
	line := make([]byte, cols)
	for i := range line {
		line[i] = ' '
		if i <= last && r.Outcome != stream.Dropped {
			line[i] = stripSilence
		}
	}
	fillStrip(line, r, span)
	if r.Outcome != stream.Unknown && !r.Outcome.Ended() {
		line[last] = stripCut
	}
	return "|" + string(line) + "|"
}

func fillStrip(line []byte, r *stream.Record, span time.Duration) {
	events, spoken := make([]int, len(line)), make([]int, len(line))
	most := 0
	for i := range r.Events {
		e := &r.Events[i]
		if !e.Kind.Business() {
			continue
		}
		c := column(arrivalTime(r, e), span, len(line))
		events[c]++
		most = max(most, events[c])
		if e.Kind != stream.KindReasoning {
			spoken[c]++
		}
	}
	flow(events, r, span)
	for c, n := range events {
		switch {
		case n == 0:
		case spoken[c] == 0 && n > 0:
			line[c] = stripReasoning
		case n == inFlow:
			line[c] = line[c-1]
		case 4*n < most:
			line[c] = stripSome
		default:
			line[c] = stripOutput
		}
	}
}

// silence is how long a gap must be to be drawn as one, whatever the rhythm:
// a reader sees it.
const silence = 200 * time.Millisecond

// inFlow marks a column that is empty only because columns are narrower than
// the stream's own rhythm.
const inFlow = -1

// flow marks the columns inside gaps of ordinary length, which are not silence.
func flow(events []int, r *stream.Record, span time.Duration) {
	gaps := metric.Observe(r).Gaps
	usual := usualGap(gaps)
	for _, g := range gaps {
		if g.Open || g.Length() > 2*usual || g.Length() >= silence {
			continue
		}
		for c := column(g.From, span, len(events)) + 1; c < column(g.To, span, len(events)); c++ {
			if events[c] == 0 {
				events[c] = inFlow
			}
		}
	}
}

// usualGap is the median of the closed gaps.
func usualGap(gaps []metric.Gap) time.Duration {
	var lengths []time.Duration
	for _, g := range gaps {
		if !g.Open {
			lengths = append(lengths, g.Length())
		}
	}
	if len(lengths) == 0 {
		return 0
	}
	slices.Sort(lengths)
	return lengths[(len(lengths)-1)/2]
}

// Length is how long a stream is known to have lasted: to its end, else to its
// last event or the last thing that is known of it.
func Length(r *stream.Record) time.Duration {
	if end, ok := r.End.Get(); ok {
		return end
	}
	length := max(r.Phases.Headers.Or(0), r.Phases.FirstByte.Or(0))
	if n := len(r.Events); n > 0 {
		length = max(length, r.Events[n-1].At)
	}
	return length
}

// arrivalTime is when an event's arrival began, as the rhythm counts it.
func arrivalTime(r *stream.Record, e *stream.Event) time.Duration {
	if !r.NoReads && e.Arrival > 0 && e.Arrival <= len(r.Arrivals) {
		return r.Arrivals[e.Arrival-1].At
	}
	return e.At
}

// column is where a time falls among cols columns of span.
func column(at, span time.Duration, cols int) int {
	c := int(float64(at) / float64(span) * float64(cols))
	return min(max(c, 0), cols-1)
}

// stripLegend explains the characters that stand in a strip.
func stripLegend(strip string) string {
	seen := map[rune]bool{}
	for _, c := range strip {
		seen[c] = true
	}
	legend := ""
	for _, c := range []struct {
		r    rune
		text string
	}{
		{stripOutput, "# output"}, {stripSome, "+ a little"}, {stripReasoning, "~ reasoning"},
		{stripSilence, ". silence"}, {stripCut, "x cut"},
	} {
		if seen[c.r] {
			legend += c.text + "   "
		}
	}
	return strings.TrimRight(legend, " ")
}

// longest is the longest stream of a list: the span of a common scale.
func longest(rs []*stream.Record) time.Duration {
	var span time.Duration
	for _, r := range rs {
		span = max(span, Length(r))
	}
	return span
}

// reached gives a metric of a record as a duration, where it was reached.
func reached(v metric.Values, name string) (time.Duration, bool) {
	x, ok := v.Get(name).Get()
	return time.Duration(x * float64(time.Millisecond)), ok
}
