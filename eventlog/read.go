package eventlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"weir/stream"
)

// MaxLine is the longest line a log may have, in bytes: a record's reads
// stand on one line, and so does an event's text.
const MaxLine = 64 << 20

// Log is what was read from one log.
type Log struct {
	Records  []*stream.Record // in the order in which they ended
	Torn     bool             // a line or a zstd frame was cut by a crash; the rest was read
	Warnings []string         // each with file and line
}

// Read reads a whole log, plain or zstd. name stands in errors and warnings.
// A file that is no log is an error naming the line and what is expected;
// what was read before it is returned too.
func Read(r io.Reader, name string) (*Log, error) {
	l := &Log{}
	s := scanner{name: name, log: l, open: map[string]*builder{}, yield: func(r *stream.Record) error {
		l.Records = append(l.Records, r)
		return nil
	}}
	return l, s.scan(r)
}

// Scan reads a log record by record, without holding more than the records
// that are open at once. An error of yield ends it and is returned. The Log it
// returns has no records.
func Scan(r io.Reader, name string, yield func(*stream.Record) error) (*Log, error) {
	l := &Log{}
	s := scanner{name: name, log: l, open: map[string]*builder{}, yield: yield}
	return l, s.scan(r)
}

type scanner struct {
	name  string
	log   *Log
	yield func(*stream.Record) error

	line    int
	buf     []byte
	good    int   // lines that were understood
	foreign int   // records without a request line so far
	bad     error // of a line: forgiven if a torn mark or the end of the file follows
	badLine int
	badCut  bool // it looks cut short
	open    map[string]*builder
	order   []*builder
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

func (s *scanner) scan(r io.Reader) error {
	br := bufio.NewReaderSize(r, 64<<10)
	if head, _ := br.Peek(4); bytes.Equal(head, zstdMagic) {
		dec, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		defer dec.Close()
		br = bufio.NewReaderSize(dec, 64<<10)
	}
	for {
		line, ended, err := s.next(br)
		if err != nil {
			return err
		}
		if err := s.take(line, ended); err != nil {
			return err
		}
		if !ended {
			return s.finish()
		}
	}
}

// next reads a line without its end. ended is false at the end of the file.
func (s *scanner) next(br *bufio.Reader) (line []byte, ended bool, err error) {
	s.line++
	s.buf = s.buf[:0]
	for {
		part, err := br.ReadSlice('\n')
		s.buf = append(s.buf, part...)
		switch {
		case len(s.buf) > MaxLine:
			return nil, false, s.errorf("a line longer than %d MiB: a weir event log has none", MaxLine>>20)
		case err == nil:
			return s.buf[:len(s.buf)-1], true, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return s.buf, false, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			s.tornAt(s.line, "the compressed data is cut here (its writer did not close it); all before was read")
			return s.buf, false, nil
		default:
			return nil, false, s.errorf("reading: %w", err)
		}
	}
}

// take handles one line; ended says that it had a line end.
func (s *scanner) take(line []byte, ended bool) error {
	if s.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil
	}
	var l eventLine
	if err := s.parse(line, &l); err != nil {
		if s.bad != nil {
			return s.bad
		}
		if s.good == 0 {
			return err
		}
		s.bad, s.badLine = err, s.line
		s.badCut = !ended || cutShort(line)
		return nil
	}
	if l.EventType == typeTorn {
		s.bad = nil
		s.tornAt(s.line-1, "the line is cut short (its writer was interrupted) and was skipped")
		return nil
	}
	if s.bad != nil {
		return s.bad
	}
	if err := s.add(&l, line); err != nil {
		return err
	}
	s.good++
	return nil
}

func (s *scanner) parse(line []byte, into any) error {
	err := json.Unmarshal(line, into)
	var typ *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typ) && typ.Field != "":
		return s.errorf("%q is a %s, which it cannot be in a weir event log", typ.Field, typ.Value)
	case !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0:
		return s.errorf("not text: expected a weir event log, one JSON object a line (.jsonl, .jsonl.zst)")
	case line[0] != '{':
		return s.errorf("starts with %s: expected a weir event log, one JSON object a line", clip(string(line)))
	}
	return s.errorf("not a line of a weir event log: %w", err)
}

