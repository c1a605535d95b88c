package tap

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/dialect"
	"weir/stream"
	"weir/wire"
)

// Marker says which of the user's marks first hold at an event.
type Marker interface {
	Mark(e *stream.Event) []string
}

// Options say how a response is read. The zero value sniffs the framing and
// finds the dialect by itself.
type Options struct {
	EventLimit int                 // events × answers of the response; 0: 500,000
	KeepText   bool                // leave the text in the events
	OnEvent    func(*stream.Event) // sees every event as it is made, text included; valid until it returns
	OnFrame    func(wire.Frame)    // sees every frame before it is classified
	Dialect    dialect.Dialect     // nil: chosen by Hint and the first frames
	Hint       dialect.Hint
	Format     string        // wire format; "": by content type and first byte
	FrameLimit int           // bytes of one frame; 0: the default of wire
	NewMarker  func() Marker // called once per answer; nil: no marks
}

// Tap reads one response. It is not safe for concurrent use.
//
// What every event needs stands together, first: a gateway's streams take turns
// in the processor's cache, and each line of it that an event touches is fetched
// anew.
type Tap struct {
	decoder    wire.Decoder
	emit       func(wire.Frame)
	classifier dialect.Classifier
	classifyTo func(*stream.Event)
	read       int  // read being fed
	bytes      int  // of the frame being read that are not yet on an event
	late       bool // it is
	closed     bool
	total      int64
	choice     int           // of the newest event
	newest     *answer       // and its answer
	several    int           // answers, which are not looked at for each event
	now        *stream.Event // the newest, the classifier's own; nil = none
	full       error         // the event limit was reached
	classErr   error
	group      stream.Grouper
	first      answer // of them: most responses have one
	reads      pages[placed]
	kept       kept
	o          Options

	early   []piece // bytes held until the framing is known
	format  string
	held    []heldFrame // frames held until the dialect is known
	dialect dialect.Dialect
	why     string
	events  []stream.Event // of the closed tap
	answers map[int]*answer
}

// placed is a read and the 1-based arrival that it is of.
type placed struct {
	stream.Read
	arrival int
}

type piece struct {
	p    []byte
	read int
}

type heldFrame struct {
	f    wire.Frame
	read int
}

// maxHeld bounds the frames held while the dialect is not known: heartbeats
// and comments may come for minutes before the first event.
const maxHeld = 64

// maxHeldBytes bounds them in bytes.
const maxHeldBytes = 1 << 20

// defaultEventLimit is more than the longest answers have (128 k tokens, each
// with an event of usage), and bounds a response that never ends.
const defaultEventLimit = 500_000

// ErrTooManyEvents is a response with more events, times the answers they may
// have to be copied to, than a record is to hold. What came before is kept.
var ErrTooManyEvents = errors.New("too many events")

// New returns a tap for one response.
func New(o Options) *Tap {
	if o.EventLimit <= 0 {
		o.EventLimit = defaultEventLimit
	}
	t := &Tap{o: o, answers: map[int]*answer{}}
	t.emit = t.onFrame
	t.classifyTo = t.onEvent
	if o.Dialect != nil {
		t.useDialect(o.Dialect, "asked for")
	}
	return t
}

// Read registers the next read of the response and returns its 1-based number.
func (t *Tap) Read(r stream.Read) int {
	t.fetch()
	p := t.reads.next()
	p.Read, p.arrival = r, t.group.Add(r)
	return t.reads.n
}

// Feed decodes body bytes, after content decoding, that the numbered read
// brought. A read may be fed in several pieces, reads in their order. An error
// is final: a frame above the limit, or ErrTooManyEvents.
func (t *Tap) Feed(p []byte, read int) error {
	t.total += int64(len(p))
	t.read = read
	if t.decoder == nil {
		t.early = append(t.early, piece{bytes.Clone(p), read})
		if !t.sniff(false) {
			return nil
		}
		return t.replay()
	}
	if err := t.decoder.Feed(p, t.emit); err != nil {
		return err
	}
	return t.fault()
}

// fault is what keeps the tap from reading on.
func (t *Tap) fault() error {
	if t.classErr != nil {
		return t.classErr
	}
	return t.full
}

// Bytes is how many body bytes were fed.
func (t *Tap) Bytes() int64 { return t.total }

// FirstRead is the first read that was registered.
func (t *Tap) FirstRead() (r stream.Read, ok bool) {
	if t.reads.n == 0 {
		return r, false
	}
	return t.reads.at(0).Read, true
}

// Format is the framing in use, "" while it is not known.
func (t *Tap) Format() string { return t.format }

// Events returns a copy of the events so far.
func (t *Tap) Events() []stream.Event {
	all := t.kept.events()
	for i := range all {
		t.place(&all[i])
	}
	return all
}

// Last is the newest event, valid until the next Feed; nil where there is none.
func (t *Tap) Last() *stream.Event {
	return t.now
}

// place sets when the event happened, by its read.
func (t *Tap) place(e *stream.Event) {
	if e.Read > 0 {
		r := t.reads.at(e.Read - 1)
		e.At, e.Arrival = r.At, r.arrival
	}
}

// Ended reports whether a terminal event or a sentinel has been seen, so that
// whoever reads may stop waiting for an EOF that a peer withholds.
func (t *Tap) Ended() bool {
	return t.classifier != nil && t.classifier.Ended().Proof >= stream.ProofFinish
}

