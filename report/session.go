package report

import (
	"fmt"
	"io"
	"strings"

	"weir/diagnose"
	"weir/stream"
)

// Session is what there is to tell of one target: the records of a probe
// session or of a saved log.
type Session struct {
	Weir       string             // version of the program
	Target     string             // URL without credentials; "" where a log does not say
	Dialect    string             // "" = take it from the records
	DialectWhy string             // what chose it
	Requests   [][]*stream.Record // one group a request, in the order sent; a group holds its answers
	Findings   []diagnose.Finding
	Logs       string   // path of the event log, "" = none was written
	Sources    []string // files the records were read from; nil = they were just observed
	Choices    []string // what weir chose by itself: "model mock (first of GET /v1/models)"
	Unseen     []string // marks that no event reached
	Partial    bool     // interrupted: what was measured is reported
	View       View     // text only
}

// View says how text is to look. Its zero value is 100 columns without colour.
type View struct {
	Color bool
	Width int // columns; 0 = 100, at least 60
}

// Format is one way to write a session.
type Format struct {
	Name  string
	Doc   string
	Write func(io.Writer, Session) error
}

// Formats lists every format.
var Formats = []Format{
	{Name: "text", Doc: "for a person at a terminal", Write: WriteText},
	{Name: "json", Doc: "for a program: one object", Write: WriteJSON},
}

// Lookup finds a format by its name; the error of an unknown one lists them.
func Lookup(name string) (Format, error) {
	var names []string
	for _, f := range Formats {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, fmt.Errorf("unknown output format %q: expected one of %s", name, strings.Join(names, ", "))
}

// records are the answers of every request, in order.
func (s Session) records() []*stream.Record {
	var all []*stream.Record
	for _, g := range s.Requests {
		all = append(all, g...)
	}
	return all
}

// dialect is the session's dialect, by the first record that knows it.
func (s Session) dialect() (name, why string) {
	if s.Dialect != "" {
		return s.Dialect, s.DialectWhy
	}
	for _, r := range s.records() {
		if r.Dialect != "" {
			return r.Dialect, r.DialectWhy
		}
	}
	return "", ""
}

// target is the session's target, or the first record's.
func (s Session) target() string {
	if s.Target != "" {
		return s.Target
	}
	for _, r := range s.records() {
		if r.Target != "" {
			return r.Target
		}
	}
	return ""
}
