package metric

import (
	"testing"

	"weir/stream"
)

func usage(out, reasoning, billed int) *stream.Usage {
	return &stream.Usage{
		Input: stream.Some(11), Cached: stream.Some(4), Output: stream.Some(out),
		Reasoning: stream.Some(reasoning), Billed: stream.Some(billed),
	}
}

func TestTokensFromUsage(t *testing.T) {
	b := newRecord(stream.Complete, 3000).add(1000, text(6)).add(1500, text(12)).add(2000, text(12)).add(2000, done(stream.ProofTerminal))
	b.r.Usage = usage(40, 10, 40)
	v := b.values()
	want(t, v, "tokens", 30) // the thinking was not streamed
	want(t, v, "tokens_billed", 40)
	want(t, v, "input_tokens", 11)
	want(t, v, "cached_tokens", 4)
	want(t, v, "k1", 6) // 30 × 6/30
	want(t, v, "chars", 30)
	want(t, v, "rate_e2e", 15)
	want(t, v, "rate_stream", 29)
	want(t, v, "rate_decode", 24)
	want(t, v, "tpot", 1000.0/24)
	want(t, v, "cps_e2e", 15)
	want(t, v, "cps_stream", 29)
	want(t, v, "cps_decode", 24)
	if v.TokenSource != FromUsage || v.K1Source != FromSpread {
		t.Errorf("sources %q %q", v.TokenSource, v.K1Source)
	}
	shown := kind(stream.KindReasoning)
	shown.Chars = stream.Some(10)
	b.r.Events = append([]stream.Event{shown}, b.r.Events...)
	want(t, b.values(), "tokens", 40)
	b.r.Events[0].Summary = true // what was thought is not what was shown
	wantIs(t, b.values(), Missing, "tokens", "k1", "rate_e2e", "rate_stream", "rate_decode")
	b.r.Events = append([]stream.Event{shown}, b.r.Events...) // not only as a summary
	want(t, b.values(), "tokens", 40)
}

func TestUsageThatDoesNotCount(t *testing.T) {
	for name, change := range map[string]func(*stream.Record){
		"an unfinished answer":   func(r *stream.Record) { r.Outcome = stream.Truncated },
		"a log that ends open":   func(r *stream.Record) { r.Outcome = stream.Unknown },
		"a seed":                 func(r *stream.Record) { r.Usage.Seed = true },
		"one of several choices": func(r *stream.Record) { r.Choices = 2 },
		"no output count":        func(r *stream.Record) { r.Usage.Output = stream.None[int]() },
		"none":                   func(r *stream.Record) { r.Usage = nil },
	} {
		b := newRecord(stream.Complete, 3000).add(1000, text(6)).add(2000, text(12))
		b.r.Usage = usage(30, 0, 30)
		change(&b.r)
		if v := b.values(); v.Get("tokens").Is != Missing || v.TokenSource != "" {
			t.Errorf("%s: T = %v from %q; a chunk is never a token", name, v.Get("tokens"), v.TokenSource)
		}
	}
}

// Anthropic opens with output_tokens 1 or so; of an answer that was cut, that
// is the last that was said, and it counts nothing. The input it does count.
func TestASeedIsNotBilled(t *testing.T) {
	b := newRecord(stream.Truncated, 3000).add(1000, text(6))
	b.r.Usage = usage(1, 0, 1)
	b.r.Usage.Seed = true
	wantIs(t, b.values(), Missing, "tokens", "tokens_billed")
	want(t, b.values(), "input_tokens", 11)
}

func TestTokensFromEvents(t *testing.T) {
	b := newRecord(stream.Truncated, 3000).add(1000, tokensEvent(3)).also(1000, tokensEvent(0)).add(2000, tokensEvent(5))
	v := b.values()
	want(t, v, "tokens", 8)
	want(t, v, "k1", 3)
	want(t, v, "rate_decode", 5)
	if v.TokenSource != FromEvents || v.K1Source != FromEvents {
		t.Errorf("sources %q %q", v.TokenSource, v.K1Source)
	}
	b.add(2500, kind(stream.KindText)) // one event without a count
	wantIs(t, b.values(), Missing, "tokens", "rate_e2e", "rate_decode")
	zeros := newRecord(stream.Complete, 3000).add(1000, tokensEvent(0)).add(2000, tokensEvent(0)).values()
	wantIs(t, zeros, Missing, "tokens", "rate_e2e", "k1") // counts of 0 count nothing
}

