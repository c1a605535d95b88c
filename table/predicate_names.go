package table

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"weir/metric"
	"weir/stat"
)

// startLayout is fixed in width, so that texts compare as times.
const startLayout = "2006-01-02T15:04:05.000000000Z"

// functions of the expression language that a filter may use: their work and
// result stay in proportion to what they read.
var functions = []string{
	"abs", "ceil", "floor", "round", "max", "min", "int", "float", "string", "len",
	"lower", "upper", "trim", "indexOf", "hasPrefix", "hasSuffix",
}

// states are the questions that a filter may ask of a metric.
var states = map[string]stat.State{
	"missing": stat.Missing, "reached": stat.Reached, "over": stat.Over, "never": stat.Never,
}

// names resolves what an expression reads. It walks the tree twice: once to
// learn the names, so that their types are known, and once, as the compiler's
// patch, to put one variable in place of label.x, never(y) and z == nil.
type names struct {
	reads   map[string]reader
	sample  map[string]any // a value of its type for each
	metrics map[string]bool
	err     *file.Error
}

func (n *names) inspect(text string) error {
	tree, err := parser.Parse(text)
	if err != nil {
		return err
	}
	ast.Walk(&tree.Node, n)
	if n.err != nil {
		return n.err.Bind(tree.Source)
	}
	return nil
}

// Visit looks at one node; parts come before the whole.
func (n *names) Visit(node *ast.Node) {
	switch x := (*node).(type) {
	case *ast.IdentifierNode:
		n.identifier(x)
	case *ast.MemberNode:
		n.member(node, x)
	case *ast.BinaryNode:
		n.binary(node, x)
	case *ast.CallNode:
		n.call(node, x)
	case *ast.BuiltinNode:
		if !slices.Contains(functions, x.Name) {
			n.refuse(x, "the function %s is not allowed here; there are %s, missing, reached, over, never", x.Name, strings.Join(functions, ", "))
		}
	}
}

func (n *names) refuse(at ast.Node, format string, args ...any) {
	if n.err == nil {
		n.err = &file.Error{Location: at.Location(), Message: fmt.Sprintf(format, args...)}
	}
}

func (n *names) add(name string, sample any, read reader) {
	n.reads[name], n.sample[name] = read, sample
}

// prefixes are the names that stand before a dot.
var prefixes = []string{"label", "stage", "mark"}

func (n *names) identifier(x *ast.IdentifierNode) {
	name := x.Value
	if _, ok := n.reads[name]; ok || slices.Contains(prefixes, name) || isState(name) {
		return // known, or the whole that it is a part of looks at it
	}
	switch name {
	case "warmup":
		n.add(name, false, func(r *Row, _ bool) any { return r.Warmup })
	case "index":
		n.add(name, 0, func(r *Row, _ bool) any { return r.Index })
	case "choice":
		n.add(name, 0, func(r *Row, _ bool) any { return r.Choice })
	case "in_flight":
		n.add(name, 0.0, func(r *Row, _ bool) any { return countOf(r.InFlight) })
	case "start":
		n.add(name, "", func(r *Row, _ bool) any { return startText(r.Start) })
	default:
		n.fieldOrMetric(x)
	}
}

func (n *names) fieldOrMetric(x *ast.IdentifierNode) {
	if f, ok := lookup(x.Value); ok {
		n.add(x.Value, "", func(r *Row, _ bool) any { return f.get(r) })
		return
	}
	if m, ok := metric.Lookup(x.Value); ok {
		n.addMetric(x.Value, m.Name)
		return
	}
	n.refuse(x, "rows have no %q; there are %s, index, in_flight, start, label.NAME, stage.NAME, mark.NAME and every metric, such as ttft_ms",
		x.Value, strings.Join(FieldNames(), ", "))
}

func (n *names) addMetric(name, of string) {
	n.metrics[of] = true
	n.add(name, 0.0, func(r *Row, high bool) any { return viewOf(r.Values.Get(of), high) })
}

// member puts one variable in place of label.x, stage.x and mark.x.
func (n *names) member(node *ast.Node, x *ast.MemberNode) {
	of, isName := x.Node.(*ast.IdentifierNode)
	part, isText := x.Property.(*ast.StringNode)
	if !isName || !isText || !slices.Contains(prefixes, of.Value) || part.Value == "" {
		n.refuse(x, "only label, stage and mark have parts, as in label.region or mark[\"first step\"]")
		return
	}
	name := of.Value + "." + part.Value
	if f, ok := lookup(name); ok {
		n.add(name, "", func(r *Row, _ bool) any { return f.get(r) })
	} else {
		n.addMetric(name, name)
	}
	n.put(node, name)
}

// binary makes a comparison with nil the question whether it is missing.
func (n *names) binary(node *ast.Node, x *ast.BinaryNode) {
	if x.Operator == ".." {
		n.refuse(x, "a range (a..b) is not allowed here")
		return
	}
	value := x.Left
	if _, ok := x.Left.(*ast.NilNode); ok {
		value = x.Right
	} else if _, ok := x.Right.(*ast.NilNode); !ok {
		return
	}
	of, ok := n.metricOf(value)
	if !ok || x.Operator != "==" && x.Operator != "!=" {
		n.refuse(x, "only a metric can be nil, with == or !=; a field or label that is not there is \"\"")
		return
	}
	n.put(node, n.addState("missing", of))
	if x.Operator == "!=" {
		ast.Patch(node, &ast.UnaryNode{Operator: "not", Node: *node})
	}
}

// call puts one variable in place of never(x) and its like.
func (n *names) call(node *ast.Node, x *ast.CallNode) {
	f, ok := x.Callee.(*ast.IdentifierNode)
	if !ok || !isState(f.Value) {
		n.refuse(x, "there is no such function; there are %s, missing, reached, over, never", strings.Join(functions, ", "))
		return
	}
	if len(x.Arguments) == 1 {
		if of, ok := n.metricOf(x.Arguments[0]); ok {
			n.put(node, n.addState(f.Value, of))
			return
		}
	}
	n.refuse(x, "%s takes one metric, as in %s(ttft_ms)", f.Value, f.Value)
}

// addState adds the variable that says whether a metric is in a state.
func (n *names) addState(state, of string) string {
	name, is := state+"("+of+")", states[state]
	n.metrics[of] = true
	n.add(name, false, func(r *Row, _ bool) any { return r.Values.Get(of).Is == is })
	return name
}

// metricOf is the metric that a node names.
func (n *names) metricOf(node ast.Node) (string, bool) {
	x, ok := node.(*ast.IdentifierNode)
	if !ok {
		return "", false
	}
	if _, isField := lookup(x.Value); isField {
		return "", false
	}
	m, ok := metric.Lookup(x.Value)
	return m.Name, ok
}

func (n *names) put(node *ast.Node, name string) { ast.Patch(node, &ast.IdentifierNode{Value: name}) }

func isState(name string) bool {
	_, ok := states[name]
	return ok
}

// startText is a time as filters compare it, "" where it is unknown.
func startText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(startLayout)
}
