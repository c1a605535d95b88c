package eventlog

import (
	"encoding/json"
	"fmt"
	"time"

	"weir/stream"
)

// builder puts one record together from its lines.
type builder struct {
	rec     *stream.Record
	foreign bool                  // no request line: t0 is its first line's client time
	t0      time.Duration         // foreign: to subtract from client times
	exact   []stream.Maybe[int64] // per event: at_ns
	ended   bool
	last    time.Duration
}

// own begins a record from its request line.
func own(l *requestLine) *builder {
	r := &stream.Record{
		RequestID: l.RequestID, Choice: l.Choice, Choices: l.Choices, Run: l.Run, Index: l.Index,
		Lateness: l.Lateness.Maybe, InFlight: l.InFlight,
		Target: l.Target, Hop: l.Hop, Method: l.Method,
		Dialect: l.Dialect, DialectWhy: l.DialectWhy, Model: l.Model,
		Streamed: l.Streamed, UsageAsked: l.UsageAsked, Labels: l.Labels, Marks: l.Marks,
		Conn: l.Conn, Stamp: l.Stamp, StampWhy: l.StampWhy,
		Phases: stream.Phases{
			DNS: l.Phases.DNS.Maybe, Connect: l.Phases.Connect.Maybe, TLS: l.Phases.TLS.Maybe,
			RequestWritten: l.Phases.RequestWritten.Maybe, Headers: l.Phases.Headers.Maybe,
			FirstByte: l.Phases.FirstByte.Maybe,
		},
		Facts: l.Facts, Expect: stream.Expect(l.Expect), TextKept: l.TextKept, Prompt: l.Prompt,
	}
	if l.Start != nil {
		r.Start = l.Start.UTC()
	}
	return &builder{rec: r}
}

// foreign begins a record of a log without request lines.
func foreign(l *eventLine) *builder {
	return &builder{foreign: true, t0: l.ClientTime.Or(0), rec: &stream.Record{
		RequestID: l.RequestID, Choices: 1, Streamed: true, NoReads: true,
	}}
}

// add adds an event; it reports whether the event's time falls.
func (b *builder) add(l *eventLine) (falls bool) {
	e := stream.Event{
		Kind: kindOf(l), Choice: l.Choice, Name: l.Name, Text: l.Text, Summary: l.Summary, Tool: l.Tool,
		Tokens: l.TokenCount, ServiceSeq: l.ServiceSeq, ServiceTime: l.ServiceTime.Maybe,
		Took: l.Took.Maybe, Finish: l.Finish, Proof: stream.ParseProof(l.Proof), Fault: l.Fault,
		Seq: int(l.EventSeq.Or(0)), At: l.ClientTime.Or(0) - b.t0,
		Read: max(l.Read, 0), Arrival: max(l.Arrival, 0), Bytes: l.Bytes, Late: l.Late,
		Chars: l.Chars, Visible: l.Visible, Wide: l.Wide,
	}
	if len(l.Marks) > 0 {
		e.Marks = l.Marks
	}
	e.Usage = l.Usage
	var x extra
	x.take(l.Extra)
	e.BodyID, e.Model, e.Note, e.State = x.BodyID, x.Model, x.Note, x.State
	if b.foreign {
		b.adapt(&e, l)
	}
	b.rec.Events = append(b.rec.Events, e)
	b.exact = append(b.exact, l.AtNS)
	falls = e.At < b.last
	b.last = e.At
	return falls
}

// kindOf is the event's kind: as written, else as its event_type says. A
// business event of unsaid kind is text, which is what such logs hold.
func kindOf(l *eventLine) stream.Kind {
	if k, ok := stream.ParseKind(l.Kind); ok {
		return k
	}
	if k, ok := stream.ParseKind(l.EventType); ok {
		return k
	}
	if l.EventType == "business" {
		return stream.KindText
	}
	return stream.KindOther
}

// take reads what of extra is known; a foreign log may hold anything there.
func (x *extra) take(raw json.RawMessage) {
	if len(raw) > 0 && json.Unmarshal(raw, x) != nil {
		*x = extra{}
	}
}

// end adds what the end line knows.
func (b *builder) end(l *endLine) error {
	r := b.rec
	if l.Outcome != nil {
		r.Outcome = *l.Outcome
	}
	r.Reason, r.Detail, r.Finish, r.Fault = l.Reason, l.Detail, l.Finish, l.Fault
	r.Proof = stream.ParseProof(l.Proof)
	r.Usage = l.Usage
	r.End, r.HangAt, r.RcvOOO = l.End.Maybe, l.HangAt.Maybe, l.RcvOOO
	r.Whole, r.NoReads, r.Truncated, r.Notes = l.Whole, l.NoReads, l.Truncated, l.Notes
	b.ended = true
	if b.foreign { // its head is lost, and with it what the reads are counted from
		r.NoReads = true
		return nil
	}
	r.Arrivals, r.Reads = l.Arrivals, l.Reads
	for _, e := range r.Events {
		if e.Read > len(r.Reads) || e.Arrival > len(r.Arrivals) {
			return fmt.Errorf("event %d is of read %d and arrival %d, but the line holds %d reads and %d arrivals",
				e.Seq, e.Read, e.Arrival, len(r.Reads), len(r.Arrivals))
		}
	}
	return nil
}

// finish returns the record, after its end line or, where that is missing, as
// far as the log goes: then its outcome is unknown.
func (b *builder) finish() *stream.Record {
	r := b.rec
	switch {
	case b.foreign && !b.ended:
		b.conclude()
	case !b.ended:
		b.regroup()
		r.Notes = append(r.Notes, "its log has no end line: how it ended is unknown")
	}
	for i := range r.Events {
		e := &r.Events[i]
		if ns, ok := b.exact[i].Get(); ok {
			e.At = time.Duration(ns)
		} else {
			e.At = exactAt(e.At, e.Read, r.Reads)
		}
	}
	return r
}

// regroup makes reads and arrivals from the numbers on the events, where the
// end line that held them is lost. Those that brought no event are lost.
func (b *builder) regroup() {
	r := b.rec
	reads, arrivals := map[int]int{}, map[int]int{}
	for i := range r.Events {
		e := &r.Events[i]
		newRead := e.Read > 0 && reads[e.Read] == 0
		if newRead {
			r.Reads = append(r.Reads, stream.Read{At: e.At, App: e.At})
			reads[e.Read] = len(r.Reads)
		}
		if e.Arrival > 0 && arrivals[e.Arrival] == 0 {
			r.Arrivals = append(r.Arrivals, stream.Arrival{At: e.At})
			arrivals[e.Arrival] = len(r.Arrivals)
		}
		e.Read, e.Arrival = reads[e.Read], arrivals[e.Arrival]
		if e.Read > 0 {
			r.Reads[e.Read-1].Bytes += e.Bytes
		}
		if e.Arrival > 0 {
			r.Arrivals[e.Arrival-1].Bytes += e.Bytes
			if newRead {
				r.Arrivals[e.Arrival-1].Reads++
			}
		}
	}
	r.NoReads = len(r.Reads) == 0
}
