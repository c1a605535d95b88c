package eventlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"weir/stream"
)

// AppendRecord appends the lines of one record: a request line, a line per
// event, an end line. Without keepText neither answer text nor business state
// is written, nor the first bytes of a body that held an answer.
func AppendRecord(b []byte, r *stream.Record, keepText bool) ([]byte, error) {
	b, err := appendJSON(b, requestOf(r, keepText))
	if err != nil {
		return nil, fmt.Errorf("event log: request %s: %w", r.RequestID, err)
	}
	batched := batches(r)
	for i := range r.Events {
		e := &r.Events[i]
		if b, err = appendEvent(b, r, e, batched(e), keepText); err != nil {
			return nil, fmt.Errorf("event log: request %s, event %d: %w", r.RequestID, e.Seq, err)
		}
	}
	if b, err = appendJSON(b, endOf(r)); err != nil {
		return nil, fmt.Errorf("event log: end of request %s: %w", r.RequestID, err)
	}
	return b, nil
}

func requestOf(r *stream.Record, keepText bool) requestLine {
	l := requestLine{
		RequestID: r.RequestID, EventType: typeRequest, Log: Version,
		Run: r.Run, Index: r.Index, Choice: r.Choice, Choices: r.Choices,
		Target: r.Target, Hop: r.Hop, Method: r.Method,
		Dialect: r.Dialect, DialectWhy: r.DialectWhy, Model: r.Model,
		Streamed: r.Streamed, UsageAsked: r.UsageAsked, Labels: r.Labels, Marks: r.Marks,
		Conn: r.Conn, Stamp: r.Stamp, StampWhy: r.StampWhy,
		Lateness: ms{r.Lateness}, InFlight: r.InFlight, Expect: expect(r.Expect),
		Phases: phases{
			DNS: ms{r.Phases.DNS}, Connect: ms{r.Phases.Connect}, TLS: ms{r.Phases.TLS},
			RequestWritten: ms{r.Phases.RequestWritten}, Headers: ms{r.Phases.Headers},
			FirstByte: ms{r.Phases.FirstByte},
		},
		Facts: r.Facts, TextKept: keepText && r.TextKept,
	}
	if !r.Start.IsZero() {
		start := r.Start.UTC()
		l.Start = &start
	}
	if keepText {
		l.Prompt = r.Prompt
	}
	if !keepText && r.Outcome != stream.ErrorEarly {
		l.Facts.BodyStart = "" // it may be the answer
	}
	return l
}

func endOf(r *stream.Record) endLine {
	l := endLine{
		RequestID: r.RequestID, EventType: typeEnd,
		Reason: r.Reason, Detail: r.Detail, Proof: r.Proof.String(), Finish: r.Finish,
		Fault: r.Fault, Usage: r.Usage, End: ms{r.End}, HangAt: ms{r.HangAt},
		RcvOOO: r.RcvOOO, Whole: r.Whole, NoReads: r.NoReads, Truncated: r.Truncated,
		Notes: r.Notes, Arrivals: r.Arrivals, Reads: r.Reads,
	}
	if r.Outcome != stream.Unknown {
		l.Outcome = &r.Outcome
	}
	return l
}

// batches says of a business event whether another business event came in the
// same arrival (METRICS §1).
func batches(r *stream.Record) func(*stream.Event) bool {
	n := make([]int, len(r.Arrivals)+1)
	known := func(e *stream.Event) bool {
		return e.Kind.Business() && e.Arrival > 0 && e.Arrival < len(n)
	}
	for i := range r.Events {
		if e := &r.Events[i]; known(e) {
			n[e.Arrival]++
		}
	}
	return func(e *stream.Event) bool { return known(e) && n[e.Arrival] > 1 }
}

