package config

import (
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v4"
)

// Node is a value of the file, for types that read themselves.
type Node struct {
	n     *yaml.Node
	d     *decoder
	at    path
	depth int
}

// IsScalar reports whether the value is a scalar.
func (n Node) IsScalar() bool { return n.n.Kind == yaml.ScalarNode }

// IsMapping reports whether the value is a mapping.
func (n Node) IsMapping() bool { return n.n.Kind == yaml.MappingNode }

// IsSequence reports whether the value is a list.
func (n Node) IsSequence() bool { return n.n.Kind == yaml.SequenceNode }

// Decode reads the value by the rules of package config. What is wrong in it
// is told by the file's own error, so a caller may ignore the result.
func (n Node) Decode(into any) error {
	before := len(n.d.fails)
	n.d.value(n.n, reflect.ValueOf(into).Elem(), n.at, n.depth+1)
	if len(n.d.fails) > before {
		return n.d.fails[len(n.d.fails)-1]
	}
	return nil
}

// Errorf is an error at the value's place.
func (n Node) Errorf(format string, args ...any) error {
	return placedError{fmt.Errorf("%s:%d:%d: %s: "+format, append([]any{n.d.file, n.n.Line, n.n.Column, n.at.subject()}, args...)...)}
}

// placedError is an error that names its place already.
type placedError struct{ error }

func (e placedError) Unwrap() error { return e.error }
