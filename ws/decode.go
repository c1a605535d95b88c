package ws

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Decode reads a message of one side, "client" or "gateway": a pointer to the
// type of its kind. Its error says what is wrong and quotes nothing that could
// be a key.
func Decode(from string, p []byte) (any, error) {
	if !utf8.Valid(p) {
		return nil, errors.New("the message is not valid UTF-8")
	}
	var t struct {
		Type *string `json:"type"`
	}
	if err := json.Unmarshal(p, &t); err != nil {
		return nil, fmt.Errorf("the message is no JSON object: %w", plain(err))
	}
	if t.Type == nil {
		return nil, fmt.Errorf("the message has no type; it is one of %s", names(from))
	}
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == *t.Type && k.From == from })
	if i < 0 {
		return nil, fmt.Errorf("%.40q is no type of message; it is one of %s", *t.Type, names(from))
	}
	m := Kinds[i].New()
	if err := strict(p, m); err != nil {
		return nil, fmt.Errorf("%s: %w", Kinds[i].Name, err)
	}
	return m, nil
}

// strict decodes what has a type field besides those of m.
func strict(p []byte, m any) error {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(p, &fields); err != nil {
		return plain(err)
	}
	known := fieldsOf(reflect.TypeOf(m).Elem())
	for name := range fields {
		if name != "type" && !slices.ContainsFunc(known, func(f field) bool { return f.name == name }) {
			return fmt.Errorf("it has no field %.40q", name)
		}
	}
	for _, f := range known {
		if v, there := fields[f.name]; f.required && (!there || bytes.Equal(v, []byte("null"))) {
			return fmt.Errorf("%s is missing", f.name)
		}
	}
	return plain(json.NewDecoder(bytes.NewReader(p)).Decode(m))
}

// plain is a decoding error without the value that it is about.
func plain(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("%s must be %s", kind.Field, kind.Type)
	case errors.As(err, &kind):
		return fmt.Errorf("a %s stands where there is to be an object", kind.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it breaks off")
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("it is not well-formed at byte %d", syntax.Offset)
	}
	return err
}

func names(from string) string {
	var list []string
	for _, k := range Kinds {
		if k.From == from {
			list = append(list, k.Name)
		}
	}
	return strings.Join(list, ", ")
}

// GoodID reports whether a client may call a stream so.
func GoodID(s string) bool {
	if len(s) < 1 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
