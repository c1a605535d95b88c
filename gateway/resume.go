package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"weir/relay"
)

// streamHead is what the relay log keeps of a stream before its first event:
// all that is needed to serve it when its session is over.
type streamHead struct {
	Principal string        `json:"principal"` // hash of the key, hex
	RequestID string        `json:"request_id"`
	Dialect   string        `json:"dialect"`
	Format    string        `json:"format"`
	Heartbeat time.Duration `json:"heartbeat"`
	Write     time.Duration `json:"write_timeout"`

	// What only a worker's streams have: it is the edge that answers.
	Status  int          `json:"status,omitempty"`
	Header  http.Header  `json:"header,omitempty"`
	Private bool         `json:"private,omitempty"` // for the request's own client: not to be resumed
	Refusal *headRefusal `json:"refusal,omitempty"` // why it is no answer
	Phases  *headPhases  `json:"phases,omitempty"`

	// Stream is set in the entry of an answer's own id: where its stream is.
	Stream string `json:"stream,omitempty"`
}

func headOf(l *live) streamHead {
	return streamHead{
		Principal: principalText(l.principal), RequestID: l.requestID, Dialect: l.dialect, Format: l.format,
		Heartbeat: l.route.Heartbeat, Write: l.route.Slow.WriteTimeout,
	}
}

func principalText(p principal) string { return hex.EncodeToString(p[:]) }

func (h streamHead) voice() voice {
	if h.Dialect == "" {
		return voice{name: "unknown"}
	}
	return voice{h.Dialect, true}
}

// open begins a stream of this head in the log.
func (h streamHead) open(log relay.Log, stream string) (relay.Position, error) {
	b, err := json.Marshal(h)
	if err != nil {
		return relay.Position{}, err
	}
	return log.Open(context.Background(), stream, b)
}

// newKeeper opens the relay log of a stream; nil where there is none.
func (g *Gateway) newKeeper(l *live) keeper {
	defer l.settle()
	if g.o.Log == nil || !l.resumable || l.format != "sse" && l.format != "ndjson" {
		return nil // of a JSON array no client could say where it is
	}
	head := headOf(l)
	p, err := head.open(g.o.Log, l.id)
	if err != nil {
		g.log.LogAttrs(context.Background(), slog.LevelWarn, "a stream is not kept",
			slog.String("request_id", l.requestID), slog.String("error", err.Error()))
		return nil
	}
	l.epoch = p.Epoch
	return &logKeeper{
		log: g.o.Log, stream: l.id, hint: hint{drain: g.drain}, at: p, head: head, principal: l.principal,
		stamps: l.ids && l.format == "sse" && l.dialect != "gemini", // whose client loses events with ids
		unsaid: l.dialect == "openai.responses",
	}
}

// firstRetry is the reconnection time that a stream with ids states, in ms.
const firstRetry = 1000

// logKeeper keeps a stream in a relay log.
type logKeeper struct {
	log       relay.Log
	stream    string
	at        relay.Position // of the newest entry
	head      streamHead
	principal principal
	stamps    bool
	hint      hint
	cr        bool // the newest event ended with a CR: a LF that follows belongs to it
	ended     bool
	failed    bool   // something was not kept
	whole     []byte // the event with all of its line end; reused
	sent      []byte // the stamped event; reused

	unsaid bool   // the answer's own id is still to be seen
	answer string // the stream of that id in the log
}

// Append keeps one event; what it returns is valid until the next. A block of
// comments alone is not kept: it is a heartbeat of the moment, and a client
// that counts events does not count it.
func (k *logKeeper) Append(event []byte, terminal bool) ([]byte, error) {
	frame := k.complete(event)
	if k.head.Format == "sse" && !terminal && onlyComments(frame) {
		if k.stamps {
			return withoutBlank(frame), nil
		}
		return event, nil
	}
	if err := k.add(frame, terminal); err != nil {
		k.failed = true
		return nil, err
	}
	if k.unsaid {
		k.alias(frame)
	}
	if !k.stamps {
		return event, nil
	}
	var stamped bool
	retry := k.hint.retry(frame, k.at.Offset == 1)
	k.sent, stamped = relay.AppendStamped(k.sent[:0], frame, k.stream, k.at, retry)
	k.hint.said(stamped)
	return k.sent, nil
}

// withoutBlank lets a service's comments stand before the event that follows:
// to openai-python, once it has seen an id, a blank line after them is an event
// without data, which it cannot read.
func withoutBlank(block []byte) []byte {
	for _, end := range []string{"\r\n", "\n", "\r"} {
		if bytes.HasSuffix(block, []byte(end+end)) {
			return block[:len(block)-len(end)]
		}
	}
	return block
}

