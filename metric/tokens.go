package metric

import (
	"weir/stat"
	"weir/stream"
)

// Sources of T and of k1.
const (
	FromUsage  = "usage"  // the final usage of an answer that ended
	FromEvents = "events" // the protocol counts per event
	FromSpread = "spread" // k1 only: T spread over the characters
)

var tokenMetrics = []Metric{
	{Name: "tokens", Unit: "tokens", JSON: "tokens", Basis: Fact, of: func(v *view) Value { return v.tokens.total },
		Doc: "T: output tokens that were streamed in the last attempt"},
	{Name: "tokens_billed", Unit: "tokens", JSON: "tokens_billed", Basis: Fact, of: usageOf(billed),
		Doc: "output tokens as the service writes them, once it has counted; of all choices of the request"},
	{Name: "input_tokens", Unit: "tokens", JSON: "input_tokens", Basis: Fact, of: usageOf(func(u *stream.Usage) stream.Maybe[int] { return u.Input }),
		Doc: "input tokens as the service states them"},
	{Name: "cached_tokens", Unit: "tokens", JSON: "cached_tokens", Basis: Fact, of: usageOf(func(u *stream.Usage) stream.Maybe[int] { return u.Cached }),
		Doc: "input tokens the service took from its cache"},
	{Name: "chars", Unit: "chars", JSON: "chars", Basis: Fact, of: func(v *view) Value {
		return sumText(v.last, func(e *stream.Event) stream.Maybe[int] { return e.Chars })
	},
		Doc: "grapheme clusters of the last attempt's answer text"},
	{Name: "visible", Unit: "chars", JSON: "visible_chars", Basis: Fact, of: func(v *view) Value {
		return sumText(v.last, func(e *stream.Event) stream.Maybe[int] { return e.Visible })
	},
		Doc: "visible grapheme clusters of the last attempt's answer text"},
	{Name: "k1", Unit: "tokens", JSON: "k1", Basis: Fact, of: func(v *view) Value { return v.tokens.k1 },
		Doc: "tokens of the first arrival: per-event counts, else T spread over the characters"},
}

// billed is missing where the last that was said is an opening value: a seed
// counts nothing.
func billed(u *stream.Usage) stream.Maybe[int] {
	if u.Seed {
		return stream.None[int]()
	}
	return u.Billed
}

func usageOf(get func(*stream.Usage) stream.Maybe[int]) func(*view) Value {
	return func(v *view) Value {
		if v.r.Usage == nil {
			return Value{}
		}
		return numberOf(get(v.r.Usage))
	}
}

// sumText adds a count over the text events; missing if one lacks it, or if
// there is no event at all to count in.
func sumText(events []stream.Event, get func(*stream.Event) stream.Maybe[int]) Value {
	total, business := 0, false
	for i := range events {
		e := &events[i]
		business = business || e.Kind.Business()
		if e.Kind != stream.KindText {
			continue
		}
		n, ok := get(e).Get()
		if !ok {
			return Value{}
		}
		total += n
	}
	if !business {
		return Value{}
	}
	return stat.At(float64(total))
}

// tokens are T, k1 and where they come from.
type tokens struct {
	total, k1        Value
	source, k1Source string
}

// countTokens counts the last attempt of an answer.
func countTokens(r *stream.Record, attempt []stream.Event) tokens {
	var t tokens
	if n, ok := fromUsage(r, attempt); ok {
		t.total, t.source = stat.At(float64(n)), FromUsage
	} else if n, ok := sumBusiness(attempt, tokensOf); ok && n > 0 {
		t.total, t.source = stat.At(float64(n)), FromEvents
	}
	first := firstArrival(r, attempt)
	if n, ok := sumBusiness(first, tokensOf); ok && n > 0 {
		t.k1, t.k1Source = stat.At(float64(n)), FromEvents
		return t
	}
	all, ok := sumBusiness(attempt, charsOf)
	mine, ok2 := sumBusiness(first, charsOf)
	if ok && ok2 && all > 0 && t.total.Is == Reached {
		t.k1, t.k1Source = stat.At(t.total.V*float64(mine)/float64(all)), FromSpread
	}
	return t
}

func tokensOf(e *stream.Event) stream.Maybe[int] { return e.Tokens }
func charsOf(e *stream.Event) stream.Maybe[int]  { return e.Chars }

// fromUsage is T by the final usage: of an answer that ended, and that is the
// only one of its request.
func fromUsage(r *stream.Record, attempt []stream.Event) (int, bool) {
	u := r.Usage
	if u == nil || u.Seed || !r.Outcome.Ended() || r.Choices > 1 {
		return 0, false
	}
	out, ok := u.Output.Get()
	if !ok {
		return 0, false
	}
	shown, summary := false, false
	for i := range attempt {
		if e := &attempt[i]; e.Kind == stream.KindReasoning {
			shown, summary = shown || !e.Summary, summary || e.Summary
		}
	}
	switch {
	case shown:
	case summary:
		return 0, false // what was shown is not what was counted
	default:
		out -= u.Reasoning.Or(0)
	}
	return out, out > 0
}

// sumBusiness adds a count over the business events; false if one lacks it or
// there is none.
func sumBusiness(events []stream.Event, get func(*stream.Event) stream.Maybe[int]) (int, bool) {
	total, any := 0, false
	for i := range events {
		e := &events[i]
		if !e.Kind.Business() {
			continue
		}
		n, ok := get(e).Get()
		if !ok {
			return 0, false
		}
		total, any = total+n, true
	}
	return total, any
}

// firstArrival is the part of an attempt up to the last business event of its
// first business arrival.
func firstArrival(r *stream.Record, attempt []stream.Event) []stream.Event {
	var first *stream.Event
	end := 0
	for i := range attempt {
		e := &attempt[i]
		if !e.Kind.Business() {
			continue
		}
		if first == nil {
			first = e
		}
		if !together(r, first, e) {
			break
		}
		end = i + 1
	}
	return attempt[:end]
}
