package mark

import (
	"strings"
	"time"

	"github.com/expr-lang/expr/vm"

	"weir/stream"
)

// Limits of one stream: what comes beyond them is not seen by marks.
const (
	maxText  = 1 << 20 // bytes of answer text
	maxState = 1 << 20 // bytes of state objects, as they came
	maxName  = 1 << 10 // bytes of an event's name
	// budget is what one evaluation may allocate, in the units of the
	// expression machine (elements and bytes).
	budget = 1_000_000
)

// Evaluator follows one stream. It is not safe for concurrent use.
type Evaluator struct {
	set     *Set
	machine vm.VM
	env     env
	text    strings.Builder
	full    bool // the text reached its limit
	state   int  // bytes merged so far
	held    []bool
	tried   bool // constant expressions had their turn
}

// New returns the evaluator of one stream (of one answer, where a request has
// several).
func (s *Set) New() *Evaluator {
	return &Evaluator{set: s, machine: vm.VM{MemoryBudget: budget}, held: make([]bool, len(s.marks))}
}

// Mark takes the next event and returns the names that first hold at it; nil
// for none. Only expressions that read something new are evaluated.
func (v *Evaluator) Mark(e *stream.Event) []string {
	if len(v.held) == 0 {
		return nil
	}
	fresh := usesEvent
	if e.Kind == stream.KindRestart {
		v.reset()
		fresh |= usesText | usesState
	}
	if e.Kind == stream.KindText && e.Text != "" && v.grow(e.Text) {
		fresh |= usesText
	}
	if len(e.State) > 0 && v.merge(e.State) {
		fresh |= usesState
	}
	v.env.Event, v.env.Kind, v.env.Delta = e.Name[:min(len(e.Name), maxName)], e.Kind.String(), e.Text
	v.env.T = float64(e.At) / float64(time.Millisecond)
	return v.evaluate(fresh)
}

// grow adds to the text; false once it is full, so that it never has a hole.
func (v *Evaluator) grow(delta string) bool {
	v.full = v.full || v.text.Len()+len(delta) > maxText
	if v.full {
		return false
	}
	v.text.WriteString(delta)
	v.env.Text = v.text.String() // no copy: a builder's string shares its bytes
	return true
}

func (v *Evaluator) evaluate(fresh inputs) []string {
	var names []string
	for i := range v.set.marks {
		m := &v.set.marks[i]
		if v.held[i] || (m.uses&fresh == 0 && v.tried) {
			continue
		}
		if !v.holds(m) {
			continue
		}
		v.held[i] = true
		v.set.seen[i].Store(true)
		names = append(names, m.name)
	}
	v.tried = true
	return names
}

// holds evaluates one expression; an error is false.
func (v *Evaluator) holds(m *compiled) bool {
	out, err := v.machine.Run(m.program, &v.env)
	yes, ok := out.(bool)
	return err == nil && ok && yes
}

// reset voids what the stream said so far.
func (v *Evaluator) reset() {
	v.text.Reset()
	v.env.Text, v.env.State = "", nil
	v.full, v.state = false, 0
	clear(v.held)
	v.tried = false
}
