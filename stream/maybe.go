package stream

import "encoding/json"

// Maybe is a value that may be unknown. Its zero value is "missing"; in JSON
// a missing value is null, never 0.
type Maybe[T any] struct {
	v  T
	ok bool
}

// Some is a known value.
func Some[T any](v T) Maybe[T] { return Maybe[T]{v: v, ok: true} }

// None is a missing value; the same as the zero Maybe.
func None[T any]() Maybe[T] { return Maybe[T]{} }

// Get returns the value and whether it is known.
func (m Maybe[T]) Get() (T, bool) { return m.v, m.ok }

// Known reports whether there is a value.
func (m Maybe[T]) Known() bool { return m.ok }

// Or returns the value, or d where it is missing.
func (m Maybe[T]) Or(d T) T {
	if m.ok {
		return m.v
	}
	return d
}

// MarshalJSON writes the value, or null where it is missing.
func (m Maybe[T]) MarshalJSON() ([]byte, error) {
	if !m.ok {
		return []byte("null"), nil
	}
	return json.Marshal(m.v)
}

// UnmarshalJSON reads null as missing.
func (m *Maybe[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*m = Maybe[T]{}
		return nil
	}
	if err := json.Unmarshal(b, &m.v); err != nil {
		return err
	}
	m.ok = true
	return nil
}
