package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

const (
	maxBytes = 16 << 20
	maxNodes = 1 << 18 // aliases count each time they are used
	maxDepth = 100
	maxFails = 20 // errors told at once
)

// Unmarshaler is a type with a form of its own in YAML, such as one that may
// be written in short.
type Unmarshaler interface{ UnmarshalConfig(n Node) error }

// Validator is a type that checks itself once it is read. Its error is told
// with the place of the mapping that made it.
type Validator interface{ Validate() error }

// Decode reads one YAML document into a pointer. Struct fields take the key of
// their yaml tag (or their name in lower case); "-" takes none; ",inline" takes
// the keys of an embedded struct. Durations are written as 200ms, types with
// UnmarshalText as a scalar, null only where there is something to leave empty.
// file stands in the errors; all mistakes found are told, joined.
func Decode(file string, data []byte, into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("decode %s into %T: it is no pointer", file, into)
	}
	root, err := parse(file, data)
	if err != nil || root == nil {
		return err
	}
	d := &decoder{file: file, lookup: os.LookupEnv}
	d.value(root, v.Elem(), nil, 0)
	return errors.Join(d.fails...)
}

// parse gives the document's root node; nil where the document is empty.
func parse(file string, data []byte) (*yaml.Node, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("%s: larger than %d MiB: this is no configuration", file, maxBytes>>20)
	}
	var documents []yaml.Node
	if err := yaml.Load(data, &documents, yaml.WithAllDocuments()); err != nil {
		return nil, syntaxError(file, err)
	}
	switch {
	case len(documents) == 0 || len(documents[0].Content) == 0:
		return nil, nil
	case len(documents) > 1:
		second := documents[1]
		return nil, fmt.Errorf("%s:%d:%d: a second document begins here; give one document per file", file, second.Line, second.Column)
	}
	return documents[0].Content[0], nil
}

// syntaxError brings the parser's error to the form of ours.
func syntaxError(file string, err error) error {
	var e *yaml.LoadError
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", file, err)
	}
	message := e.Message
	if e.ContextMsg != "" {
		message += " (" + e.ContextMsg + ")"
	}
	at := e.Mark
	if at.Line == 0 {
		return fmt.Errorf("%s: not YAML: %s", file, message)
	}
	return fmt.Errorf("%s:%d:%d: not YAML: %s", file, at.Line, max(at.Column, 1), message)
}

type decoder struct {
	file   string
	lookup func(string) (string, bool)
	fails  []error
	nodes  int
	full   bool // a bound was met: nothing more is read
}

// path is the way of keys to a value, for errors.
type path []string

func (p path) key(k string) path { return append(p[:len(p):len(p)], k) }
func (p path) index(i int) path  { return p.key(fmt.Sprintf("[%d]", i)) }

func (p path) String() string { return strings.ReplaceAll(strings.Join(p, "."), ".[", "[") }

// in says where, as " in a.b", or nothing at the top.
func (p path) in() string {
	if len(p) == 0 {
		return ""
	}
	return " in " + p.String()
}

func (p path) subject() string {
	if len(p) == 0 {
		return "the document"
	}
	return p.String()
}

// fail tells a mistake, once: aliases may bring it up again.
func (d *decoder) fail(n *yaml.Node, format string, args ...any) {
	err := fmt.Errorf("%s:%d:%d: "+format, append([]any{d.file, n.Line, n.Column}, args...)...)
	for _, told := range d.fails {
		if told.Error() == err.Error() {
			return
		}
	}
	if len(d.fails) < maxFails {
		d.fails = append(d.fails, err)
	}
}

// value reads n into v.
func (d *decoder) value(n *yaml.Node, v reflect.Value, at path, depth int) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.nodes++
	switch {
	case len(d.fails) >= maxFails || d.full:
		return
	case d.nodes > maxNodes || depth > maxDepth:
		d.full = true
		d.fail(n, "too many or too deep values (aliases count each time)")
		return
	}
	if d.special(n, v, at, depth) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		d.pointer(n, v, at, depth)
	case reflect.Struct:
		d.structure(n, v, at, depth)
	case reflect.Map:
		d.mapping(n, v, at, depth)
	case reflect.Slice:
		d.sequence(n, v, at, depth)
	case reflect.Interface:
		d.any(n, v, at, depth)
	default:
		d.scalar(n, v, at)
	}
	d.validate(n, v, at)
}

func (d *decoder) pointer(n *yaml.Node, v reflect.Value, at path, depth int) {
	if isNull(n) {
		return
	}
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	d.value(n, v.Elem(), at, depth)
}

// special hands n to a type that reads itself.
func (d *decoder) special(n *yaml.Node, v reflect.Value, at path, depth int) bool {
	if !v.CanAddr() || v.Kind() == reflect.Pointer {
		return false
	}
	u, ok := v.Addr().Interface().(Unmarshaler)
	if !ok {
		return d.text(n, v, at)
	}
	before := len(d.fails)
	if err := u.UnmarshalConfig(Node{n, d, at, depth}); err != nil && len(d.fails) == before {
		d.told(n, at, err)
	}
	d.validate(n, v, at)
	return true
}

// told adds an error of another's making, with a place unless it has one.
func (d *decoder) told(n *yaml.Node, at path, err error) {
	var placed placedError
	if errors.As(err, &placed) {
		d.fails = append(d.fails, err)
		return
	}
	d.fail(n, "%s: %w", at.subject(), err)
}

func (d *decoder) validate(n *yaml.Node, v reflect.Value, at path) {
	if len(d.fails) > 0 || !v.CanAddr() {
		return
	}
	if x, ok := v.Addr().Interface().(Validator); ok {
		if err := x.Validate(); err != nil {
			d.told(n, at, err)
		}
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
