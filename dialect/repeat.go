package dialect

import "bytes"

// repeat knows a frame again that differs from the last parsed one in nothing
// but the text of its delta, as most frames of an answer do: the same bytes
// before the text and after it parse to the same values, so that only the text
// has to be looked at. Whatever the next frame may not share with the last is
// left to the parser.
type repeat struct {
	frame     []byte // the frame; empty = none is known
	at, after int    // where its text begins, and where it has ended
	name      string // of its event
	vain      int    // frames learned since one was known again
}

const (
	maxRepeat = 4 << 10 // bytes of a frame that is kept
	maxVain   = 16      // a service that changes something else each time is not tried for ever
)

// learn keeps a frame whose one output was the given text, the value of one
// key. The key stands in it once and nothing in it is escaped, so that no other
// string can be taken for the text.
func (r *repeat) learn(b []byte, name, key, text string) {
	r.frame = r.frame[:0]
	if r.vain >= maxVain || len(b) > maxRepeat || bytes.IndexByte(b, '\\') >= 0 {
		return
	}
	i := bytes.Index(b, []byte(key))
	if i < 0 || bytes.Contains(b[i+len(key):], []byte(key)) {
		return
	}
	rest := bytes.TrimLeft(b[i+len(key):], " ")
	rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte(":")), " ")
	at := len(b) - len(rest) + 1
	if len(rest) < len(text)+2 || rest[0] != '"' || string(rest[1:1+len(text)]) != text || rest[1+len(text)] != '"' {
		return
	}
	r.frame, r.at, r.after, r.name = append(r.frame, b...), at, at+len(text), name
	r.vain++
}

// forget has the next frame parsed.
func (r *repeat) forget() { r.frame = r.frame[:0] }

// text is the text of a frame that is otherwise the one that was learned; nil
// where it is not, or has no text that reads as it stands.
func (r *repeat) text(b []byte, name string) []byte {
	tail := r.frame[min(r.after, len(r.frame)):]
	end := len(b) - len(tail)
	if len(r.frame) == 0 || end <= r.at || name != r.name ||
		!bytes.Equal(b[:r.at], r.frame[:r.at]) || !bytes.Equal(b[end:], tail) {
		return nil
	}
	for _, c := range b[r.at:end] {
		if c < ' ' || c == '"' || c == '\\' {
			return nil
		}
	}
	r.vain = 0
	return b[r.at:end]
}
