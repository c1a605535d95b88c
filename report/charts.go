package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"weir/metric"
	"weir/stat"
	"weir/stream"
	"weir/table"
)

// curve is how a latency is spread: the share of requests that had it by a
// time, over all that were due, and its histogram.
type curve struct {
	Metric  string    `json:"metric"`
	N       int       `json:"n"` // never and over included
	Reached int       `json:"reached"`
	X       []float64 `json:"x"`    // ms, rising
	Y       []float64 `json:"y"`    // share of N at or below X
	From    float64   `json:"from"` // low edge of the first bin, ms; 20 bins a factor of ten
	Counts  []int     `json:"counts"`
}

// curveSet is the curves of one set of requests.
type curveSet struct {
	Name   string  `json:"name"` // of a scenario in a phase; "" = all that were sent under load
	Curves []curve `json:"curves"`
}

// maxCurveSets is the most sets that a page offers.
const maxCurveSets = 24

// curves are those of all requests under load, then of each scenario in each
// phase where there is more than one.
func (r Run) curves(rows []table.Row) ([]curveSet, error) {
	out := []curveSet{curvesOf("", r.underLoad(rows))}
	list, err := r.buckets()
	if err != nil || len(list) < 2 {
		return out, err
	}
	for _, b := range list[:min(len(list), maxCurveSets)] {
		out = append(out, curvesOf(b.name(), b.Rows))
	}
	return out, nil
}

func curvesOf(name string, rows []table.Row) curveSet {
	s := curveSet{Name: name, Curves: []curve{}}
	for _, m := range []string{"ttft", "first_text", metric.Useful} {
		if c, ok := curveOf(rows, m); ok {
			s.Curves = append(s.Curves, c)
		}
	}
	return s
}

// curvePoints is the most points of a curve.
const curvePoints = 400

func curveOf(rows []table.Row, name string) (curve, bool) {
	c := curve{Metric: name, X: []float64{}, Y: []float64{}}
	var xs []float64
	var bins Bins
	for i := range rows {
		v := rows[i].Values.Get(name)
		if v.Is == stat.Missing {
			continue
		}
		c.N++
		if v.Is == stat.Reached {
			xs = append(xs, v.V)
			bins.Add(v.V)
		}
	}
	slices.Sort(xs)
	c.Reached = len(xs)
	for i := range min(len(xs), curvePoints) {
		k := len(xs) - 1
		if m := min(len(xs), curvePoints); m > 1 {
			k = i * (len(xs) - 1) / (m - 1)
		}
		c.X, c.Y = append(c.X, round(xs[k])), append(c.Y, float64(k+1)/float64(c.N))
	}
	c.From, c.Counts = bins.edges()
	return c, c.N > 0
}

func round(v float64) float64 { return math.Round(v*1000) / 1000 }

// overTime is the run in steps of time.
type overTime struct {
	Step   float64     `json:"step_s"`   // of the counts
	T      []float64   `json:"t"`        // s since the run began, the middle of each step
	Starts []float64   `json:"starts"`   // requests sent a second
	Ends   []float64   `json:"ends"`     // answers that ended well a second
	Active []int       `json:"active"`   // the most streams open at once in the step
	Tokens []*float64  `json:"tokens"`   // output tokens a second of all streams, spread evenly over each stream; null where none knows
	Wide   float64     `json:"wide_s"`   // of the quantiles and outcomes
	W      []float64   `json:"w"`        // as T
	P50    []*float64  `json:"ttft_p50"` // null where too few or not exactly known
	P90    []*float64  `json:"ttft_p90"`
	P95    []*float64  `json:"ttft_p95"`
	N      []int       `json:"n"`
	Names  []string    `json:"outcomes"`
	Shares [][]float64 `json:"shares"` // one list an outcome: its share of the requests due in the step
}

// timeSteps is the most steps of a picture over time.
const timeSteps = 240

// stepOf is a step of time, in s, of which a span has at most n: 1, 2 or 5 times
// a power of ten.
func stepOf(span float64, n int) float64 {
	raw := max(span/float64(n), 0.1)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, f := range []float64{1, 2, 5, 10} {
		if f*unit >= raw*0.999 {
			return f * unit
		}
	}
	return 10 * unit
}

// timed is a row with its place in the run.
type timed struct {
	*table.Row
	at, end float64 // s since the run began
}

func overTimeOf(rows []table.Row, start time.Time) *overTime {
	var list []timed
	span := 0.0
	for i := range rows {
		r := &rows[i]
		if r.Start.IsZero() || start.IsZero() {
			continue
		}
		x := timed{Row: r, at: max(0, r.Start.Sub(start).Seconds())}
		x.end = x.at
		if d, ok := r.Values.Get("end").Get(); ok {
			x.end += d / 1000
		}
		span = max(span, x.end)
		list = append(list, x)
	}
	if len(list) == 0 {
		return nil
	}
	o := &overTime{Step: stepOf(span, timeSteps)}
	o.count(list, int(span/o.Step)+1)
	// A quantile needs its number of requests: p95 of 72. Steps are as short as
	// that allows, and still ten of them.
	o.Wide = stepOf(min(max(span/60, forP95*span/float64(len(list))), max(span/10, 0.1)), 1)
	o.quantiles(list, int(span/o.Wide)+1)
	return o
}