// appendEvent writes one event by hand: it is the only line whose cost counts
// while streams are being measured.
func appendEvent(b []byte, r *stream.Record, e *stream.Event, batched, keepText bool) ([]byte, error) {
	b = append(b, `{"request_id":`...)
	b = appendString(b, r.RequestID)
	b = strconv.AppendInt(append(b, `,"event_seq":`...), int64(e.Seq), 10)
	b = appendInt(append(b, `,"service_seq":`...), e.ServiceSeq)
	b = append(append(append(b, `,"event_type":"`...), e.Kind.EventType()...), '"')
	b = append(append(append(b, `,"kind":"`...), e.Kind.String()...), '"')
	b = appendMS(append(b, `,"service_time_ms":`...), e.ServiceTime)
	b = appendMS3(append(b, `,"client_time_ms":`...), e.At)
	if exactAt(micros(e.At), e.Read, r.Reads) != e.At {
		b = strconv.AppendInt(append(b, `,"at_ns":`...), int64(e.At), 10)
	}
	b = appendInt(append(b, `,"token_count":`...), e.Tokens)
	b = strconv.AppendBool(append(b, `,"batch_flag":`...), batched)
	b = strconv.AppendInt(append(b, `,"read":`...), int64(e.Read), 10)
	b = strconv.AppendInt(append(b, `,"arrival":`...), int64(e.Arrival), 10)
	b = appendInt(append(b, `,"chars":`...), e.Chars)
	b = appendInt(append(b, `,"visible":`...), e.Visible)
	b = appendInt(append(b, `,"wide":`...), e.Wide)
	b = strconv.AppendInt(append(b, `,"bytes":`...), int64(e.Bytes), 10)
	b = append(b, `,"marks":[`...)
	for i, m := range e.Marks {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, m)
	}
	b = append(b, ']')
	return appendRest(b, e, keepText)
}

// appendRest writes the keys that most events do without.
func appendRest(b []byte, e *stream.Event, keepText bool) ([]byte, error) {
	x := extra{BodyID: e.BodyID, Model: e.Model, Note: e.Note}
	if keepText && json.Valid(e.State) {
		x.State = e.State
	}
	b = append(b, `,"extra":`...)
	var err error
	if x.empty() {
		b = append(b, "null"...)
	} else if b, err = appendValue(b, x); err != nil {
		return nil, err
	}
	if e.Choice != 0 {
		b = strconv.AppendInt(append(b, `,"choice":`...), int64(e.Choice), 10)
	}
	for _, s := range [...]struct{ key, v string }{
		{"name", e.Name}, {"finish", e.Finish}, {"proof", e.Proof.String()}, {"tool", e.Tool}, {"text", kept(e.Text, keepText)},
	} {
		if s.v != "" {
			b = append(append(append(b, `,"`...), s.key...), `":`...)
			b = appendString(b, s.v)
		}
	}
	if e.Summary {
		b = append(b, `,"summary":true`...)
	}
	if e.Late {
		b = append(b, `,"late":true`...)
	}
	if e.Took.Known() {
		b = appendMS(append(b, `,"took_ms":`...), e.Took)
	}
	if e.Usage != nil {
		if b, err = appendValue(append(b, `,"usage":`...), e.Usage); err != nil {
			return nil, err
		}
	}
	if e.Fault != nil {
		if b, err = appendValue(append(b, `,"fault":`...), e.Fault); err != nil {
			return nil, err
		}
	}
	return append(b, '}', '\n'), nil
}

func kept(text string, keep bool) string {
	if keep {
		return text
	}
	return ""
}

// exactAt gives an event's time back from what client_time_ms holds: its
// read's stamp to the nanosecond, where they agree to the microsecond.
func exactAt(client time.Duration, read int, reads []stream.Read) time.Duration {
	if read > 0 && read <= len(reads) && micros(reads[read-1].At) == client {
		return reads[read-1].At
	}
	return client
}

func appendInt[T int | int64 | time.Duration](b []byte, m stream.Maybe[T]) []byte {
	if v, ok := m.Get(); ok {
		return strconv.AppendInt(b, int64(v), 10)
	}
	return append(b, "null"...)
}

func appendJSON(b []byte, v any) ([]byte, error) {
	b, err := appendValue(b, v)
	return append(b, '\n'), err
}

func appendValue(b []byte, v any) ([]byte, error) {
	w := bytes.NewBuffer(b)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(w.Bytes(), []byte("\n")), nil
}

const hex = "0123456789abcdef"

// appendString writes a JSON string; ill-formed UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r) // RuneError is U+FFFD itself
			i += n
			continue
		}
		i++
	}
	return append(b, '"')
}
