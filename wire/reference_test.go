package wire

import (
	"bytes"
	"strconv"
	"strings"
)

// refEvent is an event a conforming parser dispatches.
type refEvent struct{ name, data, id string }

// reference is the event stream interpretation of the WHATWG specification,
// written down sentence by sentence over the whole stream at once, to compare
// the decoder with. It knows nothing of pieces and of frames.
func reference(in []byte) (events []refEvent, lastID string, retry int64) {
	retry = -1
	s := strings.TrimPrefix(string(in), "\ufeff")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	lines := strings.Split(s, "\n")
	lines = lines[:len(lines)-1] // what the end of the file cuts off is no line
	var data, name, idBuffer string
	for _, line := range lines {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			lastID = idBuffer
			if data != "" {
				events = append(events, refEvent{name, strings.TrimSuffix(data, "\n"), lastID})
			}
			data, name = "", ""
		case field == "event":
			name = value
		case field == "data":
			data += value + "\n"
		case field == "id" && !strings.Contains(value, "\x00"):
			idBuffer = value
		case field == "retry" && value != "" && strings.Trim(value, "0123456789") == "":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil { // out of range: ParseInt gives the nearest
				n = 1<<63 - 1
			}
			retry = n
		}
	}
	return events, lastID, retry
}

// dispatched is what a conforming parser would see of the frames.
func dispatched(frames []Frame) (events []refEvent) {
	for _, f := range frames {
		if f.Kind == Event {
			events = append(events, refEvent{string(f.Event), string(f.Data), string(f.ID)})
		}
	}
	return events
}

// unaccounted returns the bytes of in that are in no frame's Raw, in order. It
// feeds in whole, so that each Raw is a part of in's memory; an unterminated
// tail, which the decoder holds, is the end of in.
func unaccounted(d Decoder, in []byte) (rest []byte, bad string) {
	covered := make([]bool, len(in))
	emit := func(f Frame) {
		from := len(in) - len(f.Raw)
		if within(f.Raw, in) {
			from = offset(f.Raw, in)
		}
		if from < 0 || !bytes.Equal(in[from:from+len(f.Raw)], f.Raw) {
			bad = "a frame's Raw is not what was fed: " + strconv.Quote(string(f.Raw))
			return
		}
		for i := range f.Raw {
			covered[from+i] = true
		}
	}
	if err := d.Feed(in, emit); err != nil {
		return nil, err.Error()
	}
	if err := d.Close(emit); err != nil {
		return nil, err.Error()
	}
	for i, c := range covered {
		if !c {
			rest = append(rest, in[i])
		}
	}
	return rest, bad
}
