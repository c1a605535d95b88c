package diagnose

import "slices"

// The choices that tell batches from a lively stream.
const (
	minBatchShare = 0.5 // business events that arrived with another
	minPause      = 30  // ms, median time between arrivals
	minEvents     = 10  // business events of an answer that can show a pattern
	minFlushes    = 3   // flushes over all answers
	sizeEvents    = 4   // events per flush from which a size means something
	pairShare     = 0.8 // as minBatchShare, where batches are of two: chance makes those
)

// batches is what the answers of a path that came in batches have in common.
type batches struct {
	answers []*answer
	trains  []train
	inner   []flush   // neither first nor last of their answer, or all but the last where there are only two
	firsts  []flush   // the first of each answer with at least two
	between []float64 // ms from flush to flush between the second and the last but one

	size     sizeRule
	time     timeRule
	constant float64 // share of inner flushes with the usual number of frames
	cut      float64 // share of the flushes that end inside a frame
	pause    float64 // median ms between flushes
	events   float64 // median business events per flush
	bytes    float64 // median bytes per flush
	share    float64 // pooled batch share
}

// buffering names the kind of buffering on a path, if there is one.
func buffering(p *path) []Finding {
	if f := heldWhole(p); f != nil {
		return f
	}
	b, ok := batchesOf(p)
	if !ok {
		return nil
	}
	return []Finding{b.finding(p)}
}

// batchesOf collects the pattern; false where the path shows none: too few
// events, events that mostly come alone, or pauses nobody would notice.
func batchesOf(p *path) (*batches, bool) {
	b := &batches{}
	batched, events := 0.0, 0.0
	eligible := 0
	for _, a := range p.answers {
		n := float64(a.business())
		share, _ := a.get("batch_share")
		if !a.spoke() || n < minEvents || a.r.NoReads {
			continue
		}
		eligible++
		batched, events = batched+share*n, events+n
		if share >= minBatchShare && len(a.series.Bursts) > 1 {
			b.answers = append(b.answers, a)
			b.trains = append(b.trains, flushesOf(a.r))
		}
	}
	if len(b.answers) == 0 || 2*len(b.answers) < eligible || batched/events < minBatchShare {
		return nil, false
	}
	b.share = batched / events
	b.collect()
	if len(b.inner)+len(b.firsts) < minFlushes || b.pause < minPause || b.events < 2 || b.events < 3 && b.share < pairShare {
		return nil, false
	}
	b.fit()
	return b, true
}

// collect gathers the flushes. The time from the first to the second flush
// counts only where there are too few others: the first often leaves by
// another rule (with the headers, or pushed by a delayed acknowledgement some
// 40 ms later).
func (b *batches) collect() {
	var counts, opening []float64
	for _, t := range b.trains {
		whole := t.whole()
		for i, f := range whole {
			if i > 0 {
				b.inner = append(b.inner, f)
				if d := f.at - whole[i-1].at; i > 1 {
					b.between = append(b.between, d)
				} else {
					opening = append(opening, d)
				}
			} else {
				b.firsts = append(b.firsts, f)
			}
			if f.business > 0 {
				counts = append(counts, float64(f.business))
			}
		}
	}
	if len(b.inner) < minFlushes { // short answers: the first flushes must serve too
		b.inner = append(b.inner, b.firsts...)
	}
	if len(b.between) < minPeriods {
		b.between = append(b.between, opening...)
	}
	b.pause, _ = median(b.between)
	if len(b.between) == 0 {
		b.pause = b.lastPauses()
	}
	b.events, _ = median(counts)
	b.bytes, _ = median(sizesOf(b.inner))
}

// lastPauses is the median pause where answers have two flushes each.
func (b *batches) lastPauses() float64 {
	var xs []float64
	for _, t := range b.trains {
		if n := len(t.flushes); n > 1 {
			xs = append(xs, t.flushes[n-1].at-t.flushes[n-2].at)
		}
	}
	x, _ := median(xs)
	return x
}

