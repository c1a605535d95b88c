package client

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"weir/wire"
)

// place is where the caller is in a stream.
type place struct {
	id      string // of the last event, "" = none had one
	count   int64  // events that came
	sse     bool   // the framing is one that may have ids
	counted bool   // the server is a gateway, which takes a count where there are no ids
}

// number is what a gateway's id says: stream.epoch.number.
type number struct {
	of string // stream and epoch
	n  int64
}

func parse(id string) (num number, ok bool) {
	of, last, ok := cutLast(id)
	if !ok || !strings.Contains(of, ".") {
		return number{}, false
	}
	n, err := strconv.ParseInt(last, 10, 64)
	return number{of, n}, err == nil && n > 0
}

func cutLast(id string) (before, after string, ok bool) {
	i := strings.LastIndexByte(id, '.')
	if i < 0 {
		return "", "", false
	}
	return id[:i], id[i+1:], true
}

// advance takes the place of a frame that came. fresh is false where the caller
// has it already; an error is a gap. Ids of other servers' making are believed.
func (p *place) advance(f wire.Frame) (fresh bool, err error) {
	if !p.sse || !hasID(f.Raw) {
		p.count++
		return true, nil
	}
	was, known := parse(p.id)
	id := string(f.ID)
	is, ok := parse(id)
	switch {
	case !known || !ok:
	case is.of != was.of:
		return false, &GapError{From: p.id, Detail: "event " + id + " is of another stream or epoch"}
	case is.n <= was.n:
		return false, nil
	case is.n > was.n+1:
		return false, &GapError{From: p.id, Detail: fmt.Sprintf("the next event that came is %d", is.n)}
	}
	p.id = id
	p.count++
	return true, nil
}

// lost reports whether events came and nothing says which.
func (p *place) lost() bool { return p.id == "" && p.count > 0 && !p.counted }

// hasID reports whether the frame itself has an id line: an id holds for the
// events after it too.
func hasID(raw []byte) bool {
	for len(raw) > 0 {
		if rest, ok := bytes.CutPrefix(raw, []byte("id")); ok && len(rest) > 0 && (rest[0] == ':' || rest[0] == '\n' || rest[0] == '\r') {
			return true
		}
		i := bytes.IndexAny(raw, "\r\n")
		if i < 0 {
			return false
		}
		raw = raw[i+1:]
	}
	return false
}
