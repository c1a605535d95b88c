package metric

import (
	"reflect"
	"testing"

	"weir/stream"
)

func TestWithGivesBackWhatWasMeasured(t *testing.T) {
	b := newRecord(stream.Truncated, 900).add(100, text(5)).add(200, text(5))
	b.r.Marks = []string{"zz", "handoff"}
	b.r.Events[1].Marks = []string{"handoff"}
	v := b.values()
	kept := map[string]Value{"no_such_metric": {V: 1, Is: Reached}, "mark.": {V: 1, Is: Reached}, "done": {}}
	for _, name := range v.Names() {
		kept[name] = v.Get(name)
	}
	facts := Values{Shape: v.Shape, TokenSource: v.TokenSource, K1Source: v.K1Source,
		FluidityBasis: v.FluidityBasis, FirstKind: v.FirstKind, GapMaxOpen: v.GapMaxOpen}
	if got := facts.With(kept); !reflect.DeepEqual(got, v) {
		t.Errorf("got  %+v\nwant %+v", got, v)
	}
	if v.Get("mark.zz").Is != Never || len(v.Names()) < 10 {
		t.Fatalf("the example proves little: %v", v.Names())
	}
	if got := v.With(nil); len(got.Names()) != 0 || got.Shape != v.Shape {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestWithKeepsEveryMetricNamedByTheStream(t *testing.T) {
	kept := map[string]Value{"ttft": {V: 1, Is: Reached}}
	for _, p := range prefixes {
		kept[p+"x"] = Value{V: 2, Is: Reached}
	}
	v := Values{}.With(kept)
	for name, want := range kept {
		if got := v.Get(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
