package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"weir/metric"
	"weir/stream"
)

// failures: answers that ended in an error.
func failures(p *path) []Finding {
	byReason := map[string][]*answer{}
	var reasons []string
	for _, a := range p.answers {
		if a.r.Outcome != stream.ErrorEarly && a.r.Outcome != stream.ErrorMid {
			continue
		}
		key := string(a.r.Outcome) + "/" + a.r.Reason
		if byReason[key] == nil {
			reasons = append(reasons, key)
		}
		byReason[key] = append(byReason[key], a)
	}
	var out []Finding
	for _, key := range reasons {
		out = append(out, p.failure(byReason[key]))
	}
	return out
}

func (p *path) failure(found []*answer) Finding {
	r := found[0].r
	f := Finding{
		Code: "failed", Severity: Problem, RequestIDs: ids(found), Evidence: []Figure{seen(found)},
		Means: []string{"the request failed before any output"},
		Check: "the reason and the detail of the request say what failed; the upstream id lets the provider find it",
	}
	what, when := "failed", "before any output"
	if r.Outcome == stream.ErrorMid {
		when = "in the middle of the answer"
		f.Means = []string{"the answer broke off with an error after its first output"}
	}
	cause := r.Reason
	if r.Reason == "in_band" {
		f.Code, what, cause = "in_band_error", "an error stood in the stream", ""
		f.Check = "the status does not tell: the error stands in the stream, where tools that look at the status miss it"
		if r.Whole && r.Streamed {
			what, when = "an error came", "instead of a stream"
			f.Check = "the status does not tell: the error stands in the body, where tools that look at the status miss it"
		}
	}
	if r.Facts.Status >= 400 {
		f.Evidence = append(f.Evidence, Figure{"status", float64(r.Facts.Status), ""})
	}
	for _, said := range []string{faultText(r.Fault), r.Detail} {
		if said != "" {
			cause = strings.TrimPrefix(cause+": "+quoted(said), ": ")
			break
		}
	}
	f.Text = fmt.Sprintf("%s %s (%s)", what, when, p.of(found))
	if cause != "" {
		f.Text += ": " + cause
	}
	return f
}

func faultText(f *stream.Fault) string {
	if f == nil {
		return ""
	}
	return strings.TrimSpace(f.Code + " " + f.Message)
}

// inBandErrors: an error the protocol calls recoverable, in an answer that
// still ended.
func inBandErrors(p *path) []Finding {
	said := ""
	found := p.pick(func(a *answer) bool {
		if !a.r.Outcome.Ended() {
			return false
		}
		return a.count(func(e *stream.Event) bool {
			if e.Kind == stream.KindError && said == "" {
				said = faultText(e.Fault)
			}
			return e.Kind == stream.KindError
		}) > 0
	})
	if len(found) == 0 {
		return nil
	}
	return []Finding{{
		Code: "recovered_error", Severity: Warning, RequestIDs: ids(found), Evidence: []Figure{seen(found)},
		Means: []string{"the service reported an error in the stream and went on"},
		Check: "see whether the answer is whole",
		Text:  fmt.Sprintf("an error stood in the stream, but the answer still ended (%s): %s", p.of(found), quoted(said)),
	}}
}

// truncation: the stream stopped without proof of its end.
func truncation(p *path) []Finding {
	var out []Finding
	for _, c := range []struct {
		outcome     stream.Outcome
		text, check string
		means       []string
	}{
		{stream.Truncated, "the stream ended cleanly but without its end mark: the answer is cut short",
			"do not show it as complete; look for a worker that died or a relay with a time or size limit",
			[]string{"the service or a relay closed the stream early", "the service leaves out the end mark of its protocol"}},
		{stream.Reset, "the connection broke in the middle of the answer",
			"look for restarts, idle timeouts and load balancers on the way",
			[]string{"the service died", "a relay or load balancer cut the connection", "the network broke"}},
	} {
		found := p.pick(func(a *answer) bool { return a.r.Outcome == c.outcome })
		if len(found) == 0 {
			continue
		}
		if !slices.ContainsFunc(found, func(a *answer) bool { return a.r.Reason != "empty" }) {
			c.text = "the response ended without a single event"
		}
		if c.outcome == stream.Reset && !slices.ContainsFunc(found, func(a *answer) bool { return a.r.Facts.Status > 0 || a.business() > 0 }) {
			c.text = "the connection was closed before any response"
		}
		f := Finding{
			Code: string(c.outcome), Severity: Problem, RequestIDs: ids(found), Means: c.means, Check: c.check,
			Evidence: []Figure{seen(found)}, Text: fmt.Sprintf("%s (%s)", c.text, p.of(found)),
		}
		if x, ok := medianOf(found, "business_events"); ok {
			f.Evidence = append(f.Evidence, Figure{"business_events_p50", x, "events"})
		}
		if x, ok := medianOf(found, "end"); ok {
			f.Evidence = append(f.Evidence, Figure{"end_p50", x, "ms"})
		}
		out = append(out, f)
	}
	return out
}

