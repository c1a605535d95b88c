package mock

import (
	"errors"
	"strings"
)

var errInjection = errors.New("a name or value with a line end would forge an event")

// appendEvent appends one SSE event; data nil gives a block without data.
func (f sseForm) appendEvent(dst []byte, name string, data []byte) ([]byte, error) {
	if strings.ContainsAny(name, "\r\n\x00") || strings.ContainsAny(string(data), "\r\n\x00") {
		return dst, errInjection
	}
	if name != "" {
		dst = f.line(append(f.field(dst, "event"), name...))
	}
	if data != nil {
		dst = f.line(append(f.field(dst, "data"), data...))
	}
	return f.line(dst), nil
}

func (f sseForm) appendComment(dst []byte, text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n\x00") {
		return dst, errInjection
	}
	return f.line(f.line(append(f.field(dst, ""), text...))), nil
}

func (f sseForm) field(dst []byte, name string) []byte {
	dst = append(append(dst, name...), ':')
	if !f.NoSpace {
		dst = append(dst, ' ')
	}
	return dst
}

func (f sseForm) line(dst []byte) []byte {
	if f.CRLF {
		dst = append(dst, '\r')
	}
	return append(dst, '\n')
}
