package diagnose

import (
	"fmt"
	"time"

	"weir/metric"
	"weir/stream"
)

// The choices of METRICS §9 for a late reader.
const (
	lagLimit = 10 * time.Millisecond
	lagShare = 0.02
)

// stalls: silence in the middle of an answer. Where the answer comes in
// batches anyway, only a pause well beyond the usual one is a stall.
func stalls(p *path) []Finding {
	usual := 0.0
	if b, ok := batchesOf(p); ok {
		usual = 1.5 * b.pause
	}
	longest, where, open := 0.0, metric.Gap{}, false
	total := 0
	found := p.pick(func(a *answer) bool {
		hit := false
		for _, g := range a.series.Gaps {
			d := float64(g.Length()) / 1e6
			if g.Phase != "" || g.Length() <= metric.StallAfter || d <= usual {
				continue
			}
			hit = true
			total++
			if d > longest {
				longest, where, open = d, g, g.Open
			}
		}
		return hit
	})
	if len(found) == 0 {
		return nil
	}
	text := fmt.Sprintf("output stalled for %s after event %d", span(longest), where.After)
	if open {
		text = fmt.Sprintf("output stopped after event %d; nothing more came for %s", where.After, span(longest))
	}
	return []Finding{{
		Code: "stall", Severity: Problem, RequestIDs: ids(found),
		Evidence: []Figure{{"stall", longest, "ms"}, {"after_event", float64(where.After), "count"},
			{"from", float64(where.From) / 1e6, "ms"}, {"stalls", float64(total), "count"}, seen(found)},
		Means: stallCauses(found, longest),
		Check: "compare with --direct and with the service's own stamps or logs at that moment; a client that shows nothing for this long should say that it still waits",
		Text:  text + " (" + p.of(found) + ")",
	}}
}

func stallCauses(found []*answer, longest float64) []string {
	causes := []string{"the engine paused (preemption, a batch of other requests, garbage collection)", "a relay held the stream"}
	loss, lag := true, false
	for _, a := range found {
		if n, ok := a.r.RcvOOO.Get(); ok && n == 0 {
			loss = false // every segment came in order
		}
		if x, ok := a.get("lag_max"); ok && x >= longest/2 {
			lag = true
		}
	}
	if loss {
		causes = append(causes, "loss on the network")
	}
	if lag {
		causes = append(causes, "our own reader, which was late")
	}
	return causes
}

// clientLagged: we read too late to trust the small figures.
func clientLagged(p *path) []Finding {
	late, events := 0, 0
	worst := 0.0
	found := p.pick(func(a *answer) bool {
		mine := 0
		for i := range a.r.Events {
			n := a.r.Events[i].Read
			if n < 1 || n > len(a.r.Reads) {
				continue
			}
			if lag, ok := a.r.Reads[n-1].LagMax.Get(); ok && lag > lagLimit {
				mine++
				worst = max(worst, float64(lag)/1e6)
			}
		}
		late, events = late+mine, events+len(a.r.Events)
		return mine > 0
	})
	if events == 0 || float64(late) <= lagShare*float64(events) {
		return nil
	}
	share := float64(late) / float64(events)
	return []Finding{{
		Code: "client_lagged", Severity: Warning, RequestIDs: ids(found),
		Evidence: []Figure{{"lag_max", worst, "ms"}, {"late_events", share, "share"}, seen(found)},
		Means:    []string{"this machine was too busy to read in time: gaps may be ours"},
		Check:    "probe from a machine with a free core, or lower the load of this one",
		Text:     fmt.Sprintf("%s of the events may have waited over %s for us (at most %s)", percent(share), span(float64(lagLimit)/1e6), span(worst)),
	}}
}

// sequenceHoles: the service's own numbering misses a number.
func sequenceHoles(p *path) []Finding {
	missing := 0
	found := p.pick(func(a *answer) bool {
		if a.r.Outcome != stream.Gapped {
			return false
		}
		missing += holes(a.r.Events)
		return true
	})
	if len(found) == 0 {
		return nil
	}
	f := Finding{
		Code: "sequence_hole", Severity: Problem, RequestIDs: ids(found),
		Evidence: []Figure{seen(found)},
		Means:    []string{"events were lost between the service's numbering and here", "the service skipped numbers"},
		Check:    "compare with the service's own log of the request: a relay that reconnects or drops slow readers loses events",
		Text:     fmt.Sprintf("the service's numbering has a hole (%s)", p.of(found)),
	}
	if missing > 0 {
		f.Evidence = append(f.Evidence, Figure{"missing_numbers", float64(missing), "count"})
		f.Text = fmt.Sprintf("%s of the service's numbering never came (%s)", plural(missing, "event"), p.of(found))
	}
	return []Finding{f}
}

// holes counts the numbers missing between the least and the greatest.
func holes(events []stream.Event) int {
	seen := map[int64]bool{}
	lo, hi := int64(0), int64(0)
	for i := range events {
		n, ok := events[i].ServiceSeq.Get()
		if !ok {
			continue
		}
		if len(seen) == 0 {
			lo, hi = n, n
		}
		lo, hi = min(lo, n), max(hi, n)
		seen[n] = true
	}
	if len(seen) == 0 {
		return 0
	}
	return int(min(hi-lo+1-int64(len(seen)), 1<<30))
}

// restarts: the reader saw text that was then declared void.
func restarts(p *path) []Finding {
	n := 0
	found := p.pick(func(a *answer) bool {
		k := a.count(func(e *stream.Event) bool { return e.Kind == stream.KindRestart })
		n += k
		return k > 0
	})
	if len(found) == 0 {
		return nil
	}
	f := Finding{
		Code: "restart", Severity: Warning, RequestIDs: ids(found),
		Evidence: []Figure{{"restarts", float64(n), "count"}, seen(found)},
		Means:    []string{"the service began the answer again, and what was shown before is void"},
		Check:    "see that the client clears what it showed; ttft and gaps are those of the first attempt, sizes and rates of the last",
		Text:     fmt.Sprintf("the answer was begun again (%s, %s)", plural(n, "time"), p.of(found)),
	}
	if chars, ok := medianOf(found, "voided_chars"); ok {
		f.Evidence = append(f.Evidence, Figure{"voided_chars_p50", chars, "chars"})
	}
	return []Finding{f}
}
