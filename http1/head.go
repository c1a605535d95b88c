package http1

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
)

// Why there was no response, or none that could be read.
var (
	ErrHeadBig    = errors.New("response head larger than the limit")
	ErrHeadForm   = errors.New("malformed response head")
	ErrNoResponse = errors.New("the server closed the connection without a response")
)

// head reads the response's head and skips informational ones.
func (c *Conn) head(req *http.Request) (*http.Response, error) {
	var h []byte
	spent := 0
	for {
		end, seen := headEnd(h, 0)
		for end < 0 {
			if len(h)+spent > c.headLimit {
				return nil, fmt.Errorf("%w of %d bytes", ErrHeadBig, c.headLimit)
			}
			p, err := c.read()
			if err != nil {
				return nil, cutHead(err, h, spent > 0)
			}
			if h = append(h, p...); len(h) >= 5 && !bytes.HasPrefix(h, []byte("HTTP/")) {
				return nil, fmt.Errorf("%w: it begins with %q", ErrHeadForm, h[:min(len(h), 40)])
			}
			end, seen = headEnd(h, seen)
		}
		res, err := http.ReadResponse(bufio.NewReaderSize(bytes.NewReader(h[:end]), 1024), req)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrHeadForm, err)
		}
		spent += end
		if res.StatusCode >= 200 || res.StatusCode == http.StatusSwitchingProtocols {
			c.frame, c.left, c.hasBody = framingOf(res, req.Method), bytes.Clone(h[end:]), true
			res.Body = http.NoBody // Next reads it; net/http's would hold its buffer for as long
			return res, nil
		}
		h = h[end:]
	}
}

// headEnd is the length of a complete head, or -1. It looks from where it has
// seen before, and says how far that is now: a head may come byte by byte.
func headEnd(h []byte, seen int) (end, next int) {
	for {
		i := bytes.IndexByte(h[seen:], '\n')
		if i < 0 {
			return -1, len(h)
		}
		at := seen + i
		switch rest := h[at+1:]; {
		case bytes.HasPrefix(rest, []byte("\n")):
			return at + 2, 0
		case bytes.HasPrefix(rest, []byte("\r\n")):
			return at + 3, 0
		case len(rest) == 0, len(rest) == 1 && rest[0] == '\r':
			return -1, at // what follows decides
		}
		seen = at + 1
	}
}

// cutHead words the end of a connection inside or before the head, or after
// informational ones.
func cutHead(err error, got []byte, informed bool) error {
	switch {
	case informed && len(got) == 0 && err == io.EOF:
		return fmt.Errorf("the server closed the connection after an informational response: %w", io.ErrUnexpectedEOF)
	case informed && len(got) == 0:
		return err
	case len(got) == 0 && err == io.EOF:
		return fmt.Errorf("%w: %w", ErrNoResponse, io.ErrUnexpectedEOF)
	case len(got) == 0 && errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("%w: %w", ErrNoResponse, err)
	case err != io.EOF:
		return err
	}
	return fmt.Errorf("the server closed the connection inside the response head: %w", io.ErrUnexpectedEOF)
}
