package dialect

import (
	"fmt"

	"github.com/valyala/fastjson"

	"weir/stream"
	"weir/wire"
)

// protocol is the part of a classifier that differs between dialects.
type protocol interface {
	// event classifies the JSON of one frame; v is nil for a frame without data.
	event(v *fastjson.Value)
	// body classifies a whole answer that came as one JSON body.
	body(v *fastjson.Value)
}

// frames is what classifiers share: comments, heartbeats, sentinels, error
// forms, tails and bodies (WIRE §1.2). A classifier embeds it and sets p.
type frames struct {
	// What every frame needs stands together, as in tap.Tap.
	out   []stream.Event // the events of the frame at hand
	usage *stream.Usage  // the frame's usage
	name  string         // the frame's event name
	bare  []byte         // JSON gathered from lines outside of any field
	lines int            // of bare
	// plain is what a custom dialect makes of data that is not JSON. Nil: nothing.
	plain func(b []byte)
	// again classifies a frame like the last that was learned, with another text,
	// or says false: parse it. Nil: the dialect learns none.
	again  func(text []byte) bool
	repeat repeat
	bodyID string
	model  string
	json   reader
	isBody bool // the frame is a whole answer: its counts are not those of an event

	numbered bool // every event has a sequence_number
	star     bool // as own, for any other name
	// own is what a custom dialect adds: a meaning of its own for frames of a name.
	// Nil: none.
	own   func(name string) bool
	p     protocol
	raw   []byte // the frame's JSON while event classifies it
	names map[string]string
	end   stream.End
}

// Classify implements Classifier.
func (c *frames) Classify(f wire.Frame, emit func(*stream.Event)) error {
	c.out, c.usage, c.name, c.isBody = c.out[:0], nil, c.intern(f.Event), f.Kind == wire.Body
	if f.Kind != wire.UnknownField {
		c.bare, c.lines = c.bare[:0], 0
	}
	switch f.Kind {
	case wire.Comment:
		c.add(stream.KindHeartbeat)
	case wire.DataLess:
		c.dataLess()
	case wire.UnknownField:
		c.unknownField(f)
	case wire.Unterminated:
		c.unterminated(f)
	case wire.Body:
		c.whole(f.Data)
	default:
		c.data(f.Data)
	}
	if c.placeUsage(0); len(c.out) == 0 {
		c.other("nothing known in it")
	}
	c.emit(emit)
	c.json.release()
	return nil
}

// emit gives the frame's events what they share, and out. It is kept out of
// Classify for the sake of the stack that parsing stands on.
//
//go:noinline
func (c *frames) emit(emit func(*stream.Event)) {
	for i := range c.out {
		e := &c.out[i]
		if e.Name == "" {
			e.Name = c.name
		}
		e.BodyID, e.Model = c.bodyID, c.model
		emit(e)
	}
}

// flush is Flush for classifiers that hold text back: fill adds what is held.
func (c *frames) flush(emit func(*stream.Event), fill func()) {
	c.out, c.name = c.out[:0], ""
	fill()
	c.emit(emit)
}

// placeUsage puts the usage on an event from the given one on: that of the end,
// else the first, else one of its own.
func (c *frames) placeUsage(from int) {
	if c.usage == nil {
		return
	}
	c.orElse(from, stream.KindUsage)
	on := from
	for i := from; i < len(c.out); i++ {
		if c.out[i].Kind == stream.KindDone {
			on = i
			break
		}
	}
	c.out[on].Usage, c.usage = c.usage, nil
}

// orElse adds an event of kind k where nothing came since the given one.
func (c *frames) orElse(from int, k stream.Kind) {
	if len(c.out) <= from {
		c.add(k)
	}
}

// Ended implements Classifier.
func (c *frames) Ended() stream.End { return c.end }

// add appends an event to the frame's and returns it for filling, valid until
// the next add. Inlined, every use would put an event of its own on the stack
// of its caller, and thousands of streams a second stack page each.
//
//go:noinline
func (c *frames) add(k stream.Kind) *stream.Event {
	c.out = append(c.out, stream.Event{Kind: k})
	return &c.out[len(c.out)-1]
}

// delta adds output, unless it is empty.
func (c *frames) delta(k stream.Kind, choice int, s string) {
	if s == "" {
		return
	}
	e := c.add(k)
	e.Choice, e.Text = choice, s
}

// call adds a piece of a tool call; a name says that the call begins with it.
func (c *frames) call(choice int, name, s string) {
	from := len(c.out)
	c.delta(stream.KindTool, choice, s)
	if len(c.out) > from {
		c.out[from].Tool = name
	}
}

func (c *frames) other(note string) { c.add(stream.KindOther).Note = note }

