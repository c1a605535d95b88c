package mark

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
)

// Def is a mark as the user writes it.
type Def struct{ Name, Expr string }

// Available names what an expression may use, for error texts and help.
const Available = "event, kind, text, delta, state, t"

// maxNodes bounds the size of an expression.
const maxNodes = 200

// Set is compiled marks. It is safe for concurrent use: every stream takes an
// Evaluator of its own.
type Set struct {
	marks []compiled
	seen  []atomic.Bool
}

type compiled struct {
	name    string
	program *vm.Program
	uses    inputs
}

// env is what an expression sees.
type env struct {
	Event string         `expr:"event"`
	Kind  string         `expr:"kind"`
	Text  string         `expr:"text"`
	Delta string         `expr:"delta"`
	State map[string]any `expr:"state"`
	T     float64        `expr:"t"`
}

// Compile compiles marks. An error names the mark, the place in its
// expression, and what is available.
func Compile(defs []Def) (*Set, error) {
	s := &Set{seen: make([]atomic.Bool, len(defs))}
	for _, d := range defs {
		if err := s.add(d); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// nameRule keeps a mark's name usable as a metric's name and a JSON key.
var nameRule = regexp.MustCompile(`^[\pL_][\pL\pN_.-]*$`)

func (s *Set) add(d Def) error {
	if !nameRule.MatchString(d.Name) {
		return fmt.Errorf("mark %q: a name is a letter or _, then letters, digits, _, - and dots", d.Name)
	}
	for _, m := range s.marks {
		if m.name == d.Name {
			return fmt.Errorf("mark %q is defined twice; give the second another name", d.Name)
		}
	}
	if strings.TrimSpace(d.Expr) == "" {
		return fmt.Errorf("mark %q has no expression; write NAME=EXPR over %s", d.Name, Available)
	}
	uses, err := inspect(d.Expr)
	if err != nil {
		return explain(d, err)
	}
	program, err := expr.Compile(d.Expr, expr.Env(&env{}), expr.AsBool(), expr.MaxNodes(maxNodes))
	if err != nil {
		return explain(d, err)
	}
	s.marks = append(s.marks, compiled{d.Name, program, uses})
	return nil
}

// explain says where an expression is wrong and what it may use.
func explain(d Def, err error) error {
	what := err.Error()
	var at *file.Error
	if errors.As(err, &at) {
		what = fmt.Sprintf("line %d, column %d: %s", max(1, at.Line), at.Column+1, at.Message)
	}
	return fmt.Errorf("mark %q: %s in %q; available: %s", d.Name, what, d.Expr, Available)
}

// Names lists the marks in the order of their definition.
func (s *Set) Names() []string {
	names := make([]string, len(s.marks))
	for i, m := range s.marks {
		names[i] = m.name
	}
	return names
}

// Unseen lists the marks that no stream reached so far.
func (s *Set) Unseen() []string {
	var names []string
	for i, m := range s.marks {
		if !s.seen[i].Load() {
			names = append(names, m.name)
		}
	}
	return names
}
