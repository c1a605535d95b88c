package stat

import "math"

// State says what is known of a value.
type State uint8

// The states. The zero State is Missing, so that a value nobody set is never
// mistaken for 0.
const (
	Missing State = iota // unknown, or does not apply: leaves the set
	Reached              // V is the value
	Over                 // censored: only known to exceed V
	Never                // it failed by itself before the value came: +Inf
)

// String is the state's name: missing, reached, over, never.
func (s State) String() string {
	return [...]string{"missing", "reached", "over", "never"}[s]
}

// Sample is one value of a set, or what is known of it.
type Sample struct {
	V  float64 // the value (Reached) or the bound it exceeded (Over)
	Is State
}

// At is a reached value.
func At(v float64) Sample { return Sample{V: v, Is: Reached} }

// Get returns the value and whether it was reached.
func (s Sample) Get() (float64, bool) { return s.V, s.Is == Reached }

// low and high are the sample's place in the two views of a set: censored at
// what is known, and at +Inf.
func (s Sample) low() float64 {
	if s.Is == Never {
		return math.Inf(1)
	}
	return s.V
}

func (s Sample) high() float64 {
	if s.Is == Reached {
		return s.V
	}
	return math.Inf(1)
}
