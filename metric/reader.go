package metric

import (
	"time"

	"weir/stat"
	"weir/stream"
)

// How long a reader takes for a character (METRICS §6, a choice).
const (
	readWide  = time.Second / 8  // Han, kana, hangul
	readOther = time.Second / 15 // any other
)

var readerMetrics = []Metric{
	{Name: "pacing_delay", Unit: "ms", JSON: "pacing_delay_ms", Better: Lower, Basis: Rhythm, of: func(v *view) Value { return v.reading.delay },
		Doc: "smallest delay after which a reader of the text never runs dry; equally the time starved by one who starts at once"},
	{Name: "starved_count", Unit: "count", JSON: "starved_count", Better: Lower, Basis: Rhythm, of: func(v *view) Value { return v.reading.count },
		Doc: "dry spells of a reader who starts at the first text"},
	{Name: "starved_max", Unit: "ms", JSON: "starved_max_ms", Better: Lower, Basis: Rhythm, of: func(v *view) Value { return v.reading.longest },
		Doc: "longest dry spell of a reader who starts at the first text"},
	{Name: "fluidity_index", Unit: "index", JSON: "fluidity_index", Better: Higher, Basis: Fact, of: func(v *view) Value { return v.fluid.index },
		Doc: "tokens that met their deadline ÷ (met + missed), Etalon (arXiv 2407.07000): 2 s for the first, 50 ms for each further one"},
}

type reading struct{ delay, count, longest Value }

// read follows a reader who starts at the first text and reads at a constant
// speed. Their dry spells add up to pacing_delay: the text before event i is
// read at the latest at at_i, or at_i waits in turn (the busy periods of a
// queue that never idles on purpose).
func (v *view) read() reading {
	var r reading
	var free time.Duration // when what came so far is read
	started := false
	total, longest, spells := time.Duration(0), time.Duration(0), 0
	arrive := func(at, takes time.Duration) {
		if started && at > free {
			spells++
			total += at - free
			longest = max(longest, at-free)
		}
		if !started || at > free {
			free = at
		}
		started = true
		free += takes
	}
	for _, e := range v.business {
		if e.Kind != stream.KindText {
			continue
		}
		takes, ok := readingTime(e)
		if !ok {
			return reading{}
		}
		arrive(e.At, takes)
	}
	if !started || v.r.Whole {
		return reading{}
	}
	if end, ok := v.r.End.Get(); ok && v.unfinished() {
		arrive(end, 0)
	}
	r.delay, r.count, r.longest = stat.At(ms(total)), stat.At(float64(spells)), stat.At(ms(longest))
	return r
}

func readingTime(e *stream.Event) (time.Duration, bool) {
	chars, ok := e.Chars.Get()
	wide, ok2 := e.Wide.Get()
	if !ok || !ok2 {
		return 0, false
	}
	return time.Duration(wide)*readWide + time.Duration(max(0, chars-wide))*readOther, true
}
