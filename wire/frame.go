package wire

// Kind says what a frame is to its framing. Nothing of a stream is dropped:
// what a conforming parser throws away is a frame of its own kind.
type Kind uint8

// The kinds of frames.
const (
	Event        Kind = iota // a dispatched SSE event, one NDJSON line, one array element
	DataLess                 // an SSE block without data: not dispatched, but it may have a name or an id
	Comment                  // an SSE comment line; a blank NDJSON line (Data is empty)
	UnknownField             // an SSE line whose field name is none of event, data, id, retry
	Unterminated             // what stood in the buffer at EOF: an event without its blank line, a line without its end
	Body                     // the whole of a body that is no stream (JSON, HTML, text)
)

var kindNames = [...]string{"event", "dataless", "comment", "unknown_field", "unterminated", "body"}

// String is the kind's name as `weir decode` prints it.
func (k Kind) String() string { return kindNames[k] }

// Frame is one unit of the framing. Its bytes are valid until emit returns:
// decoding allocates nothing, whoever keeps them copies. They are the original
// bytes, not repaired: Text gives them as valid UTF-8.
type Frame struct {
	Kind Kind
	// Event is the SSE event type; empty means "message". Other framings leave it empty.
	Event []byte
	// Data is the event's data (lines joined with LF); of a comment its text; of
	// an unknown field its value; of an unterminated tail the data gathered so far
	// or, where no data field was complete, the raw line; of a body the body.
	Data []byte
	// ID is the last event ID at dispatch.
	ID []byte
	// Field is the name of an unknown field.
	Field []byte
	// Raw holds every byte of the frame with its line ends. A comment or unknown
	// field between the fields of an event is emitted when its line ends and is
	// also part of that event's Raw. The LF of a CRLF whose CR completed an SSE
	// frame is in no Raw: the frame was emitted before anyone knew of it.
	Raw []byte
	// Late is true where the separator that completed the frame came in a later
	// Feed than the last byte of its last field line.
	Late bool
}

// Decoder turns bytes into frames. It is a push decoder: the reader of the
// socket owns the clock, and any split of the bytes gives the same frames
// (Late apart). It is not safe for concurrent use.
type Decoder interface {
	// Feed decodes p, calling emit for every frame that p completes. An error
	// (ErrFrameTooLarge) is final: the decoder then refuses more bytes.
	Feed(p []byte, emit func(Frame)) error
	// Close says that no more bytes come and emits what is left as Unterminated
	// or Body.
	Close(emit func(Frame)) error
}