func (k *logKeeper) add(frame []byte, terminal bool) error {
	next := relay.Position{Epoch: k.at.Epoch, Offset: k.at.Offset + 1}
	p, err := k.log.Append(context.Background(), k.stream, relay.Entry{Position: next, Frame: frame, Terminal: terminal})
	if err == nil {
		k.at, k.ended = p, terminal
	}
	return err
}

// complete moves the LF of a CRLF that two reads brought to the event that it
// ends: whoever begins with the next one must not begin with a blank line.
func (k *logKeeper) complete(event []byte) []byte {
	if k.cr {
		event = bytes.TrimPrefix(event, []byte("\n"))
	}
	k.cr = k.head.Format == "sse" && bytes.HasSuffix(event, []byte("\r"))
	if k.cr && bytes.HasSuffix(event, []byte("\r\n\r")) {
		k.whole = append(append(k.whole[:0], event...), '\n')
		return k.whole
	}
	return event
}

// hint is the reconnection time that one client is told, inside an event that
// has an id: with the first such event, and again, with a time of its own, when
// the gateway begins to close. Whatever then ends the connection, not all
// clients come back at once.
type hint struct {
	drain   <-chan struct{} // closed when the gateway begins to close
	telling bool            // the event at hand has the last word
	told    bool
}

// retry is the time to state with the event at hand, in ms; 0 = none. An event
// without data has no room for it: some clients break on what it becomes.
func (h *hint) retry(event []byte, first bool) int64 {
	if h.told && !first || !hasData(event) {
		return 0
	}
	if !h.told {
		select {
		case <-h.drain:
			h.telling = true
			return comeAgain().Milliseconds()
		default:
		}
	}
	if first {
		return firstRetry
	}
	return 0
}

// said notes whether the event had room for it.
func (h *hint) said(stamped bool) {
	h.told = h.told || h.telling && stamped
	h.telling = false
}

// Forget drops what was kept, of an attempt whose events no client saw: those
// of the next begin anew.
func (k *logKeeper) Forget() error {
	_ = k.log.Drop(context.Background(), k.stream) // an Open that follows tells
	p, err := k.head.open(k.log, k.stream)
	k.at, k.cr, k.failed = p, false, err != nil
	k.unsaid = k.head.Dialect == "openai.responses"
	k.closeAnswer()
	return err
}

// Close ends the stream in the log. Where its last event did not say that it
// was the last, an entry without bytes does; where something could not be kept,
// its readers are told.
func (k *logKeeper) Close() {
	if !k.ended {
		var frame []byte
		if k.failed {
			frame = gapFrame(k.head, "the rest of the stream was not kept")
		}
		_ = k.add(frame, true) // a log that failed may fail again
	}
	k.closeAnswer()
}

// closeAnswer lets the entry of the answer's own id expire with the stream.
func (k *logKeeper) closeAnswer() {
	if k.answer != "" {
		_, _ = k.log.Append(context.Background(), k.answer, relay.Entry{Terminal: true}) // else it expires later
		k.answer = ""
	}
}

// hasData reports whether an SSE block has a data field.
func hasData(block []byte) bool {
	for len(block) > 0 {
		if rest, ok := bytes.CutPrefix(block, []byte("data")); ok && len(rest) > 0 && (rest[0] == ':' || rest[0] == '\n' || rest[0] == '\r') {
			return true
		}
		i := bytes.IndexAny(block, "\r\n")
		if i < 0 {
			return false
		}
		block = block[i+1:]
	}
	return false
}

// onlyComments reports whether an SSE block has no field.
func onlyComments(block []byte) bool {
	start := true
	for _, c := range block {
		switch {
		case c == '\n' || c == '\r':
			start = true
		case start && c != ':':
			return false
		default:
			start = false
		}
	}
	return true
}

// reasonGap is the reason of an error that says: events are missing here.
const reasonGap = "weir_gap"

func gapFailure(requestID, text string) *failure {
	return &failure{reason: reasonGap, text: text, status: http.StatusConflict, requestID: requestID}
}

func gapFrame(h streamHead, text string) []byte {
	return h.voice().terminal(h.Format, gapFailure(h.RequestID, text), 0, true)
}

// alias keeps under the answer's own id where its stream is. The principal is
// part of the name: another's answer of the same id is another entry.
func (k *logKeeper) alias(event []byte) {
	id := responseID(event)
	if id == "" {
		k.unsaid = k.at.Offset < 4 // it stands in the first events or nowhere
		return
	}
	k.unsaid = false
	h := k.head
	h.Stream = k.stream
	name := aliasOf(k.principal, id)
	_, err := h.open(k.log, name)
	if errors.Is(err, relay.ErrExists) { // a service that uses an id again means the newest answer
		_ = k.log.Drop(context.Background(), name) // the open that follows tells
		_, err = h.open(k.log, name)
	}
	if err == nil {
		k.answer = name
	}
}

func aliasOf(p principal, id string) string {
	sum := sha256.Sum256(append(p[:], id...))
	return "response-" + hex.EncodeToString(sum[:])
}
