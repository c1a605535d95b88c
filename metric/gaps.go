package metric

import (
	"slices"
	"time"

	"weir/stat"
	"weir/stream"
)

// StallAfter is the length above which a gap is a stall (METRICS §6, a choice).
const StallAfter = time.Second

var gapMetrics = slices.Concat(
	family("gap", Lower, "gaps between arrivals that hold business events, phase gaps left out", func(v *view) lengths { return v.gaps }),
	[]Metric{{Name: "gap_max", Unit: "ms", JSON: "gap_max_ms", Better: Lower, Basis: Rhythm, of: (*view).gapMax,
		Doc: "longest gap, the open gap of an unfinished stream included"}},
	family("gap0", Neither, "the gaps with the unknown ones inside an arrival counted as 0, as tools that time every event see them", func(v *view) lengths { return v.gaps0 }),
	[]Metric{{Name: "gap0_max", Unit: "ms", JSON: "gap0_max_ms", Basis: Rhythm, of: func(v *view) Value { return v.gaps0.longest() },
		Doc: "longest known gap, or 0 where all came in one arrival"}},
	[]Metric{
		{Name: "phase_gap_count", Unit: "count", JSON: "phase_gap_count", Basis: Rhythm, of: func(v *view) Value { return v.phaseGaps(countOf) },
			Doc: "gaps that hold a stage or tool event"},
		{Name: "phase_gap_max", Unit: "ms", JSON: "phase_gap_max_ms", Basis: Rhythm, Optional: true, of: func(v *view) Value { return v.phaseGaps(longestOf) },
			Doc: "longest gap that holds a stage or tool event"},
		{Name: "phase_gap_time", Unit: "ms", JSON: "phase_gap_time_ms", Basis: Rhythm, Optional: true, of: func(v *view) Value { return v.phaseGaps(sumOf) },
			Doc: "time in gaps that hold a stage or tool event"},
		{Name: "open_gap", Unit: "ms", JSON: "open_gap_ms", Better: Lower, Basis: Rhythm, Optional: true, of: (*view).openGap,
			Doc: "from the last output of an unfinished stream to its end"},
		{Name: "longest_silence", Unit: "ms", JSON: "longest_silence_ms", Better: Lower, Basis: Fact, of: (*view).longestSilence,
			Doc: "longest business silence after the first output, phase and open gaps included; of a stream that failed without a word its whole length"},
	},
)

// lengths are a set of gaps in ms, in order of length.
type lengths []float64

func sorted(xs []float64) lengths {
	slices.Sort(xs)
	return xs
}

func (xs lengths) quantile(f stat.Fraction) Value {
	if x, ok := stat.Quantile(xs, f); ok {
		return stat.At(x)
	}
	return Value{}
}

// longest is the last quantile.
func (xs lengths) longest() Value { return xs.quantile(stat.Fraction{A: 1, B: 1}) }

// family is the quantiles, mean and deviation of one set of gaps.
func family(name string, better Direction, what string, set func(*view) lengths) []Metric {
	one := func(suffix, doc string, better Direction, of func(lengths) Value) Metric {
		return Metric{
			Name: name + suffix, Unit: "ms", JSON: name + suffix + "_ms", Better: better, Basis: Rhythm,
			Doc: doc + " of the " + what, of: func(v *view) Value { return of(set(v)) },
		}
	}
	return []Metric{
		one("_p50", "median", better, func(xs lengths) Value { return xs.quantile(stat.P50) }),
		one("_p95", "nearest-rank p95", better, func(xs lengths) Value { return xs.quantile(stat.P95) }),
		one("_p99", "nearest-rank p99", better, func(xs lengths) Value { return xs.quantile(stat.P99) }),
		one("_mean", "mean", Neither, func(xs lengths) Value { return stat.Mean(xs) }),
		one("_stddev", "sample standard deviation (n−1)", better, func(xs lengths) Value { return stat.StdDev(xs) }),
	}
}

func (v *view) gapMax() Value {
	longest := Value{}
	for _, g := range v.rhythm.stallable() {
		longest = stat.At(max(longest.V, ms(g.Length())))
	}
	return longest
}

// gapMaxOpen reports whether gap_max is the open gap.
func (v *view) gapMaxOpen() bool {
	open, ok := v.rhythm.open()
	return ok && open.Phase == "" && v.gapMax() == stat.At(ms(open.Length()))
}

func countOf(xs []float64) Value   { return stat.At(float64(len(xs))) }
func longestOf(xs []float64) Value { return sorted(xs).longest() }

func sumOf(xs []float64) Value {
	if len(xs) == 0 {
		return Value{}
	}
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return stat.At(sum)
}

func (v *view) phaseGaps(of func([]float64) Value) Value {
	if len(v.rhythm.Gaps) == 0 {
		return Value{}
	}
	var xs []float64
	for _, g := range v.rhythm.Gaps {
		if g.Phase != "" {
			xs = append(xs, ms(g.Length()))
		}
	}
	return of(xs)
}

func (v *view) openGap() Value {
	if g, ok := v.rhythm.open(); ok {
		return stat.At(ms(g.Length()))
	}
	return Value{}
}

func (v *view) longestSilence() Value {
	if !v.spoke() {
		end, ok := v.r.End.Get()
		if !ok || !v.unfinished() || v.r.Outcome == stream.Dropped {
			return Value{}
		}
		return stat.At(ms(end))
	}
	longest := Value{}
	for _, g := range v.rhythm.Gaps {
		longest = stat.At(max(longest.V, ms(g.Length())))
	}
	return longest
}
