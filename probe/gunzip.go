package probe

import (
	"compress/gzip"
	"io"
	"iter"
)

// gunzip decodes gzip as it comes: compressed bytes go in, what they released
// comes out at once. The decoder pulls its input, so it runs as a coroutine
// that is suspended whenever it has used up what is there.
type gunzip struct {
	in   []byte
	eof  bool
	next func() (piece, bool)
	stop func()
}

// piece is what the decoder gave; nil data: it needs more input.
type piece struct {
	data []byte
	err  error // io.EOF: the end of the compressed stream
}

func newGunzip() *gunzip {
	g := &gunzip{}
	g.next, g.stop = iter.Pull(g.run)
	return g
}

func (g *gunzip) run(yield func(piece) bool) {
	src := &hungry{g: g, yield: yield}
	z, err := gzip.NewReader(src)
	buf := make([]byte, 8<<10)
	for err == nil {
		var n int
		n, err = z.Read(buf)
		if n > 0 && !yield(piece{data: buf[:n]}) {
			return
		}
	}
	if !src.stopped {
		yield(piece{err: err})
	}
}

// push decodes p and calls emit with each piece it released.
func (g *gunzip) push(p []byte, emit func([]byte) error) error {
	g.in = p
	for {
		got, ok := g.next()
		switch {
		case !ok:
			return nil // bytes after the end: ignored, as browsers do
		case got.err == io.EOF:
			return nil
		case got.err != nil:
			return &gzipError{got.err}
		case got.data == nil:
			return nil
		}
		if err := emit(got.data); err != nil {
			return err
		}
	}
}

// finish says that no more input comes; nil: the compressed stream was whole.
func (g *gunzip) finish(emit func([]byte) error) error {
	g.eof = true
	return g.push(nil, emit)
}

// hungry is the decoder's input: it suspends the decoder when nothing is left.
type hungry struct {
	g       *gunzip
	yield   func(piece) bool
	stopped bool
}

func (h *hungry) Read(p []byte) (int, error) {
	for len(h.g.in) == 0 {
		if h.stopped || h.g.eof {
			return 0, io.EOF
		}
		if !h.yield(piece{}) {
			h.stopped = true
		}
	}
	n := copy(p, h.g.in)
	h.g.in = h.g.in[n:]
	return n, nil
}

// ReadByte lets the decoder take no more bytes than it needs.
func (h *hungry) ReadByte() (byte, error) {
	var b [1]byte
	_, err := h.Read(b[:])
	return b[0], err
}

// gzipError says that the compressed body is damaged or cut.
type gzipError struct{ err error }

func (e *gzipError) Error() string { return "gzip body: " + e.err.Error() }
func (e *gzipError) Unwrap() error { return e.err }
