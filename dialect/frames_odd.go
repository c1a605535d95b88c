package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/valyala/fastjson"

	"weir/stream"
	"weir/wire"
)

// notJSON classifies data that is no JSON: several events that lack the blank
// line between them, a plain error text, or nothing known.
func (c *frames) notJSON(b []byte, err error) {
	if lines := bytes.Split(b, []byte("\n")); len(lines) > 1 && len(lines) <= 1<<16 && eachData(lines) {
		for _, line := range lines {
			from := len(c.out)
			c.data(line)
			c.placeUsage(from)
		}
		c.out[0].Note = "events without a blank line between them"
		return
	}
	if b[0] != '{' && b[0] != '[' && saysError(b) {
		c.fail(&stream.Fault{Message: redact(text(b))})
		return
	}
	if errors.Is(err, errTooManyValues) {
		c.other(err.Error())
		return
	}
	c.other("data is not JSON: " + excerpt(b))
}

// eachData reports whether every line is an object of its own or a sentinel.
func eachData(lines [][]byte) bool {
	for _, line := range lines {
		line = trimJSON(line)
		object := len(line) > 1 && line[0] == '{' && line[len(line)-1] == '}'
		if !(object && fastjson.ValidateBytes(line) == nil) && !isSentinel(line) {
			return false
		}
	}
	return true
}

// unknownField is a line that SSE itself ignores: an error under a field of
// its own, or bare JSON between the events, which may take many lines.
func (c *frames) unknownField(f wire.Frame) {
	if string(f.Field) == "error" {
		v, err := c.json.parse(f.Data)
		c.errorData(v, err, f.Data)
		return
	}
	line := bytes.TrimSpace(f.Raw)
	if len(c.bare) == 0 && (len(line) == 0 || line[0] != '{' && line[0] != '[') {
		c.other(fmt.Sprintf("unknown field %s", excerpt(f.Field)))
		return
	}
	const mostBytes, mostLines = 8 << 10, 256
	c.bare, c.lines = append(c.bare, f.Raw...), c.lines+1
	if len(c.bare) > mostBytes || c.lines > mostLines {
		c.bare, c.lines = c.bare[:0], 0
		c.other("JSON outside of any field, too long to be an error")
		return
	}
	if v, err := c.json.parse(trimJSON(c.bare)); err == nil {
		c.bare, c.lines = c.bare[:0], 0
		c.bareJSON(v)
		return
	}
	c.other("JSON outside of any field: " + excerpt(line))
}

func (c *frames) bareJSON(v *fastjson.Value) {
	if f := faultOf(v); f != nil {
		c.fail(f)
		return
	}
	c.p.event(v)
}

// unterminated is the tail that stood at the end of the body: a conforming
// parser discards it, but what it says counts.
func (c *frames) unterminated(f wire.Frame) {
	b := trimJSON(f.Data)
	for _, field := range [...]string{"data:", "error:"} {
		if rest, ok := bytes.CutPrefix(b, []byte(field)); ok {
			if b = trimJSON(rest); field == "error:" {
				c.name = "error"
			}
		}
	}
	switch {
	case len(b) == 0, b[0] == ':', isSentinel(b), c.name == "error":
		c.data(b)
		return
	}
	if v, err := c.json.parse(b); err != nil {
		c.other("cut off inside an event: " + excerpt(b))
	} else if f := faultOf(v); f != nil {
		c.fail(f)
	} else {
		c.data(b)
	}
}

// whole classifies a body that is no stream.
func (c *frames) whole(b []byte) {
	b = trimJSON(b)
	switch {
	case len(b) == 0:
		c.other("not a stream: empty body")
		return
	case b[0] == '<':
		c.other("not a stream: HTML or XML: " + excerpt(b))
		return
	}
	v, err := c.json.parse(b)
	if err != nil {
		c.other("not a stream: neither events nor JSON: " + excerpt(b))
		return
	}
	elements := array(v)
	if elements == nil {
		elements = []*fastjson.Value{v}
	}
	for _, x := range elements {
		if f := faultOf(x); f != nil {
			c.fail(f)
			continue
		}
		if isObject(x) {
			c.p.body(x)
		}
	}
	if len(c.out) == 0 && c.usage == nil {
		c.other("not a stream: JSON that is no answer: " + excerpt(b))
	}
}

// trimJSON drops JSON's white space, and a BOM, around b.
func trimJSON(b []byte) []byte {
	b = bytes.Trim(b, " \t\r\n")
	if len(b) > 2 && b[0] == 0xef {
		b = bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\ufeff")), " \t\r\n")
	}
	return b
}

// isSentinel reports whether b is [DONE], also quoted or with a suffix.
func isSentinel(b []byte) bool {
	return bytes.HasPrefix(b, []byte("[DONE]")) || bytes.HasPrefix(b, []byte(`"[DONE]"`))
}

func isPing(name string) bool {
	switch name {
	case "ping", "heartbeat", "keepalive", "keep-alive", "keep_alive":
		return true
	}
	return false
}

// saysError reports whether plain text reads like an error message.
func saysError(b []byte) bool {
	if len(b) > 4096 {
		return false
	}
	s := strings.ToLower(string(b))
	for _, word := range [...]string{"error", "exception", "failed", "failure", "timed out", "timeout"} {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}
