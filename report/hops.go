package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Hops is one request as every party that it passed wrote it down, on the time
// line of the first. Times are milliseconds.
type Hops struct {
	RequestID string   `json:"request_id"`
	TraceID   string   `json:"trace_id,omitempty"` // W3C
	Hops      []Hop    `json:"hops"`
	Moments   []Moment `json:"moments"` // in the order of the line; those without a place on it last
	Notes     []string `json:"notes"`   // how the line was made, and what is doubtful
}

// Hop is one party.
type Hop struct {
	Name     string            `json:"name"`
	Start    *time.Time        `json:"start"` // when it sent or got the request, by its own wall clock
	Target   string            `json:"target,omitempty"`
	Dialect  string            `json:"dialect,omitempty"`
	Model    string            `json:"model,omitempty"`
	Conn     string            `json:"conn,omitempty"` // cold | warm
	Stamp    string            `json:"stamp,omitempty"`
	Status   int               `json:"status,omitempty"`
	Outcome  *string           `json:"outcome"`
	Reason   string            `json:"reason,omitempty"`
	Finish   string            `json:"finish,omitempty"`
	IDs      map[string]string `json:"ids,omitempty"` // those that others gave the request
	Extra    map[string]string `json:"extra,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
	Placed   *Placed           `json:"placed"` // null: on no line but its own; the first is at 0
	Messages []string          `json:"-"`      // for a person, after the outcome
}

// Placed says where a party's zero lies on the line, and how far the wall clocks
// are apart by that.
type Placed struct {
	LowMS      float64  `json:"low_ms"`
	HighMS     float64  `json:"high_ms"`
	Pairs      int      `json:"pairs"` // outputs of both sides that bound it
	ClockLowMS *float64 `json:"clock_offset_low_ms"`
	ClockHigh  *float64 `json:"clock_offset_high_ms"`
}

// Moment is something that happened at a party.
type Moment struct {
	Hop      string   `json:"hop"`
	What     string   `json:"what"`
	Note     string   `json:"note,omitempty"`
	OwnMS    float64  `json:"own_ms"` // since the party's own request, by its own clock
	AtMS     *float64 `json:"at_ms"`  // on the line; null: it has no place there
	WithinMS float64  `json:"within_ms"`
}

// WriteHopsJSON writes it for a program: one object on a line.
func WriteHopsJSON(w io.Writer, h Hops) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(h); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err := w.Write(escapeControls(b.Bytes()))
	return err
}

// WriteHops writes it for a person.
func WriteHops(w io.Writer, h Hops, v View) error {
	p := newPage(v)
	trace := ""
	if h.TraceID != "" {
		trace = "  trace " + h.TraceID
	}
	p.line(span{"request " + h.RequestID, bold}, span{trace, dim})
	wide := 0
	for _, hop := range h.Hops {
		wide = max(wide, width(hop.Name))
	}
	for _, hop := range h.Hops {
		p.para(2, span{pad(hop.Name, wide) + "  ", cyan}, span{strings.Join(hop.facts(), ", "), plainly})
	}
	placed, apart := h.tables()
	p.blank()
	p.table(2, []bool{true, false, false, false}, placed)
	if len(apart) > 1 {
		p.heading("by its own clock only", "")
		p.table(2, []bool{true, false, false, false}, apart)
	}
	if len(h.Notes) > 0 {
		p.blank()
	}
	for _, n := range h.Notes {
		p.para(0, span{}, span{n, dim})
	}
	return p.writeTo(w)
}

// facts are a party in words, its outcome last.
func (h Hop) facts() []string {
	var list []string
	add := func(format, s string) {
		if s != "" {
			list = append(list, fmt.Sprintf(format, s))
		}
	}
	add("asked %s", h.Target)
	add("%s", h.Dialect)
	add("model %s", h.Model)
	add("%s connection", h.Conn)
	for _, name := range []string{"x-request-id", "body", "stream"} {
		add(name+" id %s", h.IDs[name])
	}
	list = append(list, h.Messages...)
	if h.Outcome != nil {
		end := *h.Outcome
		if h.Reason != "" {
			end += " (" + h.Reason + ")"
		}
		list = append(list, end)
	}
	return append(list, h.Notes...)
}

// tables are the moments with a place on the line, and those without.
func (h Hops) tables() (placed, apart [][]span) {
	head := func(at string) []span {
		return []span{{at, dim}, {"", plainly}, {"hop", dim}, {"what happened", dim}}
	}
	placed, apart = [][]span{head("at")}, [][]span{head("at")}
	for _, m := range h.Moments {
		what := m.What
		if m.Note != "" {
			what += ": " + m.Note
		}
		row := []span{{Millis(m.OwnMS), plainly}, {"", dim}, {m.Hop, cyan}, {what, plainly}}
		if m.AtMS == nil {
			apart = append(apart, row)
			continue
		}
		row[0].text = lineTime(*m.AtMS)
		if m.WithinMS > 0 {
			row[1].text = "± " + Millis(m.WithinMS)
		}
		placed = append(placed, row)
	}
	return placed, apart
}

// lineTime shows a place on the line: always ms with two decimals, so that the
// order can be seen.
func lineTime(ms float64) string { return fmt.Sprintf("%.2f ms", ms) }