func (b *batches) fit() {
	b.size, b.time = fitSize(b.inner), fitPeriod(b.between, b.gap())
	frames := map[int]int{}
	most := 0
	for _, f := range b.inner {
		frames[f.frames]++
		most = max(most, frames[f.frames])
	}
	b.constant = float64(most) / float64(len(b.inner))
	cut, known := 0, 0
	for _, t := range b.trains {
		if !t.cutKnown {
			continue
		}
		for _, f := range t.whole() {
			known++
			if f.cut {
				cut++
			}
		}
	}
	if known > 0 {
		b.cut = float64(cut) / float64(known)
	}
	if b.cut >= 0.5 {
		b.size.exactly(b.bytes)
	}
}

// gap is the source's own gap as far as batches show it: time per frame.
func (b *batches) gap() float64 {
	frames, took := 0, 0.0
	for _, t := range b.trains {
		if whole := t.whole(); len(whole) > 1 {
			took += whole[len(whole)-1].at - whole[0].at
			for _, f := range whole[1:] {
				frames += f.frames
			}
		}
	}
	return took / float64(max(1, frames))
}

// firstFits says how many of the first flushes the same size explains as the
// others, and in how many of those frames other than business events stood:
// only a rule of bytes counts those.
func (b *batches) firstFits() (fits, mixed float64) {
	all := append(slices.Clone(b.inner), b.firsts...)
	for _, f := range fitSize(all).explained(b.firsts, b.bytes) {
		fits++
		if f.frames > f.business {
			mixed++
		}
	}
	n := max(1, float64(len(b.firsts)))
	return fits / n, mixed / n
}

// steadyCount reports whether every flush but the last, the first included,
// held the same number of business events: what an engine that sends a fixed
// number at a step does.
func (b *batches) steadyCount() bool {
	count := map[int]int{}
	usual := 0
	for _, f := range b.inner {
		count[f.business]++
		if count[f.business] > count[usual] {
			usual = f.business
		}
	}
	first := 0
	for _, f := range b.firsts {
		if f.business == usual {
			first++
		}
	}
	return float64(count[usual]) >= agree*float64(len(b.inner)) && 2*first >= len(b.firsts)
}

// evenService reports whether the service's own stamps show that it writes
// without such pauses, which clears its engine.
func (b *batches) evenService() bool {
	even := 0
	for _, a := range b.answers {
		if longest, ok := a.get("service_gap_max"); ok && longest <= gapFall*b.pause {
			even++
		}
	}
	return 2*even > len(b.answers)
}

// kinds are the kinds of batching that the figures leave possible.
type kinds struct{ size, time, step, other bool }

// judge excludes what the figures exclude.
//
//   - Flushes that end inside a frame are made by something that counts bytes.
//   - A size that explains flushes of different numbers of frames is a size:
//     whole frames by the clock would not fit one.
//   - Where every flush has the same number of frames, a size, a period and an
//     engine step look alike. The first flush decides: it also holds frames
//     that are no output, and only a rule of bytes counts those.
//   - A service whose own stamps are even has no engine that steps.
func (b *batches) judge() kinds {
	if b.cut >= 0.5 {
		return kinds{size: b.size.holds, other: !b.size.holds}
	}
	fits, mixed := b.firstFits()
	same := b.constant >= agree
	size := b.size.holds && fits >= 0.5
	step := same && b.steadyCount() && !b.evenService()
	switch {
	case size && b.events < sizeEvents: // any size would do
		return kinds{size: true, time: b.time.holds, step: step, other: !b.time.holds && !step}
	case size && (!same || fits >= agree && mixed >= agree && !step):
		return kinds{size: true}
	case size || b.time.holds || step:
		return kinds{size: size, time: b.time.holds, step: step}
	}
	return kinds{other: true}
}
