package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"weir/diagnose"
	"weir/metric"
	"weir/stream"
	"weir/table"
)

// WriteJSON writes the session as one JSON object on one line. What is not
// known is null; a metric's key is metric.Metric.JSON, so a new metric is a
// new key.
func WriteJSON(w io.Writer, s Session) error {
	dialect, why := s.dialect()
	out := sessionJSON{
		Weir: s.Weir, Definitions: metric.Version, Target: orNull(s.target()),
		Dialect: orNull(dialect), DialectWhy: orNull(why),
		Requests: []object{}, Summary: []object{}, Findings: []diagnose.Finding{},
		Logs: orNull(s.Logs), Sources: s.Sources, Choices: s.Choices, Unseen: s.Unseen, Partial: s.Partial,
	}
	for _, g := range s.Requests {
		for _, r := range g {
			out.Requests = append(out.Requests, requestJSON(r))
		}
	}
	classes, err := s.classes()
	if err != nil {
		return err
	}
	for _, c := range classes {
		for _, l := range table.Summarize(c.Group) {
			out.Summary = append(out.Summary, summaryJSON(l))
		}
	}
	for _, f := range s.Findings {
		out.Findings = append(out.Findings, findingOf(f))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(escapeControls(b.Bytes()))
	return err
}

type sessionJSON struct {
	Weir        string             `json:"weir"`
	Definitions int                `json:"definitions"` // version of the metrics' definitions
	Target      *string            `json:"target"`
	Dialect     *string            `json:"dialect"`
	DialectWhy  *string            `json:"dialect_why"`
	Requests    []object           `json:"requests"`
	Summary     []object           `json:"summary"`
	Findings    []diagnose.Finding `json:"findings"`
	Logs        *string            `json:"logs"`
	Sources     []string           `json:"sources,omitempty"`
	Choices     []string           `json:"choices,omitempty"`
	Unseen      []string           `json:"marks_never_seen,omitempty"`
	Partial     bool               `json:"partial"`
}

// requestJSON is one answer: its facts and every metric.
func requestJSON(r *stream.Record) object {
	out := metric.Measure(r).Fields()
	for _, name := range r.Marks { // a mark that was looked for is there, reached or not
		if name == metric.Useful {
			continue // a metric of its own
		}
		if m, ok := metric.Lookup(metric.MarkPrefix + name); ok {
			if _, ok := out[m.JSON]; !ok {
				out[m.JSON] = nil
			}
		}
	}
	for k, v := range map[string]any{
		"index": r.Index, "request_id": r.RequestID, "choice": r.Choice, "choices": r.Choices,
		"start": startOf(r), "hop": orNull(r.Hop), "streamed": r.Streamed, "whole": r.Whole,
		"conn": orNull(r.Conn), "http": orNull(r.Facts.HTTPVersion), "status": statusOf(r),
		"stamp": orNull(string(r.Stamp)), "stamp_why": orNull(r.StampWhy),
		"dialect": orNull(r.Dialect), "model": orNull(r.Model), "labels": r.Labels,
		"outcome": orNull(string(r.Outcome)), "reason": orNull(r.Reason), "detail": orNull(r.Detail),
		"end_proof": orNull(r.Proof.String()), "finish": orNull(r.Finish), "fault": r.Fault,
		"suspected_hang_at_ms": millisOf(r.HangAt), "facts": r.Facts, "notes": r.Notes,
	} {
		out[k] = v
	}
	return object{requestKeys(), out}
}

// requestKeys is the order of an answer's keys: who it was, how it ended, the
// metrics as metric.All lists them.
func requestKeys() []string {
	keys := []string{
		"index", "request_id", "choice", "choices", "start", "hop", "streamed", "whole", "conn", "http", "status",
		"stamp", "stamp_why", "dialect", "model", "labels", "outcome", "reason", "detail", "end_proof", "finish",
	}
	for _, m := range metric.All {
		keys = append(keys, m.JSON)
	}
	return append(keys, "shape", "first_event_kind", "token_source")
}

func startOf(r *stream.Record) any {
	if r.Start.IsZero() {
		return nil
	}
	return r.Start.UTC()
}

func statusOf(r *stream.Record) any {
	if r.Facts.Status == 0 {
		return nil
	}
	return r.Facts.Status
}

func millisOf(m stream.Maybe[time.Duration]) any {
	if d, ok := m.Get(); ok {
		return float64(d) / float64(time.Millisecond)
	}
	return nil
}

// summaryJSON is a metric over one kind of connection, path and mode.
func summaryJSON(l table.Line) object {
	out := l.Fields()
	for _, k := range []string{"conn", "hop"} {
		if out[k] == "" {
			out[k] = nil
		}
	}
	return object{[]string{
		"conn", "hop", "stream", "metric", "unit", "n", "reached", "p50", "p50_is", "min", "max", "p95", "p95_is",
	}, out}
}

// findingOf gives a finding without null lists.
func findingOf(f diagnose.Finding) diagnose.Finding {
	f.Evidence = append([]diagnose.Figure{}, f.Evidence...)
	f.Means = append([]string{}, f.Means...)
	return f
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// escapeControls escapes what encoding/json leaves and a terminal may obey:
// DEL, the 8-bit controls and the marks of direction. They stand only inside strings.
func escapeControls(b []byte) []byte {
	unsafe := func(r rune) bool { return r >= 0x7f && unsafeRune(r) }
	if bytes.IndexFunc(b, unsafe) < 0 {
		return b
	}
	out := make([]byte, 0, len(b)+32)
	for _, r := range string(b) { // valid UTF-8: encoding/json wrote it
		if unsafe(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, string(r)...)
		}
	}
	return out
}
