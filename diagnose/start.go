package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"weir/metric"
	"weir/stream"
)

// The choices that make a wait worth a finding.
const (
	longWait   = 500 // ms before the first output
	earlyBy    = 300 // ms by which another event came first
	coldShare  = 0.5 // of ttft spent on the connection
	coldAtLst  = 20  // ms of it
	startShare = 0.6 // of the whole spent on the first token
)

// waitCauses are what may lie between an accepted request and its first
// output, narrowed by what the service says.
func waitCauses(found []*answer, bodyFlows bool) []string {
	wait, _ := medianOf(found, "ttft_sent")
	if cause := statedCause(found, wait); cause != "" {
		return []string{cause}
	}
	causes := []string{"a queue in front of the model", "prefill of a long prompt"}
	if !found[0].has(stream.KindReasoning) {
		causes = append(causes, "reasoning that is not shown")
	}
	if !bodyFlows {
		causes = append(causes, "a relay that holds the body")
	}
	return causes
}

// statedCause is the stage that took half of the wait or more, as the service
// itself states it, or "".
func statedCause(found []*answer, wait float64) string {
	names := []string{metric.Queue, "stage.prefill"}
	for _, name := range found[0].v.Names() {
		if strings.HasPrefix(name, metric.StagePrefix) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		x, ok := medianOf(found, name)
		if !ok || x < wait/2 {
			continue
		}
		cause := "stage " + strings.TrimPrefix(name, metric.StagePrefix) + ": the service was at work on it"
		switch name {
		case metric.Queue:
			cause = "the request waited in the service's queue"
		case "stage.prefill":
			cause = "prefill: the prompt was being read"
		}
		return cause + " (" + span(x) + " as the service states it)"
	}
	return ""
}

// early reports whether an event that is no output came well before the first.
func (a *answer) early() bool {
	ttft, ok := a.get("ttft_sent")
	first, ok2 := a.get("first_event")
	return ok && ok2 && !a.r.Events[0].Kind.Business() && ttft-first >= earlyBy
}

// firstEventEarly: what a naive tool takes for the first token.
func firstEventEarly(p *path) []Finding {
	found := p.pick((*answer).early)
	if len(found) == 0 || 2*len(found) < len(p.answers) {
		return nil
	}
	first, _ := medianOf(found, "first_event")
	ttft, _ := medianOf(found, "ttft_sent")
	kind := found[0].v.FirstKind
	return []Finding{{
		Code: "first_event_early", Severity: Warning, RequestIDs: ids(found),
		Evidence: []Figure{{"first_event_p50", first, "ms"}, {"ttft_sent_p50", ttft, "ms"}, seen(found)},
		Means:    waitCauses(found, true),
		Check:    "read ttft, not the first byte: tools that stop at the first event report " + span(first),
		Text: fmt.Sprintf("the first event %s; output began %s later (%s)",
			kindWords(kind), span(ttft-first), either(shortly(waitCauses(found, true)))),
	}}
}

func kindWords(kind string) string {
	switch kind {
	case "connect":
		return "carried only a role or handshake"
	case "heartbeat":
		return "was a heartbeat"
	case "stage":
		return "marked a stage"
	case "usage":
		return "carried only token counts"
	}
	return "was no output (" + kind + ")"
}

// shortly are causes cut to their first words, for a sentence.
func shortly(causes []string) []string {
	out := slices.Clone(causes)
	for i, c := range out {
		if c, _, ok := strings.Cut(c, ":"); ok {
			out[i] = c
		}
	}
	return out
}

// lateText: the headers came early and nothing else did.
func lateText(p *path) []Finding {
	found := p.pick(func(a *answer) bool {
		ttft, ok := a.get("ttft_sent")
		headers, ok2 := a.get("headers")
		return ok && ok2 && !a.early() && ttft-headers >= longWait && headers <= ttft/2 && len(a.series.Bursts) > 1
	})
	if len(found) == 0 || 2*len(found) < len(p.answers) {
		return nil
	}
	headers, _ := medianOf(found, "headers")
	ttft, _ := medianOf(found, "ttft_sent")
	causes := waitCauses(found, false)
	return []Finding{{
		Code: "late_text", Severity: Warning, RequestIDs: ids(found),
		Evidence: []Figure{{"headers_p50", headers, "ms"}, {"ttft_sent_p50", ttft, "ms"}, seen(found)},
		Means:    causes,
		Check:    "send a short prompt, then a long one: prefill grows with the prompt, a queue with the load; --direct shows a relay",
		Text: fmt.Sprintf("headers came after %s, output %s later (%s): %s",
			span(headers), span(ttft-headers), p.of(found), either(shortly(causes))),
	}}
}