// sniff chooses the framing once the first telling byte is here; force: with
// what there is.
func (t *Tap) sniff(force bool) bool {
	first := t.firstBytes()
	format := t.o.Format
	if format == "" {
		if !force && !telling(t.o.Hint.ContentType, first) {
			return false
		}
		format = wire.Sniff(t.o.Hint.ContentType, first)
	}
	d, err := wire.New(format, wire.Options{FrameLimit: t.o.FrameLimit})
	if err != nil {
		t.classErr = err
		return true
	}
	t.decoder, t.format = d, format
	return true
}

func (t *Tap) firstBytes() []byte {
	if len(t.early) == 1 {
		return t.early[0].p
	}
	var b []byte
	for _, e := range t.early {
		b = append(b, e.p...)
	}
	return b
}

// telling reports whether the framing can be chosen: the content type names
// it, or a byte that is neither white space nor a BOM is here.
func telling(contentType string, first []byte) bool {
	if strings.Contains(contentType, "event-stream") || strings.Contains(contentType, "ndjson") {
		return true
	}
	rest := bytes.TrimLeft(bytes.TrimPrefix(first, []byte("\ufeff")), " \t\r\n")
	return len(rest) > 0 && (len(first) > 2 || first[0] < 0x80) || len(first) > 4096
}

func (t *Tap) replay() error {
	if t.classErr != nil {
		return t.classErr
	}
	early := t.early
	t.early = nil
	for _, e := range early {
		t.read = e.read
		if err := t.decoder.Feed(e.p, t.emit); err != nil {
			return err
		}
	}
	return t.fault()
}

func (t *Tap) onFrame(f wire.Frame) {
	if t.full != nil {
		return
	}
	if t.o.OnFrame != nil {
		t.o.OnFrame(f)
	}
	if t.classifier == nil && !t.choose(f) {
		t.hold(f)
		return
	}
	t.classify(&f)
}

// hold keeps a frame until the dialect is known. It is kept out of onFrame,
// which is on the stack of everything that is parsed.
//
//go:noinline
func (t *Tap) hold(f wire.Frame) { t.held = append(t.held, heldFrame{clone(f), t.read}) }

// choose picks the dialect at the first frame that tells it, or where the path
// does at the first that says anything; comments and data-less blocks do not.
func (t *Tap) choose(f wire.Frame) bool {
	h := t.o.Hint
	h.First, h.Event = f.Data, string(f.Event)
	silent := f.Kind == wire.Comment || f.Kind == wire.DataLess
	more := f.Kind != wire.Body && f.Kind != wire.Unterminated && len(t.held) < maxHeld && t.total < maxHeldBytes
	if more && (silent || !dialect.Decides(h)) {
		return false
	}
	d, why := dialect.Detect(h)
	t.useDialect(d, why)
	t.flushHeld()
	return true
}

func (t *Tap) flushHeld() {
	held, now := t.held, t.read
	t.held = nil
	for i := range held {
		h := &held[i]
		t.read = h.read
		t.classify(&h.f)
	}
	t.read = now
}

func (t *Tap) useDialect(d dialect.Dialect, why string) {
	t.dialect, t.why, t.classifier = d, why, d.NewClassifier()
}

func (t *Tap) classify(f *wire.Frame) {
	t.bytes, t.late = len(f.Raw), f.Late
	if err := t.classifier.Classify(*f, t.classifyTo); err != nil && t.classErr == nil {
		t.classErr = fmt.Errorf("classify %s frame %d as %s: %w", f.Kind, t.kept.len()+1, t.dialect.Name(), err)
	}
}

// onEvent gives an event its place, its characters and its marks.
func (t *Tap) onEvent(e *stream.Event) {
	if !t.room(e.Choice) {
		return
	}
	t.now = e
	e.Seq = t.kept.len() + 1
	e.Read = t.read
	t.place(e)
	if t.bytes > 0 {
		e.Bytes, t.bytes = t.bytes, 0
	}
	e.Late = t.late
	a := t.answer(e.Choice)
	a.count(e)
	if a.marker != nil {
		e.Marks = slices.Clone(a.marker.Mark(e))
	}
	if t.o.OnEvent != nil {
		t.o.OnEvent(e)
	}
	if !t.o.KeepText {
		e.Text, e.State = "", nil
	}
	t.kept.add(e)
}

// room reports whether an event of this answer may still be kept.
func (t *Tap) room(choice int) bool {
	answers := t.several
	if (t.kept.len()+1)*(answers+1) <= t.o.EventLimit { // far below, whatever the choice: no look-up
		return true
	}
	if t.answers[choice] == nil {
		answers++
	}
	if (t.kept.len()+1)*answers <= t.o.EventLimit {
		return true
	}
	if t.full == nil {
		t.full = fmt.Errorf("%w: more than %d in a response of %s", ErrTooManyEvents, t.kept.len(), plural(answers, "answer"))
	}
	return false
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (t *Tap) answer(choice int) *answer {
	if t.newest != nil && t.choice == choice {
		return t.newest
	}
	a := t.answers[choice]
	if a == nil {
		if a = &t.first; t.several > 0 {
			a = &answer{}
		}
		if t.o.NewMarker != nil {
			a.marker = t.o.NewMarker()
		}
		t.answers[choice] = a
		t.several++
	}
	t.newest, t.choice = a, choice
	return a
}

func clone(f wire.Frame) wire.Frame {
	f.Event, f.Data, f.ID = bytes.Clone(f.Event), bytes.Clone(f.Data), bytes.Clone(f.ID)
	f.Field, f.Raw = bytes.Clone(f.Field), bytes.Clone(f.Raw)
	return f
}
