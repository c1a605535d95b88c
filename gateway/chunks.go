package gateway

import (
	"context"
	"net"
	"net/http"
	"reflect"
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
func chunksOf(w http.ResponseWriter, r *http.Request, status int) (c chunks) {
	h := w.Header()
	framed := h["Content-Length"] != nil || h["Transfer-Encoding"] != nil || h["Trailer"] != nil
	empty := r.Method == http.MethodHead || status < 200 || status == http.StatusNoContent || status == http.StatusNotModified
	if r.ProtoMajor != 1 || r.ProtoMinor < 1 || framed || empty || !isServers(w) {
		return c
	}
	c.conn, _ = r.Context().Value(connKey{}).(net.Conn)
	return c
}

// isServers reports whether a ResponseWriter is net/http's own, of HTTP/1.
func isServers(w http.ResponseWriter) bool {
	t := reflect.TypeOf(w)
	return t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "net/http" && t.Elem().Name() == "response"
}

// keepChunk is the most buffer that a stream holds on to.
const keepChunk = 2 << 10

// write writes one chunk, or cuts the connection: whoever recovers the handler's
// panic, nothing may follow what is torn.
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
	if err != nil {
		_ = c.conn.Close()
	}
	return err
}