func TestRatesNeedTwoArrivals(t *testing.T) {
	one := newRecord(stream.Complete, 3000).add(1000, tokensEvent(3)).also(1000, tokensEvent(3)).values()
	want(t, one, "rate_e2e", 6)
	wantIs(t, one, Missing, "rate_stream", "rate_decode", "tpot", "cps_stream", "cps_decode")
	all := newRecord(stream.Complete, 3000).add(1000, tokensEvent(3)).add(2000, tokensEvent(0)).values()
	wantIs(t, all, Missing, "rate_stream", "rate_decode") // T = k1: the rest held nothing
	unknown := newRecord(stream.Complete, 3000).add(1000, kind(stream.KindText)).add(2000, kind(stream.KindText))
	unknown.r.Usage = usage(21, 0, 21)
	v := unknown.values() // no characters to spread over: k1 is missing, T is not
	want(t, v, "rate_stream", 20)
	wantIs(t, v, Missing, "k1", "rate_decode", "tpot", "cps_e2e", "chars")
}

func TestRestart(t *testing.T) {
	b := newRecord(stream.Complete, 3000).
		add(500, text(4)).add(600, text(6)).
		add(900, kind(stream.KindRestart)).
		add(1000, text(10)).add(2000, text(20)).also(2000, done(stream.ProofTerminal))
	b.r.Usage = usage(60, 0, 60)
	v := b.values()
	want(t, v, "ttft", 500)
	want(t, v, "first_text", 500)
	want(t, v, "gap_max", 1000)
	want(t, v, "gap_p50", 400) // 100, 400 across the restart, 1000: the reader saw it all
	want(t, v, "restarts", 1)
	want(t, v, "voided_chars", 10)
	want(t, v, "chars", 30)
	want(t, v, "tokens", 60)
	want(t, v, "k1", 20)
	want(t, v, "rate_e2e", 30)
	want(t, v, "rate_decode", 40)
	want(t, v, "cps_decode", 20)
	none := newRecord(stream.Complete, 900).add(100, text(1)).values()
	want(t, none, "restarts", 0)
	wantIs(t, none, Missing, "voided_chars")
}

func TestNothingIsNotZero(t *testing.T) {
	v := newRecord(stream.ErrorEarly, 30).values()
	wantIs(t, v, Missing, "tokens", "chars", "visible", "k1", "rate_e2e", "cps_e2e", "batch_share", "batch_max",
		"gap_p50", "stall_rate", "pacing_delay", "last_output", "tokens_billed", "dns", "queue", "arrival_bytes_p50")
	dropped := newRecord(stream.Dropped, -1).values()
	wantIs(t, dropped, Missing, "fluidity_index", "events", "heartbeats", "restarts", "longest_silence")
	tool := newRecord(stream.Complete, 30).add(10, kind(stream.KindTool)).values()
	want(t, tool, "chars", 0) // it spoke, and not by text: that 0 is known
}

// TestToolCalls: a call is where its name stands, not a piece of arguments;
// where no piece says so the number is unknown.
func TestToolCalls(t *testing.T) {
	tool := func(name, text string) stream.Event {
		return stream.Event{Kind: stream.KindTool, Tool: name, Text: text}
	}
	v := newRecord(stream.Complete, 500).add(100, tool("search", "search")).add(120, tool("", `{"q":`)).add(140, tool("", `1}`)).
		add(160, tool("search", `{}`)).add(180, tool("refund", `{}`)).values()
	want(t, v, "tool_calls", 3)
	want(t, v, "tool.search", 2)
	want(t, v, "tool.refund", 1)
	wantIs(t, v, Missing, "tool.other")
	silent := newRecord(stream.Complete, 500).add(100, tool("", `{"q":1}`)).values()
	wantIs(t, silent, Missing, "tool_calls")
	none := newRecord(stream.Complete, 500).add(100, stream.Event{Kind: stream.KindText, Text: "a"}).values()
	want(t, none, "tool_calls", 0)
	dropped := newRecord(stream.Dropped, -1).values()
	wantIs(t, dropped, Missing, "tool_calls")
}