// add files the line with its record.
func (s *scanner) add(l *eventLine, line []byte) error {
	switch {
	case l.RequestID == "":
		return s.errorf(`no "request_id": every line of a weir event log has request_id, event_type and client_time_ms`)
	case l.EventType == "":
		return s.errorf(`no "event_type": every line of a weir event log has request_id, event_type and client_time_ms`)
	}
	b := s.open[l.RequestID]
	switch l.EventType {
	case typeRequest:
		return s.begin(l.RequestID, line)
	case typeEnd:
		return s.end(b, line)
	}
	if !l.ClientTime.Known() {
		return s.errorf(`no "client_time_ms" on an event: it is the event's time in milliseconds`)
	}
	if b == nil {
		b = s.start(foreign(l))
		b.rec.Index = s.foreign
		s.foreign++
	}
	if b.add(l) {
		s.warn("client_time_ms falls: the events of request %s are not in order of arrival", l.RequestID)
	}
	return nil
}

func (s *scanner) begin(id string, line []byte) error {
	var l requestLine
	if err := s.parse(line, &l); err != nil {
		return err
	}
	if l.Log > Version {
		return s.errorf("a log of version %d, which a newer weir wrote: this one reads version %d", l.Log, Version)
	}
	if b := s.open[id]; b != nil { // its end was never written
		if err := s.deliver(b); err != nil {
			return err
		}
	}
	s.start(own(&l))
	return nil
}

func (s *scanner) end(b *builder, line []byte) error {
	if b == nil {
		return s.errorf("the end of a request that did not begin in this file")
	}
	var l endLine
	if err := s.parse(line, &l); err != nil {
		return err
	}
	if err := b.end(&l); err != nil {
		return s.errorf("%w", err)
	}
	return s.deliver(b)
}

func (s *scanner) start(b *builder) *builder {
	s.open[b.rec.RequestID] = b
	s.order = append(s.order, b)
	return b
}

func (s *scanner) deliver(b *builder) error {
	delete(s.open, b.rec.RequestID)
	for i, o := range s.order {
		if o == b {
			s.order = append(s.order[:i], s.order[i+1:]...)
			break
		}
	}
	return s.yield(b.finish())
}

// finish gives out the records whose end the log does not hold.
func (s *scanner) finish() error {
	if s.bad != nil && !s.badCut {
		return s.bad
	}
	if s.bad != nil {
		s.tornAt(s.badLine, "the last line is cut short and was skipped")
	}
	if s.good == 0 {
		s.line = 1
		return s.errorf("empty: expected a weir event log, one JSON object a line")
	}
	for _, b := range s.order {
		if err := s.yield(b.finish()); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) errorf(format string, a ...any) error {
	return fmt.Errorf("%s:%d: "+format, append([]any{s.name, s.line}, a...)...)
}

func (s *scanner) tornAt(line int, text string) {
	s.log.Torn = true
	s.say("%s:%d: %s", s.name, line, text)
}

// cutShort reports whether a line is the beginning of a JSON object: what a
// crash leaves, also where an editor has since ended the line.
func cutShort(line []byte) bool {
	var syntax *json.SyntaxError
	err := json.Unmarshal(line, new(json.RawMessage))
	return line[0] == '{' && errors.As(err, &syntax) && syntax.Offset >= int64(len(line))
}

// maxWarnings bounds what a broken file can make us say.
const maxWarnings = 20

func (s *scanner) warn(format string, a ...any) {
	s.say("%s:%d: "+format, append([]any{s.name, s.line}, a...)...)
}

func (s *scanner) say(format string, a ...any) {
	if len(s.log.Warnings) < maxWarnings {
		s.log.Warnings = append(s.log.Warnings, fmt.Sprintf(format, a...))
	}
}
