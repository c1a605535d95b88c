package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/dialect"
	"weir/stream"
	"weir/wire"
)

// view shows a decoded body.
type view interface {
	begin(format string, d dialect.Dialect, why string)
	frame(f frameView)
	end(e endView) error
}

// frameView is a frame as it is shown: text repaired, bytes its own.
type frameView struct {
	kind   wire.Kind
	name   string // event type; of an SSE event without one "message"
	data   string
	id     string
	events []eventView
}

type eventView struct {
	kind   stream.Kind
	name   string
	text   string
	tokens stream.Maybe[int]
	note   string
	fault  string
}

type endView struct {
	retry    int64 // ms
	hasRetry bool
	lastID   string
	outcome  stream.Outcome
	reason   string
}

func viewFrame(f wire.Frame, sse bool) frameView {
	v := frameView{kind: f.Kind, name: wire.Text(f.Event), data: wire.Text(f.Data), id: wire.Text(f.ID)}
	switch {
	case f.Kind == wire.UnknownField:
		v.data = wire.Text(bytes.TrimRight(f.Raw, "\r\n"))
	case f.Kind == wire.Event && sse && v.name == "":
		v.name = "message"
	}
	return v
}

// jsonView writes the contract of weir decode -o json.
type jsonView struct{ enc *json.Encoder }

func newJSONView(w io.Writer) jsonView {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return jsonView{enc}
}

type jsonFrame struct {
	Frame string               `json:"frame"`
	Event stream.Maybe[string] `json:"event"`
	Data  string               `json:"data"`
	ID    string               `json:"id"`
}

type jsonEvent struct {
	jsonFrame
	Kind   stream.Kind       `json:"kind"`
	Text   string            `json:"text"`
	Tokens stream.Maybe[int] `json:"tokens"`
}

type jsonEnd struct {
	Frame       string               `json:"frame"`
	Retry       stream.Maybe[int64]  `json:"retry"`
	LastEventID string               `json:"last_event_id"`
	Outcome     stream.Maybe[string] `json:"outcome"`
}

func (v jsonView) begin(string, dialect.Dialect, string) {}

func (v jsonView) frame(f frameView) {
	line := jsonFrame{Frame: f.kind.String(), Event: orNull(f.name), Data: f.data, ID: f.id}
	if len(f.events) == 0 {
		_ = v.enc.Encode(line) // the buffer behind keeps the error
	}
	for _, e := range f.events {
		_ = v.enc.Encode(jsonEvent{line, e.kind, e.text, e.tokens})
	}
}

func (v jsonView) end(e endView) error {
	line := jsonEnd{Frame: "end", LastEventID: e.lastID, Outcome: orNull(string(e.outcome))}
	if e.hasRetry {
		line.Retry = stream.Some(e.retry)
	}
	return v.enc.Encode(line)
}

// orNull is s, or missing where it is empty.
func orNull(s string) stream.Maybe[string] {
	if s == "" {
		return stream.None[string]()
	}
	return stream.Some(s)
}

// textView writes a line a frame for people; an ID where it changes.
type textView struct {
	out io.Writer
	id  string
}

func (v *textView) begin(format string, d dialect.Dialect, why string) {
	if d == nil {
		fmt.Fprintf(v.out, "%s, no dialect\n", format)
		return
	}
	fmt.Fprintf(v.out, "%s, dialect %s (%s)\n", format, d.Name(), why)
}

func (v *textView) frame(f frameView) {
	head := fmt.Sprintf("%-13s", f.kind)
	if f.name != "" && f.name != "message" {
		head += " " + quoted(f.name)
	}
	if f.id != v.id {
		head += " id " + quoted(f.id)
		v.id = f.id
	}
	if len(f.events) == 0 {
		fmt.Fprintf(v.out, "%s %s\n", head, quoted(f.data))
	}
	for i, e := range f.events {
		if i > 0 {
			head = fmt.Sprintf("%-13s", "")
		}
		fmt.Fprintln(v.out, strings.TrimRight(fmt.Sprintf("%s %-9s %s", head, e.kind, e.detail(f.data)), " "))
	}
}

// detail is what an event says: its text, its fault, its note or, where it has
// none, the frame's data.
func (e eventView) detail(data string) string {
	var parts []string
	if e.name != "" {
		parts = append(parts, e.name)
	}
	switch {
	case e.text != "":
		parts = append(parts, quoted(e.text))
	case e.fault != "":
		parts = append(parts, quoted(e.fault))
	case e.note == "" && data != "":
		parts = append(parts, quoted(data))
	}
	if n, ok := e.tokens.Get(); ok {
		parts = append(parts, fmt.Sprintf("tokens %d", n))
	}
	if e.note != "" {
		parts = append(parts, "("+e.note+")")
	}
	return strings.Join(parts, " ")
}

func (v *textView) end(e endView) error {
	_, err := fmt.Fprintf(v.out, "%-13s%s\n", "end", e.text())
	return err
}

func (e endView) text() string {
	var b strings.Builder
	if e.outcome != "" {
		fmt.Fprintf(&b, " outcome %s", e.outcome)
		if e.reason != "" {
			fmt.Fprintf(&b, " (%s)", e.reason)
		}
	}
	if e.hasRetry {
		fmt.Fprintf(&b, " retry %d ms", e.retry)
	}
	if e.lastID != "" {
		b.WriteString(" last event id " + quoted(e.lastID))
	}
	return b.String()
}

// quoted makes every character visible and cuts what is long.
func quoted(s string) string {
	const most = 100
	if utf8.RuneCountInString(s) > most {
		r := []rune(s[:min(len(s), most*utf8.UTFMax)])
		return strconv.Quote(string(r[:most])) + "..."
	}
	return strconv.Quote(s)
}
