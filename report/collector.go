package report

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"sync"

	"weir/metric"
	"weir/stream"
)

// DefaultSeries is how many events a collector keeps unless told otherwise.
const DefaultSeries = 200_000

// worstKept is how many of the worst answers a report shows.
const worstKept = 20

// Collector keeps a bounded sample of the events of a run, for the pictures of
// a report. Whole answers are kept or left out, chosen by a hash of their ids,
// so that the sample does not depend on the order in which they end and shards
// of a run choose alike. The worst answers are kept beside the sample, and
// every gap is counted. It is safe for concurrent use.
type Collector struct {
	mu     sync.Mutex
	limit  int
	series Series
}

// NewCollector returns a collector that keeps at most limit events in its
// sample; 0 = DefaultSeries.
func NewCollector(limit int) *Collector {
	if limit <= 0 {
		limit = DefaultSeries
	}
	return &Collector{limit: limit, series: Series{limit: limit}}
}

// Add takes a finished answer. It keeps nothing of r.
func (c *Collector) Add(r *stream.Record) {
	if r.Labels["warmup"] == "true" || r.Hop != "" || r.Outcome == stream.Dropped {
		return
	}
	g, p := glanceAt(r), priority(r.RequestID)
	c.mu.Lock()
	keep, bad := c.series.count(g, p, len(r.Events))
	c.mu.Unlock()
	if !keep && !bad {
		return
	}
	t := traceOf(r, g)
	c.mu.Lock()
	defer c.mu.Unlock()
	if keep {
		c.series.keep(sampled{t, p})
	}
	if bad {
		c.series.worst(worstOf(r, t))
	}
}

// Series returns what was kept so far. The result is a copy.
func (c *Collector) Series() *Series {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.series
	s.kept = slices.Clone(s.kept)
	s.failed, s.slow = slices.Clone(s.failed), slices.Clone(s.slow)
	return &s
}

// Series is a sample of the events of a run.
type Series struct {
	limit      int
	below      uint64    // only answers of a lesser priority are kept; 0 = all
	kept       []sampled // a heap: the largest priority first
	keptEvents int
	streams    int // seen
	events     int // seen
	gaps       Bins
	failed     []worstTrace // the worst of those that failed, worst first
	slow       []worstTrace // the worst of the others
}

type sampled struct {
	*trace
	priority uint64
}

// priority is an answer's place in the sample: those with the least are kept.
func priority(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	x := h.Sum64()
	x ^= x >> 33 // FNV's high bits differ little between ids that differ at their end
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// count counts an answer, and says whether it belongs into the sample and among
// the worst.
func (s *Series) count(g glance, priority uint64, events int) (keep, bad bool) {
	s.streams++
	s.events += events
	for _, gap := range g.gaps {
		if !gap.Open && gap.Phase == "" {
			s.gaps.Add(millis(gap.Length()))
		}
	}
	list := s.slow
	if g.failed {
		list = s.failed
	}
	return s.below == 0 || priority < s.below, len(list) < worstKept || g.waited >= list[len(list)-1].waited
}

// keep puts an answer into the sample, unless one of a lesser priority was left
// out: what is kept must not depend on the order.
func (s *Series) keep(x sampled) {
	if s.below > 0 && x.priority >= s.below {
		return
	}
	s.push(x)
	for s.keptEvents > s.limit && len(s.kept) > 1 {
		s.pop()
	}
}

// worst puts an answer among the worst of its kind.
func (s *Series) worst(t worstTrace) {
	list := &s.slow
	if t.failed {
		list = &s.failed
	}
	at, _ := slices.BinarySearchFunc(*list, t, func(a, b worstTrace) int {
		return cmp.Or(cmp.Compare(b.waited, a.waited), cmp.Compare(a.id, b.id))
	})
	if at < worstKept {
		*list = slices.Insert(*list, at, t)
		*list = (*list)[:min(len(*list), worstKept)]
	}
}

// worstOf are the worst answers: at most half of them failures, unless there
// are too few others, so that a service that refuses every request does not
// hide those that were slow.
func (s *Series) worstOf() []worstTrace {
	failed := min(len(s.failed), max(worstKept/2, worstKept-len(s.slow)))
	return slices.Concat(s.failed[:failed], s.slow[:min(len(s.slow), worstKept-failed)])
}

func (s *Series) push(x sampled) {
	s.kept = append(s.kept, x)
	s.keptEvents += len(x.events)
	for i := len(s.kept) - 1; i > 0; {
		up := (i - 1) / 2
		if s.kept[up].priority >= s.kept[i].priority {
			break
		}
		s.kept[up], s.kept[i] = s.kept[i], s.kept[up]
		i = up
	}
}

// pop leaves out the answer with the largest priority.
func (s *Series) pop() {
	s.keptEvents -= len(s.kept[0].events)
	s.below = max(s.kept[0].priority, 1)
	last := len(s.kept) - 1
	s.kept[0] = s.kept[last]
	s.kept[last] = sampled{}
	s.kept = s.kept[:last]
	for i := 0; ; {
		big := i
		for _, down := range []int{2*i + 1, 2*i + 2} {
			if down < last && s.kept[down].priority > s.kept[big].priority {
				big = down
			}
		}
		if big == i {
			return
		}
		s.kept[i], s.kept[big] = s.kept[big], s.kept[i]
		i = big
	}
}

// Bins count values on a logarithmic scale, 20 bins a factor of ten from
// 0.1 ms to 1000 s; what lies outside is counted in the first or last.
type Bins struct {
	N      int
	counts [140]int
}

const binsPerDecade = 20

// Add counts a value in ms.
func (b *Bins) Add(ms float64) {
	i := 0
	if ms > 0 {
		i = int(math.Floor((math.Log10(ms) + 1) * binsPerDecade))
	}
	b.counts[min(max(i, 0), len(b.counts)-1)]++
	b.N++
}

// edges are the bins that hold anything and those between: the low edge of
// the first, and the counts.
func (b *Bins) edges() (from float64, counts []int) {
	first, last := -1, -1
	for i, n := range b.counts {
		if n > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return 0, []int{}
	}
	return math.Pow(10, float64(first)/binsPerDecade-1), b.counts[first : last+1]
}

// stallLine is the length above which a gap is a stall, in ms.
func stallLine() float64 { return millis(metric.StallAfter) }
