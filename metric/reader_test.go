package metric

import (
	"testing"

	"weir/stream"
)

func han(n int) stream.Event {
	return stream.Event{Kind: stream.KindText, Chars: stream.Some(n), Visible: stream.Some(n), Wide: stream.Some(n)}
}

func TestPacing(t *testing.T) {
	b := newRecord(stream.Complete, 5000).
		add(100, text(15)).add(600, text(15)). // read until 2100
		add(2600, han(8)).                     // 500 dry; read until 3600
		add(3700, text(15))                    // 100 dry; read until 4700
	v := b.values()
	want(t, v, "pacing_delay", 600)
	want(t, v, "starved_count", 2)
	want(t, v, "starved_max", 500)
	b.r.Outcome = stream.Truncated // the end is one more event: 300 dry
	v = b.values()
	want(t, v, "pacing_delay", 900)
	want(t, v, "starved_count", 3)
	fast := newRecord(stream.Complete, 900).add(100, text(30)).add(200, text(30)).values()
	want(t, fast, "pacing_delay", 0)
	want(t, fast, "starved_count", 0)
	b.add(4000, tokensEvent(3)) // text without a count
	wantIs(t, b.values(), Missing, "pacing_delay", "starved_count", "starved_max")
}

// TestFluidity holds cases computed by hand from METRICS §6.
func TestFluidity(t *testing.T) {
	tok := tokensEvent
	for _, c := range []struct {
		name  string
		b     *builder
		index float64
		basis string
	}{
		{"in time throughout", newRecord(stream.Complete, 500).add(100, tok(1)).add(130, tok(1)).add(400, tok(1)).add(410, tok(3)), 1, ByTokens},
		// first at 2000: slack 0; 40: slack 10; 70 > 60: ⌊10/50⌋+1 = 1; 160: ⌊110/50⌋+1 = 3; 50: met
		{"late tokens", newRecord(stream.Complete, 3000).add(2000, tok(1)).add(2040, tok(1)).add(2110, tok(1)).add(2270, tok(1)).add(2320, tok(1)), 3.0 / 7, ByTokens},
		// 2130: ⌊130/50⌋+1 = 3 missed; the second token of the event meets
		{"a late first token", newRecord(stream.Complete, 3000).add(2130, tok(2)), 0.25, ByTokens},
		// slack of two tokens of one event: 0+50+50 = 100; 150 ≤ 150 is met
		{"slack saved", newRecord(stream.Complete, 3000).add(2000, tok(3)).add(2150, tok(1)), 1, ByTokens},
		{"slack spent", newRecord(stream.Complete, 3000).add(2000, tok(3)).add(2151, tok(1)), 3.0 / 4, ByTokens},
		{"cut before the next deadline", newRecord(stream.Reset, 2010).add(2000, tok(1)), 0.5, ByTokens},
		// (10000 − 50)/50 = 199: 200 missed
		{"hung", newRecord(stream.Hung, 12_000).add(2000, tok(1)), 1.0 / 201, ByTokens},
		{"never spoke", newRecord(stream.Hung, 12_000), 0, ""},
		// two Han: met, then slack 125; 300 > 125 + 66.7: ⌊108.3/66.7⌋+1 = 2
		{"by characters", newRecord(stream.Complete, 3000).add(2000, han(2)).add(2300, text(1)), 0.5, ByChars},
		{"an event without tokens", newRecord(stream.Complete, 3000).add(2000, tok(1)).add(2300, tok(0)).add(2340, tok(1)), 1.0 / 7, ByTokens},
	} {
		v := c.b.values()
		if c.name == "an event without tokens" {
			// 340 after the token before: ⌊290/50⌋+1 = 6 missed
			want(t, v, "fluidity_index", c.index)
			continue
		}
		if v.FluidityBasis != c.basis {
			t.Errorf("%s: basis %q, want %q", c.name, v.FluidityBasis, c.basis)
		}
		if got := v.Get("fluidity_index"); got.Is != Reached || got.V-c.index > 1e-9 || c.index-got.V > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.index)
		}
	}
	unknown := newRecord(stream.Complete, 900).add(100, kind(stream.KindText)).values()
	wantIs(t, unknown, Missing, "fluidity_index") // neither tokens nor characters are known
}
