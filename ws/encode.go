package ws

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// Encode writes a message of this package: a struct of one of the kinds, or a
// pointer to it.
func Encode(m any) ([]byte, error) {
	t := reflect.TypeOf(m)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for _, k := range Kinds {
		if reflect.TypeOf(k.New()).Elem() != t {
			continue
		}
		b, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		head := `{"type":"` + k.Name + `"`
		if len(b) > 2 {
			head += ","
		}
		return append([]byte(head), b[1:]...), nil
	}
	return nil, fmt.Errorf("%v is no message of the protocol", t)
}

// EventBytes is an Event as a relay has it. Data may be nil: the event has none.
type EventBytes struct {
	ID             string // as GoodID says
	Seq            int64
	Event, EventID []byte
	Data           []byte
	Partial        bool
}

// AppendEvent appends an event message: the same that Encode makes of an Event,
// without an allocation for each.
func AppendEvent(dst []byte, e EventBytes) []byte {
	dst = append(dst, `{"type":"event","id":"`...)
	dst = append(dst, e.ID...)
	dst = append(dst, `","seq":`...)
	dst = strconv.AppendInt(dst, e.Seq, 10)
	dst = appendText(dst, `,"event":`, e.Event)
	dst = appendText(dst, `,"event_id":`, e.EventID)
	switch {
	case e.Data == nil:
	case utf8.Valid(e.Data):
		dst = append(dst, `,"data":`...)
		dst = appendString(dst, e.Data)
	default:
		dst = append(dst, `,"base64":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, e.Data)
		dst = append(dst, '"')
	}
	if e.Partial {
		dst = append(dst, `,"partial":true`...)
	}
	return append(dst, '}')
}

// appendText appends a field unless it is empty; what is not valid UTF-8 in it
// is replaced, as in every reader of SSE.
func appendText(dst []byte, name string, s []byte) []byte {
	if len(s) == 0 {
		return dst
	}
	dst = append(dst, name...)
	if utf8.Valid(s) {
		return appendString(dst, s)
	}
	return appendString(dst, []byte(string([]rune(string(s)))))
}

// appendString appends valid UTF-8 as a JSON string: only what must be escaped
// is.
func appendString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// Bytes is the event's data as the service sent it; ok is false where it has
// none, or where base64 is not what it should be.
func (e *Event) Bytes() (data []byte, ok bool) {
	switch {
	case e.Data != nil:
		return []byte(*e.Data), true
	case e.Base64 != "":
		b, err := base64.StdEncoding.DecodeString(e.Base64)
		return b, err == nil
	}
	return nil, false
}

// Bytes is the piece as the service sent it.
func (b *Body) Bytes() ([]byte, error) {
	if b.Base64 != "" {
		return base64.StdEncoding.DecodeString(b.Base64)
	}
	return []byte(b.Text), nil
}

// BodyOf is a piece of an answer.
func BodyOf(id string, p []byte) Body {
	if utf8.Valid(p) {
		return Body{ID: id, Text: string(p)}
	}
	return Body{ID: id, Base64: base64.StdEncoding.EncodeToString(p)}
}
