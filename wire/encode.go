package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// SSEEvent is one event to encode. The zero value is an empty block, which a
// parser does not see.
type SSEEvent struct {
	Event string // event type; "" writes no event line
	ID    string // event ID; "" writes no id line
	Retry int64  // reconnection time in ms; 0 writes no retry line
	// Data is the event's data, a data line for each of its lines; nil writes
	// none, which makes a block that conforming parsers do not dispatch. Empty
	// but not nil writes one empty data line.
	Data []byte

	NoSpace bool // no space after the colon, except where the value begins with one
	CRLF    bool // lines end in CRLF instead of LF
}

// AppendSSE appends the event with its blank line. It refuses what a parser
// would read back as something else: CR, LF or NUL in the event type or ID, CR
// in the data, a negative retry. On an error dst is returned as it was.
func AppendSSE(dst []byte, e SSEEvent) ([]byte, error) {
	if err := e.check(); err != nil {
		return dst, err
	}
	if e.Event != "" {
		dst = e.line(dst, "event", e.Event)
	}
	if e.ID != "" {
		dst = e.line(dst, "id", e.ID)
	}
	if e.Retry > 0 {
		dst = e.line(dst, "retry", strconv.FormatInt(e.Retry, 10))
	}
	for data, more := e.Data, e.Data != nil; more; {
		var line []byte
		line, data, more = bytes.Cut(data, []byte{'\n'})
		dst = appendField(dst, "data", line, e.NoSpace, e.CRLF)
	}
	return appendLineEnd(dst, e.CRLF), nil
}

func (e SSEEvent) check() error {
	if err := refuse("sse event type", e.Event); err != nil {
		return err
	}
	if err := refuse("sse event id", e.ID); err != nil {
		return err
	}
	if i := bytes.IndexByte(e.Data, '\r'); i >= 0 {
		return fmt.Errorf("sse data holds a CR at byte %d, which SSE would read as a line end; encode the text, for example as JSON", i)
	}
	if e.Retry < 0 {
		return fmt.Errorf("sse retry is %d ms; it must be 0 (none) or more", e.Retry)
	}
	return nil
}

func (e SSEEvent) line(dst []byte, name, value string) []byte {
	return appendField(dst, name, value, e.NoSpace, e.CRLF)
}

// appendField writes the space also where the value begins with one: a parser
// drops the first.
func appendField[T string | []byte](dst []byte, name string, value T, noSpace, crlf bool) []byte {
	dst = append(dst, name...)
	dst = append(dst, ':')
	if !noSpace || len(value) > 0 && value[0] == ' ' {
		dst = append(dst, ' ')
	}
	dst = append(dst, value...)
	return appendLineEnd(dst, crlf)
}

func appendLineEnd(dst []byte, crlf bool) []byte {
	if crlf {
		return append(dst, "\r\n"...)
	}
	return append(dst, '\n')
}

// AppendComment appends a comment line and a blank line, as services send them
// for heartbeats. It belongs between events, not into one, and refuses a text
// that holds CR, LF or NUL.
func AppendComment(dst []byte, text string) ([]byte, error) {
	if err := refuse("sse comment", text); err != nil {
		return dst, err
	}
	dst = appendField(dst, "", text, text == "", false)
	return append(dst, '\n'), nil
}

// AppendNDJSON appends one JSON value as a line. It refuses a blank value and
// one that holds CR, LF, NUL or begins with a byte order mark; it does not check
// that the rest is JSON.
func AppendNDJSON(dst, json []byte) ([]byte, error) {
	if isBlank(json) {
		return dst, errors.New("ndjson value is blank, which would read as a heartbeat")
	}
	if err := refuse("ndjson value", json); err != nil {
		return dst, err
	}
	if len(withoutBOM(json)) < len(json) {
		return dst, errors.New("ndjson value begins with a byte order mark, which JSON does not allow; remove it")
	}
	dst = append(dst, json...)
	return append(dst, '\n'), nil
}

// refuse returns an error naming the first CR, LF or NUL of v.
func refuse[T string | []byte](what string, v T) error {
	for i := range len(v) {
		if c := v[i]; c == '\r' || c == '\n' || c == 0 {
			return fmt.Errorf("%s holds %q at byte %d, which would break the stream; remove or encode it", what, c, i)
		}
	}
	return nil
}
