package wire

import (
	"bytes"
	"math"
)

// block is the SSE block in progress. Its spans count from the block's first
// byte, so that they hold wherever the block is kept.
type block struct {
	fields int // event, data, id and retry lines; comments and unknown fields open no block
	datas  int // data lines
	event  span
	data   span   // the first data line's value
	joined []byte // all values, where there are several data lines
	late   bool   // the last byte of the last field line came in an earlier piece
}

type span struct{ from, to int }

func (b *block) open() bool { return b.fields > 0 }

// eventName returns the event type, nil where it is "message".
func (b *block) eventName(src []byte) []byte {
	if b.event.from == b.event.to {
		return nil
	}
	return src[b.event.from:b.event.to]
}

// dataOf returns the data, nil where there was no data line.
func (b *block) dataOf(src []byte) []byte {
	switch b.datas {
	case 0:
		return nil
	case 1:
		return src[b.data.from:b.data.to]
	}
	return b.joined
}

func (b *block) addData(src []byte, v span) {
	switch b.datas {
	case 0:
		b.data = v
	case 1:
		b.joined = append(b.joined[:0], src[b.data.from:b.data.to]...)
		fallthrough
	default:
		b.joined = append(b.joined, '\n')
		b.joined = append(b.joined, src[v.from:v.to]...)
	}
	b.datas++
}

// endLine takes the line src[from:end] whose line end is at src[end]; src
// begins where the frame in progress does. late says that the line's last byte
// came in an earlier piece than its line end.
func (d *sse) endLine(src []byte, from, end int, late bool, emit func(Frame)) {
	if from == end {
		d.endBlock(src[:end+1], emit)
		return
	}
	line := src[from:end]
	colon := bytes.IndexByte(line, ':')
	name, v := line, span{end, end}
	if colon >= 0 {
		name, v.from = line[:colon], from+colon+1
		if v.from < end && src[v.from] == ' ' {
			v.from++
		}
	}
	if !d.field(src, name, v) {
		f := Frame{Kind: UnknownField, Field: name, Data: src[v.from:v.to], ID: d.id, Raw: src[from : end+1], Late: late}
		if colon == 0 {
			f.Kind, f.Field = Comment, nil
		}
		emit(f)
		return
	}
	d.block.fields++
	d.block.late = late
}

// field acts on a field of a known name; false where the name is not known.
func (d *sse) field(src, name []byte, v span) bool {
	switch string(name) {
	case "data":
		d.block.addData(src, v)
	case "event":
		d.block.event = v
	case "id":
		if val := src[v.from:v.to]; bytes.IndexByte(val, 0) < 0 {
			d.nextID = append(d.nextID[:0], val...)
			d.hasID = true
		}
	case "retry":
		if ms, ok := parseRetry(src[v.from:v.to]); ok {
			d.retry, d.hasRetry = ms, true
		}
	default:
		return false
	}
	return true
}

// endBlock dispatches the block whose bytes, blank line included, are raw.
func (d *sse) endBlock(raw []byte, emit func(Frame)) {
	if !d.block.open() {
		return
	}
	if d.hasID {
		d.id, d.nextID = d.nextID, d.id
		d.hasID = false
	}
	f := Frame{Kind: Event, Event: d.block.eventName(raw), Data: d.block.dataOf(raw), ID: d.id, Raw: raw, Late: d.block.late}
	if d.block.datas == 0 {
		f.Kind = DataLess
	}
	emit(f)
	d.block = block{joined: emptied(d.block.joined)}
}

// parseRetry reads a reconnection time in ms: ASCII digits and nothing else.
// An empty value, for which "only digits" is true of nothing, is refused.
func parseRetry(v []byte) (ms int64, ok bool) {
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n := int64(c - '0'); ms > (math.MaxInt64-n)/10 {
			ms = math.MaxInt64
		} else {
			ms = ms*10 + n
		}
	}
	return ms, len(v) > 0
}
