package wire

import (
	"errors"
	"fmt"
	"strings"
)

// DefaultFrameLimit is the frame limit of the zero Options, in bytes.
const DefaultFrameLimit = 32 << 20

// keepCap is the most buffer, in bytes, that a decoder holds on to between
// frames: a large frame must not cost its memory for the rest of the stream.
const keepCap = 64 << 10

// ErrFrameTooLarge says that one frame grew over the frame limit. The error
// that Feed returns wraps it and names the framing and the limit.
var ErrFrameTooLarge = errors.New("frame too large")

// errClosed is what Feed returns after Close.
var errClosed = errors.New("wire: the decoder is closed; make a new one for the next body")

// Options are the settings of a decoder. The zero value works.
type Options struct {
	// FrameLimit is the most bytes one frame may have, line ends included;
	// 0 or less means DefaultFrameLimit.
	FrameLimit int
}

func (o Options) limit() int {
	if o.FrameLimit <= 0 {
		return DefaultFrameLimit
	}
	return o.FrameLimit
}

// Format is a framing by name.
type Format struct {
	Name string
	New  func(Options) Decoder
}

// Formats are the framings weir can decode. A new one is a file and a line here.
var Formats = []Format{
	{"sse", func(o Options) Decoder { return &sse{limit: o.limit()} }},
	{"ndjson", func(o Options) Decoder { return &ndjson{limit: o.limit()} }},
	{"json-array", func(o Options) Decoder { return &array{limit: o.limit()} }},
	{"body", func(o Options) Decoder { return &body{limit: o.limit()} }},
}

// New returns a decoder of the named format; an unknown name is an error that
// lists the known ones.
func New(format string, o Options) (Decoder, error) {
	names := make([]string, 0, len(Formats))
	for _, f := range Formats {
		if f.Name == format {
			return f.New(o), nil
		}
		names = append(names, f.Name)
	}
	return nil, fmt.Errorf("unknown wire format %q; known are %s", format, strings.Join(names, ", "))
}

// SSEState is what an SSE stream says about itself beside its frames. The "sse"
// decoder implements it.
type SSEState interface {
	// Retry is the reconnection time in milliseconds, as last set; not ok where
	// the stream never set one. A value over the range of int64 is its maximum.
	Retry() (ms int64, ok bool)
	// LastEventID is the last event ID as of the last blank line, original bytes.
	LastEventID() string
}

func tooLarge(format string, limit int) error {
	return fmt.Errorf("%w: one %s frame has more than %d bytes",
		ErrFrameTooLarge, format, limit)
}

// emptied returns buf without content, or nil where it is too large to keep.
func emptied(buf []byte) []byte {
	if cap(buf) > keepCap {
		return nil
	}
	return buf[:0]
}