func (o *overTime) count(list []timed, n int) {
	o.T, o.Starts, o.Ends = steps(n, o.Step), make([]float64, n), make([]float64, n)
	o.Tokens = make([]*float64, n)
	for _, x := range list {
		if x.Outcome != stream.Dropped {
			o.Starts[o.at(x.at)] += 1 / o.Step
		}
		if x.Outcome.Ended() {
			o.Ends[o.at(x.end)] += 1 / o.Step
		}
		o.spread(x)
	}
	o.Active = active(list, n, o.Step)
}

func (o *overTime) at(s float64) int { return min(max(int(s/o.Step), 0), len(o.T)-1) }

// spread spreads a stream's tokens evenly from its first output to its last.
func (o *overTime) spread(x timed) {
	tokens, ok := x.Values.Get("tokens").Get()
	first, ok1 := x.Values.Get("ttft_sent").Get()
	last, ok2 := x.Values.Get("last_output").Get()
	if !ok || !ok1 || !ok2 {
		return
	}
	from, to := x.at+first/1000, x.at+last/1000
	for i := o.at(from); i <= o.at(to); i++ {
		part := 1.0
		if to > from {
			lo, hi := max(from, float64(i)*o.Step), min(to, float64(i+1)*o.Step)
			part = max(0, hi-lo) / (to - from)
		}
		if o.Tokens[i] == nil {
			o.Tokens[i] = new(float64)
		}
		*o.Tokens[i] += part * tokens / o.Step
	}
}

// active is the most streams open at once in each step.
func active(list []timed, n int, step float64) []int {
	type turn struct {
		at float64
		by int
	}
	var turns []turn
	for _, x := range list {
		if x.Outcome != stream.Dropped {
			turns = append(turns, turn{x.at, 1}, turn{x.end, -1})
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.by, a.by)) })
	out := make([]int, n)
	open, k := 0, 0
	for i := range out {
		out[i] = open
		for ; k < len(turns) && (turns[k].at < float64(i+1)*step || i == n-1); k++ {
			open += turns[k].by
			out[i] = max(out[i], open)
		}
	}
	return out
}

func (o *overTime) quantiles(list []timed, n int) {
	samples, outcomes := make([][]stat.Sample, n), make([]map[stream.Outcome]int, n)
	o.W, o.N = steps(n, o.Wide), make([]int, n)
	for _, x := range list {
		i := min(int(x.at/o.Wide), n-1)
		samples[i] = append(samples[i], x.Values.Get("ttft"))
		if outcomes[i] == nil {
			outcomes[i] = map[stream.Outcome]int{}
		}
		outcomes[i][x.Outcome]++
		o.N[i]++
	}
	for i := range n {
		s := stat.Summarize(samples[i])
		o.P50, o.P90, o.P95 = append(o.P50, exact(s.P50)), append(o.P90, exact(s.P90)), append(o.P95, exact(s.P95))
	}
	for _, name := range append(stream.Outcomes(), stream.Unknown) {
		shares, any := make([]float64, n), false
		for i := range n {
			if k := outcomes[i][name]; k > 0 {
				shares[i], any = float64(k)/float64(o.N[i]), true
			}
		}
		if any {
			o.Names, o.Shares = append(o.Names, cmp.Or(string(name), "unknown")), append(o.Shares, shares)
		}
	}
}

func exact(q stat.Quantiled) *float64 {
	if v, ok := q.Get(); ok {
		v = round(v)
		return &v
	}
	return nil
}

func steps(n int, step float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = round((float64(i) + 0.5) * step)
	}
	return out
}

// dots are points of a scatter, and of how many they were chosen.
type dots struct {
	Of int       `json:"of"`
	X  []float64 `json:"x"`
	Y  []float64 `json:"y"`
}

// maxDots is the most points of a scatter of requests or gaps.
const maxDots = 20_000

// inputDots is ttft against input tokens, thinned evenly.
func inputDots(rows []table.Row) dots {
	all := dots{X: []float64{}, Y: []float64{}}
	for i := range rows {
		x, ok1 := rows[i].Values.Get("input_tokens").Get()
		y, ok2 := rows[i].Values.Get("ttft").Get()
		if ok1 && ok2 {
			all.X, all.Y = append(all.X, x), append(all.Y, round(y))
		}
	}
	return all.thin()
}

func (d dots) thin() dots {
	d.Of = len(d.X)
	if d.Of <= maxDots {
		return d
	}
	out := dots{Of: d.Of}
	for i := range maxDots {
		k := i * d.Of / maxDots
		out.X, out.Y = append(out.X, d.X[k]), append(out.Y, d.Y[k])
	}
	return out
}

// gapDots is the gaps of the sample against their position in the answer.
func (s *Series) gapDots() dots {
	all := dots{X: []float64{}, Y: []float64{}}
	for _, t := range s.kept {
		for _, g := range t.gaps {
			if !g.Open && g.Phase == "" {
				all.X, all.Y = append(all.X, float64(g.After)), append(all.Y, round(millis(g.Length())))
			}
		}
	}
	return all.thin()
}
