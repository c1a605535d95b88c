package http1

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
)

// framing finds the body in the bytes after a response's head: chunked, of a
// stated length, or until the connection closes. It is a push decoder: what a
// socket read brought goes in, the body bytes among it come out.
type framing struct {
	mode  bodyMode
	state chunkState
	left  int64 // bytes still to come: of the body, or of the chunk
	size  int64 // chunk size being read
	line  int   // bytes of the size line or the trailers so far
	digit bool
	blank bool // trailers: the line so far is empty
	done  bool
}

type bodyMode uint8

const (
	untilClose bodyMode = iota
	byLength
	byChunks
)

// String is the mode's name in the record's facts.
func (m bodyMode) String() string { return [...]string{"close", "length", "chunked"}[m] }

type chunkState uint8

const (
	inSize chunkState = iota
	inExtension
	inData
	afterData
	inTrailer
)

// IsFraming reports whether err is a body that cannot be told apart.
func IsFraming(err error) bool {
	return errors.Is(err, errChunkSize) || errors.Is(err, errChunkBig) || errors.Is(err, errChunkEnd) || errors.Is(err, errChunkLine)
}

// maxLine bounds a chunk's size line with its extensions, and the trailers.
const maxLine = 64 << 10

var (
	errChunkSize = errors.New("malformed chunked body: a chunk without a size")
	errChunkBig  = errors.New("malformed chunked body: a chunk size above 2^60")
	errChunkEnd  = errors.New("malformed chunked body: no line end after a chunk")
	errChunkLine = errors.New("malformed chunked body: a size line or trailer above 64 KiB")
)

// framingOf reads the framing from the head of the answer to a method.
func framingOf(r *http.Response, method string) framing {
	switch {
	case method == http.MethodHead, r.StatusCode == http.StatusNoContent, r.StatusCode == http.StatusNotModified:
		return framing{mode: byLength, done: true} // whatever its fields say of a body
	case len(r.TransferEncoding) > 0 && r.TransferEncoding[0] == "chunked":
		return framing{mode: byChunks}
	case r.ContentLength >= 0:
		return framing{mode: byLength, left: r.ContentLength, done: r.ContentLength == 0}
	}
	return framing{mode: untilClose}
}

// feed returns the body bytes in p and what follows the body. The body bytes
// of a read with several chunks are moved together inside p.
func (f *framing) feed(p []byte) (body, rest []byte, err error) {
	switch {
	case f.done:
		return nil, p, nil
	case f.mode == untilClose:
		return p, nil, nil
	case f.mode == byLength:
		n := min(int64(len(p)), f.left)
		f.left -= n
		f.done = f.left == 0
		return p[:n], p[n:], nil
	}
	return f.chunks(p)
}

func (f *framing) chunks(p []byte) (body, rest []byte, err error) {
	all, start, end := p, 0, 0 // the body found so far is all[start:end]
	for len(p) > 0 && !f.done {
		if f.state != inData {
			if p, err = f.control(p); err != nil {
				return all[start:end], nil, err
			}
			continue
		}
		n := int(min(int64(len(p)), f.left))
		if end == 0 {
			start = len(all) - len(p)
			end = start + n
		} else {
			end += copy(all[end:], p[:n])
		}
		p = p[n:]
		if f.left -= int64(n); f.left == 0 {
			f.state, f.line = afterData, 0
		}
	}
	return all[start:end], p, nil
}

// control takes bytes that are not body: size lines, line ends, trailers.
func (f *framing) control(p []byte) ([]byte, error) {
	switch f.state {
	case inSize:
		return f.sizeLine(p)
	case inExtension:
		return f.extension(p)
	case afterData:
		return f.chunkEnd(p)
	default:
		return f.trailer(p)
	}
}

func (f *framing) sizeLine(p []byte) ([]byte, error) {
	for i, b := range p {
		d, ok := hexDigit(b)
		if !ok {
			if !f.digit || !strings.ContainsRune(" \t;\r\n", rune(b)) {
				return nil, errChunkSize
			}
			f.state, f.line = inExtension, 0
			return p[i:], nil
		}
		if f.size >= 1<<56 {
			return nil, errChunkBig
		}
		f.size, f.digit = f.size<<4|int64(d), true
	}
	return nil, nil
}

func hexDigit(b byte) (byte, bool) {
	switch {
	case b >= '0' && b <= '9':
		return b - '0', true
	case b >= 'a' && b <= 'f':
		return b - 'a' + 10, true
	case b >= 'A' && b <= 'F':
		return b - 'A' + 10, true
	}
	return 0, false
}

func (f *framing) extension(p []byte) ([]byte, error) {
	i := bytes.IndexByte(p, '\n')
	if i < 0 {
		if f.line += len(p); f.line > maxLine {
			return nil, errChunkLine
		}
		return nil, nil
	}
	f.left, f.size, f.digit, f.line = f.size, 0, false, 0
	f.state = inData
	if f.left == 0 {
		f.state, f.blank = inTrailer, true
	}
	return p[i+1:], nil
}

// chunkEnd takes the line end after a chunk's data; a lone LF is let pass.
func (f *framing) chunkEnd(p []byte) ([]byte, error) {
	switch {
	case p[0] == '\r' && f.line == 0:
		f.line = 1
	case p[0] == '\n':
		f.state, f.line = inSize, 0
	default:
		return nil, errChunkEnd
	}
	return p[1:], nil
}

func (f *framing) trailer(p []byte) ([]byte, error) {
	for i, b := range p {
		switch {
		case b == '\n' && f.blank:
			f.done = true
			return p[i+1:], nil
		case b == '\n':
			f.blank = true
		case b != '\r':
			f.blank = false
		}
		if f.line++; f.line > maxLine {
			return nil, errChunkLine
		}
	}
	return nil, nil
}
