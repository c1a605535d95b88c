package metric

import (
	"weir/stat"
	"weir/stream"
)

var attemptMetrics = []Metric{
	{Name: "restarts", Unit: "count", JSON: "restarts", Better: Lower, Basis: Fact, of: func(v *view) Value { return v.counted(v.countKind(stream.KindRestart)) },
		Doc: "times the service declared void what it had sent"},
	{Name: "voided_chars", Unit: "chars", JSON: "voided_chars", Better: Lower, Basis: Fact, Optional: true, of: (*view).voidedChars,
		Doc: "characters of answer text that a restart declared void"},
}

func (v *view) voidedChars() Value {
	void := v.events[:len(v.events)-len(v.last)]
	if len(void) == 0 {
		return Value{}
	}
	if x := sumText(void, charsOf); x.Is == Reached {
		return x
	}
	for i := range void {
		if void[i].Kind == stream.KindText {
			return Value{} // text without a count
		}
	}
	return stat.At(0)
}