// done adds a proof of the end.
func (c *frames) done(choice int, finish string, p stream.Proof) *stream.Event {
	e := c.add(stream.KindDone)
	e.Choice, e.Finish, e.Proof = choice, finish, p
	return e
}

// proved raises the proof of the response as a whole.
func (c *frames) proved(p stream.Proof) { c.end.Proof = max(c.end.Proof, p) }

func (c *frames) fail(f *stream.Fault) *stream.Event {
	c.end.LastError = f
	e := c.add(stream.KindError)
	e.Fault = f
	return e
}

// restart voids what came before.
func (c *frames) restart(note string) {
	c.end.Proof = stream.ProofNone
	c.add(stream.KindRestart).Note = note
}

func (c *frames) sentinel() {
	c.end.Sentinel = true
	c.proved(stream.ProofSentinel)
	c.done(0, "", stream.ProofSentinel)
}

// data classifies the data of one frame.
func (c *frames) data(b []byte) {
	if c.plain != nil {
		c.plain(b)
		return
	}
	b = trimJSON(b)
	switch {
	case len(b) == 0:
		c.dataLess()
		return
	case isSentinel(b) && !c.owns():
		c.sentinel()
		return
	case b[0] == ':': // a comment that a relay has re-sent as data
		c.add(stream.KindHeartbeat)
		return
	}
	c.parsed(b)
}

// parsed classifies data that is JSON, or should be.
func (c *frames) parsed(b []byte) {
	if t := c.repeat.text(b, c.name); t != nil && c.again(t) {
		return
	}
	own, from := c.owns(), len(c.out)
	v, err := c.json.parse(b)
	switch {
	case !own && isPing(c.name):
		c.add(stream.KindHeartbeat)
	case !own && c.name == "error":
		c.errorData(v, err, b)
	case err != nil && own:
		c.ownText(b)
	case err != nil:
		c.notJSON(b, err)
	case v.Type() == fastjson.TypeNull && !own:
		c.add(stream.KindHeartbeat)
	default:
		c.raw = b
		c.p.event(v)
		c.raw = nil
	}
	if !c.numbered || err != nil {
		return
	}
	if n, ok := integer(v.Get("sequence_number")); ok {
		c.orElse(from, stream.KindHeartbeat)
		c.out[from].ServiceSeq = stream.Some(int64(n))
	}
}

func (c *frames) owns() bool { return c.own != nil && c.own(c.name) }

// ownText is data that is no JSON under a name that says what the event is.
func (c *frames) ownText(b []byte) {
	from := len(c.out)
	c.p.event(nil)
	switch e := &c.out[from]; {
	case e.Kind == stream.KindHeartbeat && !isPing(c.name):
		e.Kind, e.Note = stream.KindOther, "data is not JSON: "+excerpt(b)
	case e.Fault != nil && e.Fault.Message == "":
		e.Fault.Message = redact(text(b))
	}
}

// dataLess classifies a frame that has at most a name.
func (c *frames) dataLess() {
	switch {
	case c.owns():
		c.p.event(nil)
	case c.name == "" || isPing(c.name):
		c.add(stream.KindHeartbeat)
	case c.name == "error":
		c.fail(&stream.Fault{Message: "an error event without data"})
	case c.star:
		c.p.event(nil)
	default:
		c.other(fmt.Sprintf("event %q without data", c.name))
	}
}

// errorData is what an event or field named error says, in any form.
func (c *frames) errorData(v *fastjson.Value, err error, b []byte) {
	if err != nil {
		c.fail(&stream.Fault{Message: redact(text(b))})
		return
	}
	f := faultOf(v)
	if f == nil {
		f = &stream.Fault{Message: redact(jsonText(v))}
	}
	c.fail(f)
}

// wholeEnd proves a whole answer that names no finish reason by its own end.
func (c *frames) wholeEnd() {
	for i := range c.out {
		if k := c.out[i].Kind; k == stream.KindDone || k == stream.KindError {
			return
		}
	}
	if len(c.out) > 0 {
		c.end.ByEOF = true
		c.proved(stream.ProofTransport)
		c.done(0, "", stream.ProofTransport)
	}
}

// identify keeps the answer's id and model as the body states them.
func (c *frames) identify(id, model *fastjson.Value) {
	if b := strBytes(id); len(b) > 0 && string(b) != c.bodyID {
		c.bodyID = text(b)
	}
	if b := strBytes(model); len(b) > 0 && string(b) != c.model {
		c.model = text(b)
	}
}

// intern returns b as a string, without allocating for names seen before.
func (c *frames) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := c.names[string(b)]; ok {
		return s
	}
	s := text(b)
	const most, longest = 256, 256
	if c.names == nil {
		c.names = map[string]string{}
	}
	if len(c.names) < most && len(b) <= longest {
		c.names[string(b)] = s
	}
	return s
}
