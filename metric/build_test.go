package metric

import (
	"math"
	"testing"
	"time"

	"weir/stream"
)

// builder makes records by hand: each event opens an arrival of its own unless
// it says otherwise.
type builder struct{ r stream.Record }

func newRecord(outcome stream.Outcome, endMS float64) *builder {
	b := &builder{r: stream.Record{Outcome: outcome, Choices: 1, Streamed: true}}
	if endMS >= 0 {
		b.r.End = stream.Some(at(endMS))
	}
	return b
}

func at(ms float64) time.Duration { return time.Duration(math.Round(ms * 1e6)) }

func (b *builder) add(ms float64, e stream.Event) *builder {
	b.r.Arrivals = append(b.r.Arrivals, stream.Arrival{At: at(ms), Bytes: 100, Reads: 1})
	return b.also(ms, e)
}

// also adds an event to the arrival before.
func (b *builder) also(ms float64, e stream.Event) *builder {
	e.At, e.Arrival, e.Seq = at(ms), len(b.r.Arrivals), len(b.r.Events)+1
	b.r.Events = append(b.r.Events, e)
	return b
}

func (b *builder) values() Values { return Measure(&b.r) }

func text(n int) stream.Event {
	return stream.Event{Kind: stream.KindText, Chars: stream.Some(n), Visible: stream.Some(n), Wide: stream.Some(0)}
}

func tokensEvent(n int) stream.Event {
	return stream.Event{Kind: stream.KindText, Tokens: stream.Some(n)}
}

func kind(k stream.Kind) stream.Event { return stream.Event{Kind: k} }

func done(p stream.Proof) stream.Event { return stream.Event{Kind: stream.KindDone, Proof: p} }

// want checks a reached value to 3 decimals.
func want(t *testing.T, v Values, name string, x float64) {
	t.Helper()
	if got := v.Get(name); got.Is != Reached || math.Abs(got.V-x) > 0.0005 {
		t.Errorf("%s = %v %s, want %v", name, got.V, got.Is, x)
	}
}

func wantIs(t *testing.T, v Values, s State, names ...string) {
	t.Helper()
	for _, name := range names {
		if got := v.Get(name); got.Is != s {
			t.Errorf("%s = %v %s, want %s", name, got.V, got.Is, s)
		}
	}
}
