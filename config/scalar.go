package config

import (
	"encoding"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// expand replaces ${VAR} by the environment's value, $${ by ${. ok is false
// where that failed and was told.
func (d *decoder) expand(n *yaml.Node, at path) (s string, ok bool) {
	rest := n.Value
	var b strings.Builder
	for {
		i := strings.Index(rest, "${")
		if i < 0 {
			b.WriteString(rest)
			return b.String(), true
		}
		if i > 0 && rest[i-1] == '$' {
			b.WriteString(rest[:i-1] + "${")
			rest = rest[i+2:]
			continue
		}
		b.WriteString(rest[:i])
		name, after, closed := strings.Cut(rest[i+2:], "}")
		if !closed || !isName(name) {
			d.fail(n, "%s: ${ begins the name of an environment variable, as in ${HOME}; write $${ for the characters themselves", at.subject())
			return "", false
		}
		value, set := d.lookup(name)
		if !set {
			d.fail(n, "%s: the environment variable %s is not set", at.subject(), name)
			return "", false
		}
		b.WriteString(value)
		rest = after
	}
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

var durationType = reflect.TypeFor[time.Duration]()

// scalar reads n into a string, bool, number or duration.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, at path) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		d.fail(n, "%s is %s; it takes %s", at.subject(), kindOf(n), takes(v))
		return
	}
	s, ok := d.expand(n, at)
	if !ok {
		return
	}
	if !set(v, s) {
		d.fail(n, "%s: %q is no good; it takes %s", at.subject(), short(n.Value), takes(v))
	}
}

// set writes s into v, and reports whether it could.
func set(v reflect.Value, s string) bool {
	if v.Type() == durationType {
		x, err := time.ParseDuration(s)
		v.SetInt(int64(x))
		return err == nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
		return true
	case reflect.Bool:
		v.SetBool(s == "true")
		return s == "true" || s == "false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x, err := strconv.ParseInt(s, 10, v.Type().Bits())
		v.SetInt(x)
		return err == nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		x, err := strconv.ParseUint(s, 10, v.Type().Bits())
		v.SetUint(x)
		return err == nil
	case reflect.Float32, reflect.Float64:
		x, err := strconv.ParseFloat(s, v.Type().Bits())
		v.SetFloat(x)
		return err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
	}
	return false
}

// takes says what v takes, for errors.
func takes(v reflect.Value) string {
	if v.Type() == durationType {
		return "a duration with its unit, such as 200ms, 1.5s or 5m"
	}
	switch v.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number, not negative"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "nothing that a file can hold (" + v.Type().String() + ")"
}

// text reads n into a type with UnmarshalText.
func (d *decoder) text(n *yaml.Node, v reflect.Value, at path) bool {
	u, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	if !ok {
		return false
	}
	if n.Kind != yaml.ScalarNode || isNull(n) {
		d.fail(n, "%s is %s; it takes one value", at.subject(), kindOf(n))
		return true
	}
	if s, ok := d.expand(n, at); ok {
		if err := u.UnmarshalText([]byte(s)); err != nil {
			if s != n.Value { // the error may quote what the environment held
				d.fail(n, "%s: the value of %s is no good", at.subject(), short(n.Value))
			} else {
				d.fail(n, "%s: %w", at.subject(), err)
			}
		}
	}
	return true
}

// anyScalar reads a scalar by what it looks like (YAML 1.2); nil is null.
func (d *decoder) anyScalar(n *yaml.Node, at path) any {
	if isNull(n) {
		return nil
	}
	s, ok := d.expand(n, at)
	switch {
	case !ok:
		return nil
	case n.ShortTag() == "!!bool" && (s == "true" || s == "false"):
		return s == "true"
	case n.ShortTag() == "!!int":
		if x, err := strconv.ParseInt(s, 10, 64); err == nil {
			return x
		}
	case n.ShortTag() == "!!float":
		if x, err := strconv.ParseFloat(s, 64); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
			return x
		}
	}
	return s
}