// silence: we gave up waiting.
func silence(p *path) []Finding {
	found := p.pick(func(a *answer) bool {
		return (a.r.Outcome == stream.Hung || a.r.Outcome == stream.Timeout) && !overLimit(a.r)
	})
	if len(found) == 0 {
		return nil
	}
	hung := slices.DeleteFunc(slices.Clone(found), func(a *answer) bool { return a.r.Outcome != stream.Hung })
	end, _ := medianOf(found, "end")
	f := Finding{
		Code: "timeout", Severity: Problem, RequestIDs: ids(found),
		Evidence: []Figure{{"end_p50", end, "ms"}, seen(found)},
		Means:    []string{"the answer takes longer than our deadline"},
		Check:    "raise --timeout to see whether it ends at all",
		Text:     fmt.Sprintf("still speaking when our deadline of %s came (%s)", span(end), p.of(found)),
	}
	if open, ok := medianOf(found, "open_gap"); ok && open > float64(metric.StallAfter)/1e6 {
		f.Evidence = append(f.Evidence, Figure{"open_gap_p50", open, "ms"})
		f.Means = append(f.Means, "the engine stopped without closing the stream", "a relay lost its upstream")
		f.Text = fmt.Sprintf("not ended, and silent for %s, when our deadline of %s came (%s)", span(open), span(end), p.of(found))
	}
	if len(hung) > 0 {
		f.Code = "hung"
		f.Evidence = append(f.Evidence, Figure{"hung", float64(len(hung)), "count"})
		f.Means = []string{"the engine stopped without closing the stream", "a relay lost its upstream and keeps the client waiting", "a queue longer than our deadline"}
		f.Check = "heartbeats may go on while nobody works: watch for output, not for bytes"
		f.Text = fmt.Sprintf("no output for the last 10 s or more when our deadline of %s came (%s)", span(end), p.of(found))
		if !slices.ContainsFunc(hung, func(a *answer) bool { return a.business() > 0 }) {
			f.Text = fmt.Sprintf("no output at all when our deadline of %s came (%s)", span(end), p.of(found))
		}
	}
	return []Finding{f}
}

// heartbeatsOnly: the connection lived, the answer did not.
func heartbeatsOnly(p *path) []Finding {
	beats := 0.0
	found := p.pick(func(a *answer) bool {
		x, _ := a.get("heartbeats")
		if a.business() > 0 || x == 0 || a.r.Outcome.Ended() {
			return false
		}
		beats += x
		return true
	})
	if len(found) == 0 {
		return nil
	}
	return []Finding{{
		Code: "heartbeats_only", Severity: Problem, RequestIDs: ids(found),
		Evidence: []Figure{{"heartbeats", beats, "events"}, seen(found)},
		Means:    []string{"the request waits in a queue that keeps the connection alive", "the worker is gone and a relay sends the heartbeats"},
		Check:    "look whether the service knows the request at all",
		Text:     fmt.Sprintf("only heartbeats came, no output (%s)", p.of(found)),
	}}
}

// emptyAnswer: it ended as it should, and said nothing.
func emptyAnswer(p *path) []Finding {
	found := p.pick(func(a *answer) bool { return a.r.Outcome.Ended() && a.business() == 0 })
	if len(found) == 0 {
		return nil
	}
	finish := ""
	if f := found[0].r.Finish; f != "" {
		finish = ", finish reason " + quoted(f)
	}
	return []Finding{{
		Code: "empty_answer", Severity: Problem, RequestIDs: ids(found), Evidence: []Figure{seen(found)},
		Means: []string{"the model had nothing to say or was stopped at once", "a filter removed the answer", "output in a form that this dialect does not know"},
		Check: "look at the finish reason, and at the frames with weir decode",
		Text:  fmt.Sprintf("the answer ended properly without any output (%s%s)", p.of(found), finish),
	}}
}

// noFinishReason: only the sentinel proved the end.
func noFinishReason(p *path) []Finding {
	found := p.pick(func(a *answer) bool { return a.r.Outcome.Ended() && a.r.Proof == stream.ProofSentinel })
	if len(found) == 0 {
		return nil
	}
	return []Finding{{
		Code: "no_finish_reason", Severity: Warning, RequestIDs: ids(found), Evidence: []Figure{seen(found)},
		Means: []string{"the service sent its sentinel without a finish reason: whether the answer stopped or was cut at its limit cannot be told"},
		Check: "compare the answer's length with max-tokens",
		Text:  fmt.Sprintf("the end was proven by the sentinel only, no finish reason came (%s)", p.of(found)),
	}}
}

// usageMissing: only where it was asked for.
func usageMissing(p *path) []Finding {
	found := p.pick(func(a *answer) bool {
		u := a.r.Usage
		return a.r.UsageAsked && a.r.Outcome.Ended() && (u == nil || u.Seed || !u.Output.Known())
	})
	if len(found) == 0 {
		return nil
	}
	return []Finding{{
		Code: "usage_missing", Severity: Warning, RequestIDs: ids(found), Evidence: []Figure{seen(found)},
		Means: []string{"the service or a relay ignores the request for usage"},
		Check: "without usage or per-event counts token rates are missing; characters per second are not",
		Text:  fmt.Sprintf("usage was asked for and did not come (%s)", p.of(found)),
	}}
}
