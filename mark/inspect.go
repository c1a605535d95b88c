package mark

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// inputs are the parts of an event's view that an expression reads.
type inputs uint8

const (
	usesEvent inputs = 1 << iota // event, kind, delta or t: new at every event
	usesText
	usesState
)

// inspect reads an expression before it is compiled: what it uses, and whether
// its work is bounded by the size of what it reads.
func inspect(source string) (inputs, error) {
	tree, err := parser.Parse(source)
	if err != nil {
		return 0, err
	}
	var in inspector
	ast.Walk(&tree.Node, &in)
	if in.err != nil {
		return 0, in.err.Bind(tree.Source)
	}
	return in.uses, nil
}

// allowed are the functions of the expression language whose work and result
// stay in proportion to what they read. The rest is refused: repeat, replace
// and join multiply texts, split makes as many strings as a text has letters,
// uniq compares all with all, reduce may double at every step, now is a clock.
var allowed = []string{
	"all", "none", "any", "one", "filter", "find", "findIndex", "findLast", "findLastIndex", "count", "map", "sum",
	"len", "type", "abs", "ceil", "floor", "round", "int", "float", "string", "max", "min",
	"trim", "trimPrefix", "trimSuffix", "upper", "lower", "indexOf", "lastIndexOf", "hasPrefix", "hasSuffix",
	"first", "last", "get", "keys", "values",
}

type inspector struct {
	uses inputs
	err  *file.Error
}

// Visit looks at one node; parts come before the whole.
func (in *inspector) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		switch n.Value {
		case "text":
			in.uses |= usesText
		case "state":
			in.uses |= usesState
		default:
			in.uses |= usesEvent
		}
	case *ast.BinaryNode:
		if n.Operator == ".." {
			in.refuse(n, "a range (a..b) is not allowed here")
		}
	case *ast.BuiltinNode:
		if !slices.Contains(allowed, n.Name) {
			in.refuse(n, fmt.Sprintf("the function %s is not allowed here; there are %s", n.Name, strings.Join(allowed, " ")))
		}
		for _, a := range n.Arguments {
			if p, ok := a.(*ast.PredicateNode); ok {
				ast.Walk(&p.Node, inner{in})
			}
		}
	}
}

func (in *inspector) refuse(n ast.Node, what string) {
	if in.err == nil {
		in.err = &file.Error{Location: n.Location(), Message: what}
	}
}

// inner looks at the body of a loop. It may read the loop's element and the
// small fields of the event, and a loop in it must walk that element, so that
// the work stays in proportion to the data.
type inner struct{ *inspector }

// Visit refuses what would multiply the data with itself.
func (in inner) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value != "event" && n.Value != "kind" && n.Value != "t" {
			in.refuse(n, fmt.Sprintf("%s inside a loop is not allowed; there are #, event, kind and t", n.Value))
		}
	case *ast.BuiltinNode:
		for _, a := range n.Arguments {
			if _, loop := a.(*ast.PredicateNode); loop && !ofElement(n.Arguments[0]) {
				in.refuse(n, fmt.Sprintf("%s inside another loop may only walk that loop's element (#…)", n.Name))
			}
		}
	}
}

// ofElement reports whether a collection is a part of the loop's element.
func ofElement(n ast.Node) bool {
	for {
		switch x := n.(type) {
		case *ast.PointerNode:
			return x.Name == ""
		case *ast.MemberNode:
			n = x.Node
		case *ast.ChainNode:
			n = x.Node
		default:
			return false
		}
	}
}
