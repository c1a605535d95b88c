package table

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"weir/stat"
	"weir/stream"
)

// Predicate is a compiled filter over rows: an expression such as
//
//	scenario == "chat" && ttft_ms > 2000 && label.region != "eu"
//
// over the row's fields (FieldNames, and index, in_flight, start as UTC text),
// label.NAME, every metric by its name or JSON key, stage.NAME and mark.NAME.
//
// A value that was never reached is larger than any number, as in every
// quantile; a missing one makes each comparison false (so `!(x > 1)` holds of
// it). A row whose value is only known to exceed a bound passes if it does so
// both at the bound and at infinity: it passes where the answer is certain.
// missing(x), reached(x), over(x), never(x) ask for the state, and
// x == nil is missing(x).
//
// A Predicate is safe for concurrent use. Its zero passes every row.
type Predicate struct {
	program *vm.Program
	reads   map[string]reader // by the name that the expression uses
	metrics []string
	twice   bool // it reads a metric, which may be over
}

// reader takes one value from a row. high asks for the upper view of a value
// that is only known to exceed a bound.
type reader func(r *Row, high bool) any

// Limits of an expression, so that its work stays in proportion to the rows.
const (
	maxNodes  = 500
	maxMemory = 100_000
)

// NewPredicate compiles a filter; empty text passes every row. An error says
// where the text is wrong, and what there is.
func NewPredicate(text string) (*Predicate, error) {
	if text == "" {
		return &Predicate{}, nil
	}
	n := names{reads: map[string]reader{}, sample: map[string]any{}, metrics: map[string]bool{}}
	if err := n.inspect(text); err != nil {
		return nil, explain(text, err)
	}
	program, err := expr.Compile(text, expr.Env(n.sample), expr.Patch(&n), expr.AsBool(), expr.MaxNodes(maxNodes))
	if err != nil {
		return nil, explain(text, err)
	}
	metrics := slices.Sorted(maps.Keys(n.metrics))
	return &Predicate{program: program, reads: n.reads, metrics: metrics, twice: len(metrics) > 0}, nil
}

// Metrics names the metrics that the filter reads, sorted.
func (p *Predicate) Metrics() []string { return slices.Clone(p.metrics) }

// Match reports whether a row passes.
func (p *Predicate) Match(r *Row) bool {
	if p.program == nil {
		return true
	}
	if !p.holds(r, false) {
		return false
	}
	return !p.twice || p.holds(r, true)
}

func (p *Predicate) holds(r *Row, high bool) bool {
	env := make(map[string]any, len(p.reads))
	for name, read := range p.reads {
		env[name] = read(r, high)
	}
	machine := vm.VM{MemoryBudget: maxMemory}
	out, err := machine.Run(p.program, env)
	yes, ok := out.(bool)
	return err == nil && ok && yes
}

// viewOf is a value as expressions see it: one of its two views.
func viewOf(x stat.Sample, high bool) float64 {
	switch {
	case x.Is == stat.Missing:
		return math.NaN()
	case x.Is == stat.Never || x.Is == stat.Over && high:
		return math.Inf(1)
	}
	return x.V
}

func countOf(n stream.Maybe[int]) float64 {
	if x, ok := n.Get(); ok {
		return float64(x)
	}
	return math.NaN()
}

// explain says where an expression is wrong.
func explain(text string, err error) error {
	what := err.Error()
	var at *file.Error
	if errors.As(err, &at) {
		what = fmt.Sprintf("line %d, column %d: %s", max(1, at.Line), at.Column+1, at.Message)
	}
	return fmt.Errorf("filter: %s in %q", what, text)
}
