package diagnose

import (
	"fmt"

	"weir/metric"
)

// The choices that tell a buffering hop by comparison.
const (
	gapFall  = 0.5 // the gap (unknown ones as 0) falls to this share or below
	ttftRise = 10  // ms, and
	riseOf   = 0.05
)

// hopBuffering compares the main path with every other: gaps that fall while
// ttft rises across a hop are what a relay makes that holds and then releases.
func hopBuffering(s *session) []Finding {
	var out []Finding
	for _, p := range s.paths {
		for _, q := range s.paths {
			if p == q || (p.hop != "" && q.hop != "") { // each pair with the main path, both ways
				continue
			}
			if f, ok := acrossHop(p, q); ok {
				out = append(out, f)
			}
		}
	}
	return out
}

// acrossHop looks for the signature from the nearer path to the farther.
func acrossHop(far, near *path) (Finding, bool) {
	a, b := far.pick((*answer).spoke), near.pick((*answer).spoke)
	gap, ok1 := medianOf(a, "gap0_p50")
	gap0, ok2 := medianOf(b, "gap0_p50")
	ttft, ok3 := medianOf(a, "ttft_sent")
	ttft0, ok4 := medianOf(b, "ttft_sent")
	if !ok1 || !ok2 || !ok3 || !ok4 || gap > gapFall*gap0 || ttft-ttft0 < max(ttftRise, riseOf*ttft0) {
		return Finding{}, false
	}
	return Finding{
		Code: "hop_buffering", Severity: Problem, RequestIDs: ids(a),
		Evidence: []Figure{
			{"gap0_p50", gap, "ms"}, {"gap0_p50_nearer", gap0, "ms"},
			{"ttft_sent_p50", ttft, "ms"}, {"ttft_sent_p50_nearer", ttft0, "ms"}, seen(a),
		},
		Means: []string{"a relay between the two paths holds the body and releases it in batches"},
		Check: "look at the buffering, compression and no-delay settings of what lies on " + far.name() + " but not on " + near.name(),
		Text: fmt.Sprintf("gaps fall while ttft rises across the hop: from %s to %s the median gap goes from %s to %s, ttft from %s to %s",
			near.name(), far.name(), span(gap0), span(gap), span(ttft0), span(ttft)),
	}, true
}

func (p *path) name() string {
	if p.hop == "" {
		return "the main path"
	}
	return "path " + p.hop
}

// serviceEven: an even service and a bursty client mean a relay between, and
// need no second path.
func serviceEven(p *path) []Finding {
	var client, service []float64
	found := p.pick(func(a *answer) bool {
		share, ok := a.get("batch_share")
		longest, ok2 := a.get("service_gap_max")
		pause, ok3 := a.get("gap_p50")
		if !ok || !ok2 || !ok3 || share < minBatchShare || a.business() < minEvents || longest > gapFall*pause || pause < minPause {
			return false
		}
		client, service = append(client, pause), append(service, longest)
		return true
	})
	if len(found) == 0 || 2*len(found) < len(p.answers) {
		return nil
	}
	pause, _ := median(client)
	longest, _ := median(service)
	return []Finding{{
		Code: "service_even_client_bursty", Severity: Problem, RequestIDs: ids(found),
		Evidence: []Figure{{"gap_p50", pause, "ms"}, {"service_gap_max_p50", longest, "ms"}, seen(found)},
		Means:    []string{"a buffering relay between the service and here"},
		Check:    "probe the service itself with --direct, or look at the buffering settings of what lies between",
		Text: fmt.Sprintf("the service writes evenly (its longest gap is %s by its own stamps), but output arrives in batches with pauses of %s (%s)",
			span(longest), span(pause), p.of(found)),
	}}
}

// notStreamed: everything came in one arrival. Many events that came at once
// were not streamed; a few may simply be a short answer.
func notStreamed(p *path) []Finding {
	if heldWhole(p) != nil {
		return nil
	}
	var out []Finding
	many := p.pick(func(a *answer) bool {
		return a.r.Streamed && a.v.Shape == metric.Single && (a.r.Whole || a.business() >= minEvents)
	})
	few := p.pick(func(a *answer) bool {
		return a.r.Streamed && a.v.Shape == metric.Single && !a.r.Whole && a.business() > 1 && a.business() < minEvents
	})
	batched := p.pick(func(a *answer) bool { x, _ := a.get("batch_share"); return a.r.Whole || x >= minBatchShare })
	if len(many) > 0 && 2*len(batched) >= len(p.answers) { // an answer longer than a relay's buffer comes in two
		out = append(out, p.allAtOnce(many))
	}
	if len(few) > 0 && 2*len(few) >= len(p.answers) {
		out = append(out, p.fewAtOnce(few))
	}
	return out
}

func (p *path) allAtOnce(found []*answer) Finding {
	f := Finding{
		Code: "not_streamed", Severity: Problem, RequestIDs: ids(found),
		Check: "ask the service itself with --direct; compare headers and first_byte: headers that come early mean that someone holds the body",
		Means: []string{"the service makes the whole answer before it sends", "a relay holds the whole body until its end"},
	}
	n, _ := medianOf(found, "business_events")
	last, _ := medianOf(found, "last_output")
	f.Evidence = []Figure{{"business_events_p50", n, "events"}, {"last_output_p50", last, "ms"}, seen(found)}
	if h, ok := medianOf(found, "headers"); ok {
		f.Evidence = append(f.Evidence, Figure{"headers_p50", h, "ms"})
	}
	if found[0].r.Whole {
		f.Means = []string{"the service does not stream this request", "a relay turned the stream into one body"}
		f.Text = fmt.Sprintf("a stream was asked for, but the answer came as one body after %s (%s)", span(last), p.of(found))
		return f
	}
	f.Text = fmt.Sprintf("not streamed: all %.0f output events came at once after %s (%s)", n, span(last), p.of(found)) + hopNote(found[0])
	return f
}

func (p *path) fewAtOnce(found []*answer) Finding {
	n, _ := medianOf(found, "business_events")
	last, _ := medianOf(found, "last_output")
	return Finding{
		Code: "single_arrival", Severity: Info, RequestIDs: ids(found),
		Evidence: []Figure{{"business_events_p50", n, "events"}, {"last_output_p50", last, "ms"}, seen(found)},
		Means:    []string{"a short answer", "an answer that was not streamed"},
		Check:    "ask for a longer answer: only more events can tell the two apart",
		Text:     fmt.Sprintf("all %.0f output events came at once: a short answer or not streamed (%s)", n, p.of(found)),
	}
}
