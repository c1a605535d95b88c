package diagnose

import (
	"slices"

	"weir/metric"
	"weir/stat"
	"weir/stream"
)

// session is the records of one session by path.
type session struct{ paths []*path }

// path is what was seen over one way to the service.
type path struct {
	hop     string // "" = the main one
	answers []*answer
}

// answer is one record with what several rules need.
type answer struct {
	r      *stream.Record
	v      metric.Values
	series metric.Series
}

func newSession(records []*stream.Record) *session {
	s := &session{}
	for _, r := range records {
		if r == nil {
			continue
		}
		s.path(r.Hop).answers = append(s.path(r.Hop).answers, &answer{r, metric.Measure(r), metric.Observe(r)})
	}
	return s
}

func (s *session) path(hop string) *path {
	for _, p := range s.paths {
		if p.hop == hop {
			return p
		}
	}
	p := &path{hop: hop}
	s.paths = append(s.paths, p)
	return p
}

// rule looks at a session.
type rule func(*session) []Finding

// each is a rule that looks at one path at a time.
func each(look func(*path) []Finding) rule {
	return func(s *session) []Finding {
		var out []Finding
		for _, p := range s.paths {
			for _, f := range look(p) {
				if p.hop != "" {
					f.Text = "path " + p.hop + ": " + f.Text
				}
				out = append(out, f)
			}
		}
		return out
	}
}

// rules are all of them, in the order in which equals are shown.
var rules = []rule{
	each(failures), each(truncation), each(silence), each(heartbeatsOnly), each(emptyAnswer), each(inBandErrors),
	each(sequenceHoles), each(expectations), each(replacementCharacters), each(restarts),
	hopBuffering, each(serviceEven), each(buffering), each(notStreamed),
	each(firstEventEarly), each(lateText), each(stalls), each(coldConnection), each(firstTokenPath),
	each(longestStage), each(hiddenReasoning), each(clientLagged),
	each(usageMissing), each(noFinishReason), each(lateSeparator), each(otherEvents), each(stamps), each(bodyCut),
}

// ordered puts the most severe first and keeps the order of the rules else.
func ordered(fs []Finding) []Finding {
	rank := map[string]int{Problem: 0, Warning: 1, Info: 2}
	slices.SortStableFunc(fs, func(a, b Finding) int { return rank[a.Severity] - rank[b.Severity] })
	return fs
}

// pick returns the answers that a test holds for.
func (p *path) pick(holds func(*answer) bool) []*answer {
	var out []*answer
	for _, a := range p.answers {
		if holds(a) {
			out = append(out, a)
		}
	}
	return out
}

// get is a reached value of the answer.
func (a *answer) get(name string) (float64, bool) { return a.v.Get(name).Get() }

// medianOf is the median of a metric over the answers that reached it.
func medianOf(answers []*answer, name string) (float64, bool) {
	var xs []float64
	for _, a := range answers {
		if x, ok := a.get(name); ok {
			xs = append(xs, x)
		}
	}
	return median(xs)
}

func median(xs []float64) (float64, bool) {
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	return stat.Quantile(sorted, stat.P50)
}

// count counts the events of an answer that a test holds for.
func (a *answer) count(holds func(*stream.Event) bool) int {
	n := 0
	for i := range a.r.Events {
		if holds(&a.r.Events[i]) {
			n++
		}
	}
	return n
}

func (a *answer) has(k stream.Kind) bool {
	return a.count(func(e *stream.Event) bool { return e.Kind == k }) > 0
}

// business is the number of business events.
func (a *answer) business() int {
	return a.count(func(e *stream.Event) bool { return e.Kind.Business() })
}

// spoke reports whether the answer said anything as a stream.
func (a *answer) spoke() bool { return !a.r.Whole && len(a.series.Bursts) > 0 }