// coldConnection: opening the connection took most of the wait.
func coldConnection(p *path) []Finding {
	opening := func(a *answer) float64 {
		sum := 0.0
		for _, name := range []string{"dns", "connect", "tls"} {
			x, _ := a.get(name)
			sum += x
		}
		return sum
	}
	var costs, shares []float64
	found := p.pick(func(a *answer) bool {
		ttft, ok := a.get("ttft_sent")
		cost := opening(a)
		if !ok || cost < coldAtLst || cost < coldShare*ttft {
			return false
		}
		costs, shares = append(costs, cost), append(shares, cost/ttft)
		return true
	})
	if len(found) == 0 {
		return nil
	}
	cost, _ := median(costs)
	share, _ := median(shares)
	return []Finding{{
		Code: "cold_connection", Severity: Warning, RequestIDs: ids(found),
		Evidence: []Figure{{"connection_p50", cost, "ms"}, {"share_of_ttft_p50", share, "share"}, seen(found)},
		Means:    []string{"opening the connection (DNS, connect, TLS) dominates ttft"},
		Check:    "keep connections open and compare --connections reuse; long DNS or TLS times point at the resolver or the distance",
		Text:     fmt.Sprintf("opening the connection took %s, %s of ttft (%s)", span(cost), percent(share), p.of(found)),
	}}
}

// firstTokenPath: the wait for the first token is most of the whole.
func firstTokenPath(p *path) []Finding {
	var shares []float64
	found := p.pick(func(a *answer) bool {
		ttft, ok := a.get("ttft_sent")
		last, ok2 := a.get("last_output")
		e2e, ok3 := a.get("rate_e2e")
		decode, ok4 := a.get("rate_decode")
		if !ok || !ok2 || !ok3 || !ok4 || ttft < longWait || ttft < startShare*last || e2e > decode/2 {
			return false
		}
		shares = append(shares, ttft/last)
		return true
	})
	if len(found) == 0 || 2*len(found) < len(p.answers) {
		return nil
	}
	share, _ := median(shares)
	e2e, _ := medianOf(found, "rate_e2e")
	decode, _ := medianOf(found, "rate_decode")
	return []Finding{{
		Code: "first_token_path", Severity: Info, RequestIDs: ids(found),
		Evidence: []Figure{{"ttft_share", share, "share"}, {"rate_e2e_p50", e2e, "tok/s"}, {"rate_decode_p50", decode, "tok/s"}, seen(found)},
		Means:    []string{"the time before the first token, not the speed of decoding, sets what the user lives through"},
		Check:    "shorten the prompt, use prompt caching, or look at the queue; a faster decoder will not help here",
		Text: fmt.Sprintf("the first token took %s of the time to the last (%s); %.1f tokens/s end to end, %.1f while decoding",
			percent(share), p.of(found), e2e, decode),
	}}
}

// longestStage names where the service says the time before the answer went.
func longestStage(p *path) []Finding {
	sums := map[string][]float64{}
	var names []string
	for _, a := range p.answers {
		for _, name := range a.v.Names() {
			if !strings.HasPrefix(name, metric.StagePrefix) && name != "unaccounted" {
				continue
			}
			if x, ok := a.get(name); ok {
				if sums[name] == nil {
					names = append(names, name)
				}
				sums[name] = append(sums[name], x)
			}
		}
	}
	longest, at, evidence := "", 0.0, []Figure{}
	for _, name := range names {
		x, _ := median(sums[name])
		evidence = append(evidence, Figure{name, x, "ms"})
		if longest == "" || x > at {
			longest, at = name, x
		}
	}
	if longest == "" {
		return nil
	}
	what := "stage " + strings.TrimPrefix(longest, metric.StagePrefix)
	if longest == "unaccounted" {
		what = "time that no stage accounts for"
	}
	return []Finding{{
		Code: "longest_stage", Severity: Info, Evidence: evidence,
		Means: []string{what + " took longest"},
		Check: "shorten the longest stage first: the others cannot save more than they take",
		Text:  fmt.Sprintf("the longest part is %s: %s", what, span(at)),
	}}
}

// hiddenReasoning: tokens were thought and billed that nobody saw.
func hiddenReasoning(p *path) []Finding {
	total := 0
	found := p.pick(func(a *answer) bool {
		if a.r.Usage == nil || a.r.Usage.Reasoning.Or(0) == 0 || a.has(stream.KindReasoning) {
			return false
		}
		total += a.r.Usage.Reasoning.Or(0)
		return true
	})
	if len(found) == 0 {
		return nil
	}
	return []Finding{{
		Code: "hidden_reasoning", Severity: Info, RequestIDs: ids(found),
		Evidence: []Figure{{"reasoning_tokens", float64(total), "tokens"}, seen(found)},
		Means:    []string{"the model thought before it spoke, and the service does not show it"},
		Check:    "ttft holds the thinking; compare with a lower reasoning effort",
		Text:     fmt.Sprintf("%d reasoning tokens were counted but not shown (%s)", total, p.of(found)),
	}}
}
