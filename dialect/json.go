package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"weir/wire"
)

// The JSON of frames is read leniently on purpose (control characters inside
// strings, unknown escapes, NaN pass): an odd frame is still a frame. What is
// passed on as JSON (business state) is validated again.

const (
	largeFrame = 64 << 10 // above this a frame's values are counted before it is parsed
	maxValues  = 1 << 18  // a parsed value takes about 120 bytes
)

var errTooManyValues = errors.New("more than 262144 JSON values in one frame")

// reader parses one frame's JSON at a time. Values are valid until the next
// parse, or until release.
type reader struct {
	p     *fastjson.Parser // nil: none is lent
	large bool             // it holds a large frame
}

// parsers lends parsers for the time of a frame: thousands of streams wait at
// once, and a few are being read.
var parsers fastjson.ParserPool

// release gives the parser back, unless it holds a large frame's memory.
func (r *reader) release() {
	if r.p != nil && !r.large {
		parsers.Put(r.p)
	}
	r.p, r.large = nil, false
}

// parse reads one JSON text. Depth is bounded (300) by the parser, the number
// of values by maxValues, so that a hostile frame cannot blow up memory.
func (r *reader) parse(b []byte) (*fastjson.Value, error) {
	large := len(b) > largeFrame
	if large && values(b) > maxValues {
		return nil, errTooManyValues
	}
	if bytes.Contains(b, surrogateLower) || bytes.Contains(b, surrogateUpper) {
		b = repairSurrogates(make([]byte, 0, len(b)), b)
	}
	if r.large { // the last text's memory is not kept for those that follow
		r.release()
	}
	if r.p == nil {
		r.p = parsers.Get()
	}
	r.large = large
	return r.p.ParseBytes(b)
}

// values is an upper bound of the values in b.
func values(b []byte) int {
	n := 1
	for _, c := range [...]string{",", "[", "{", ":"} {
		n += bytes.Count(b, []byte(c))
	}
	return n
}

var surrogateLower, surrogateUpper = []byte(`\ud`), []byte(`\uD`)

// repairSurrogates copies b, writing each unpaired \uD800–\uDFFF as \ufffd: it
// has no UTF-8 form, and the parser would leave it standing as text.
func repairSurrogates(dst, b []byte) []byte {
	for i := 0; i < len(b); {
		if b[i] != '\\' || i+1 >= len(b) {
			dst = append(dst, b[i])
			i++
			continue
		}
		hi := escapedUnit(b[i:])
		switch {
		case hi < 0xd800 || hi > 0xdfff: // another escape, kept whole
			dst = append(dst, b[i:i+2]...)
			i += 2
		case hi < 0xdc00 && isLow(escapedUnit(b[i+6:])):
			dst = append(dst, b[i:i+12]...)
			i += 12
		default:
			dst = append(dst, `\ufffd`...)
			i += 6
		}
	}
	return dst
}

func isLow(u int) bool { return u >= 0xdc00 && u <= 0xdfff }

// escapedUnit is the UTF-16 unit of the \uXXXX that b begins with, or -1.
func escapedUnit(b []byte) int {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

// str is a copy of a JSON string as valid UTF-8; "" where v is none.
func str(v *fastjson.Value) string { return text(strBytes(v)) }

// strBytes is the string's bytes, valid until the next parse.
func strBytes(v *fastjson.Value) []byte {
	if v == nil || v.Type() != fastjson.TypeString {
		return nil
	}
	b, _ := v.StringBytes()
	return b
}

// text is a copy of b as valid UTF-8.
func text(b []byte) string { return wire.Text(b) }

// scalar is a string, number or boolean as text; "" where v is none of these.
func scalar(v *fastjson.Value) string {
	if v == nil {
		return ""
	}
	switch v.Type() {
	case fastjson.TypeString:
		return str(v)
	case fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		return text(v.MarshalTo(nil))
	}
	return ""
}

// jsonText is the JSON of v, or the string itself where v is one.
func jsonText(v *fastjson.Value) string {
	switch {
	case v == nil || v.Type() == fastjson.TypeNull:
		return ""
	case v.Type() == fastjson.TypeString:
		return str(v)
	}
	return text(v.MarshalTo(nil))
}

// integer is a whole number from 0 to 2^53, also where it is written as 3.0.
func integer(v *fastjson.Value) (int, bool) {
	f, ok := number(v)
	if !ok || f < 0 || f > 1<<53 || f != math.Trunc(f) {
		return 0, false
	}
	return int(f), true
}

// number is a finite JSON number.
func number(v *fastjson.Value) (float64, bool) {
	if v == nil || v.Type() != fastjson.TypeNumber {
		return 0, false
	}
	f, err := v.Float64()
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// has reports whether v holds a value that is not null at key.
func has(v *fastjson.Value, key string) bool {
	x := v.Get(key)
	return x != nil && x.Type() != fastjson.TypeNull
}

// array is v's elements where it is an array.
func array(v *fastjson.Value) []*fastjson.Value {
	if v == nil || v.Type() != fastjson.TypeArray {
		return nil
	}
	a, _ := v.Array()
	return a
}

func isObject(v *fastjson.Value) bool { return v != nil && v.Type() == fastjson.TypeObject }

func isTrue(v *fastjson.Value) bool { return v != nil && v.Type() == fastjson.TypeTrue }

// excerpt shows the beginning of bytes that could not be understood.
func excerpt(b []byte) string {
	const most = 80
	b = bytes.TrimSpace(b)
	if len(b) <= most {
		return fmt.Sprintf("%q", text(b))
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(b[cut]) {
		cut--
	}
	return fmt.Sprintf("%q…", text(b[:cut]))
}
