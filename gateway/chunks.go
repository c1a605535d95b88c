package gateway

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
)

// connKey is the key of a client's connection in its requests' contexts.
type connKey struct{}

// ConnContext lets the gateway write the events of a stream on its client's
// connection itself. It is for the http.Server whose Handler is a gateway's;
// without it all goes through net/http.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// chunks writes the body of an answer on the connection itself, in the chunks
// that net/http has said it is in (RFC 9112 §7.1): an event would pass through
// two buffers, a formatted print and four objects of net/http's to become the
// same bytes. The head before them and the end after them are net/http's. After
// an error nothing may follow: the connection is to be cut.
type chunks struct {
	conn net.Conn
	buf  []byte
}

// chunksOf is how an answer's body can be written; without a connection where it
// is not in chunks, or anything may stand between the handler and that.
func chunksOf(w http.ResponseWriter, r *http.Request) (c chunks) {
	h := w.Header()
	framed := h["Content-Length"] != nil || h["Transfer-Encoding"] != nil || h["Trailer"] != nil
	if r.ProtoMajor != 1 || r.ProtoMinor < 1 || r.Method == http.MethodHead || framed {
		return c
	}
	conn, ok := r.Context().Value(connKey{}).(net.Conn)
	if !ok || fmt.Sprintf("%T", w) != "*http.response" {
		return c
	}
	return chunks{conn: conn}
}

// keepChunk is the most buffer that a stream holds on to.
const keepChunk = 2 << 10

// write writes one chunk.
func (c *chunks) write(p []byte) error {
	if len(p) == 0 {
		return nil // it would be the end
	}
	b := strconv.AppendUint(c.buf[:0], uint64(len(p)), 16)
	b = append(b, "\r\n"...)
	b = append(b, p...)
	b = append(b, "\r\n"...)
	if cap(b) <= keepChunk {
		c.buf = b
	}
	_, err := c.conn.Write(b)
	return err
}
