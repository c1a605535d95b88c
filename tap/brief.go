package tap

import (
	"math"

	"weir/stream"
)

// kept holds the events of a response while it comes. A stream.Event is 400
// bytes and full of pointers, of which all but a few are the same in event
// after event or empty: what an event has of its own takes 48 bytes that the
// garbage collector need not look at. They are expanded when the response ends.
type kept struct {
	list   pages[brief]
	shapes []shape        // what events share
	whole  []stream.Event // events with more of their own than a brief holds
}

// brief is one event.
type brief struct {
	shape  int32 // index into shapes; -1 = whole
	whole  int32 // index into whole
	read   int32
	bytes  int32
	tokens int32 // of this and the next three, missing = none
	chars  int32
	seen   int32
	wide   int32
	seq    int64 // the service's number; noSeq = none
	late   bool
}

const (
	none  = math.MinInt32
	noSeq = math.MinInt64
)

func (k *kept) len() int { return k.list.n }

// add keeps an event whose place is known.
func (k *kept) add(e *stream.Event) {
	b := k.list.next()
	b.read, b.bytes, b.late, b.seq = int32(e.Read), int32(e.Bytes), e.Late, e.ServiceSeq.Or(noSeq)
	b.tokens, b.chars, b.seen, b.wide = small(e.Tokens), small(e.Chars), small(e.Visible), small(e.Wide)
	if !common(e) || b.tooSmall(e) {
		b.shape, b.whole = -1, k.keepWhole(e)
		return
	}
	b.shape = k.shapeOf(e)
}

// keepWhole is kept out of add, which is on the way of every event and would
// have the room for a copy on its stack.
//
//go:noinline
func (k *kept) keepWhole(e *stream.Event) int32 {
	k.whole = append(k.whole, *e)
	return int32(len(k.whole) - 1)
}

func small(m stream.Maybe[int]) int32 {
	n, ok := m.Get()
	if !ok || n <= none || n > math.MaxInt32 {
		return none
	}
	return int32(n)
}

// common reports whether all that e has beside its numbers may be shared.
func common(e *stream.Event) bool {
	return e.Text == "" && e.State == nil && e.Usage == nil && e.Fault == nil && e.Marks == nil &&
		!e.ServiceTime.Known() && !e.Took.Known()
}

// tooSmall reports whether a number of e does not fit into a brief.
func (b *brief) tooSmall(e *stream.Event) bool {
	return int(b.read) != e.Read || int(b.bytes) != e.Bytes || number(b.tokens) != e.Tokens || number(b.chars) != e.Chars ||
		number(b.seen) != e.Visible || number(b.wide) != e.Wide || e.ServiceSeq.Known() != (b.seq != noSeq)
}

func number(n int32) stream.Maybe[int] {
	if n == none {
		return stream.None[int]()
	}
	return stream.Some(int(n))
}

// lookBack is how many shapes are compared before a new one is kept: answers
// of several choices take turns.
const lookBack = 8

func (k *kept) shapeOf(e *stream.Event) int32 {
	for i := len(k.shapes) - 1; i >= 0 && i >= len(k.shapes)-lookBack; i-- {
		if k.shapes[i].is(e) {
			return int32(i)
		}
	}
	return k.newShape(e)
}

//go:noinline
func (k *kept) newShape(e *stream.Event) int32 {
	k.shapes = append(k.shapes, shapeOf(e))
	return int32(len(k.shapes) - 1)
}

// shape is what events have in common with others.
type shape struct {
	bodyID, model, name, tool, finish, note string

	choice  int
	kind    stream.Kind
	proof   stream.Proof
	summary bool
}

func shapeOf(e *stream.Event) shape {
	return shape{bodyID: e.BodyID, model: e.Model, name: e.Name, tool: e.Tool, finish: e.Finish, note: e.Note,
		choice: e.Choice, kind: e.Kind, proof: e.Proof, summary: e.Summary}
}

// is reports whether it is e's: the same as *s == shapeOf(e), without a copy.
func (s *shape) is(e *stream.Event) bool {
	return s.kind == e.Kind && s.choice == e.Choice && s.proof == e.Proof && s.summary == e.Summary &&
		s.bodyID == e.BodyID && s.model == e.Model && s.name == e.Name && s.tool == e.Tool && s.finish == e.Finish && s.note == e.Note
}

func (s *shape) event() stream.Event {
	return stream.Event{Kind: s.kind, Choice: s.choice, Name: s.name, Summary: s.summary, Tool: s.tool,
		BodyID: s.bodyID, Model: s.model, Finish: s.finish, Proof: s.proof, Note: s.note}
}

// events are the events as they were added; At and Arrival are the caller's.
func (k *kept) events() []stream.Event {
	all := make([]stream.Event, k.len())
	for i := range all {
		b, e := k.list.at(i), &all[i]
		if b.shape < 0 {
			*e = k.whole[b.whole]
		} else {
			*e = k.shapes[b.shape].event()
			e.Read, e.Bytes, e.Late = int(b.read), int(b.bytes), b.late
			e.Tokens, e.Chars, e.Visible, e.Wide = number(b.tokens), number(b.chars), number(b.seen), number(b.wide)
			if b.seq != noSeq {
				e.ServiceSeq = stream.Some(b.seq)
			}
		}
		e.Seq = i + 1
	}
	return all
}
