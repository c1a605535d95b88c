package mock

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net"
	"net/http"
	"time"

	"weir/stream"
)

// cutPause separates the two writes of a cut event, so that they are two reads.
const cutPause = 2 * time.Millisecond

// gzipHeader is the length of the header with which a compressor begins, in bytes.
const gzipHeader = 10

// out writes one response: plain, or through a compressor, or holding bytes
// back as a buffering relay does. It stamps what it writes for the truth log.
type out struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	b     *Behaviour
	truth *truthLog // nil = none
	id    []byte    // request id as a JSON string

	seq   int
	gz    *gzip.Writer
	zip   bytes.Buffer
	held  []byte
	sent  int    // bytes released so far
	owing []owed // events whose bytes are not out yet
}

type owed struct {
	seq, bytes int
	kind       stream.Kind
}

func newOut(w http.ResponseWriter, b *Behaviour, truth *truthLog, requestID string) *out {
	return &out{w: w, rc: http.NewResponseController(w), b: b, truth: truth, id: jsonOf(requestID)}
}

// compress makes the body gzip from here on.
func (o *out) compress() { o.gz = gzip.NewWriter(&o.zip) }

// send writes one event, or keeps it until it is due to leave.
func (o *out) send(data []byte, kind stream.Kind) error {
	o.seq++
	if o.gz == nil && o.b.FlushBytes == 0 && o.b.FlushEvery == 0 {
		before := o.now()
		err := o.write(data)
		o.log(owed{o.seq, len(data), kind}, before)
		return err
	}
	o.owing = append(o.owing, owed{o.seq, len(data), kind})
	if o.gz == nil {
		o.held = append(o.held, data...)
	} else if err := o.zipIn(data); err != nil {
		return err
	}
	if len(o.held) > 0 && len(o.held) >= o.b.FlushBytes && o.b.FlushEvery == 0 ||
		o.b.FlushBytes > 0 && len(o.held) >= o.b.FlushBytes {
		return o.release()
	}
	return nil
}

func (o *out) zipIn(data []byte) error {
	if _, err := o.gz.Write(data); err != nil {
		return err
	}
	if o.b.Gzip == "flush" {
		if err := o.gz.Flush(); err != nil {
			return err
		}
	}
	o.held = append(o.held, o.zip.Bytes()...)
	o.zip.Reset()
	return nil
}

// release writes what is held. Events whose bytes a compressor still keeps are
// logged with the bytes it gives next: with gzip=buffer the truth is that of
// whole blocks.
func (o *out) release() error {
	if len(o.held) == 0 {
		return nil
	}
	before := o.now()
	err := o.write(o.held)
	o.sent += len(o.held)
	o.held = o.held[:0]
	if o.gz != nil && o.sent <= gzipHeader {
		return err
	}
	for _, e := range o.owing {
		o.log(e, before)
	}
	o.owing = o.owing[:0]
	return err
}

// end writes what is held and ends the compressor; the response itself ends
// when its handler returns.
func (o *out) end() error {
	if o.gz != nil {
		if err := o.gz.Close(); err != nil {
			return err
		}
		o.held = append(o.held, o.zip.Bytes()...)
	}
	return o.release()
}

func (o *out) write(data []byte) error {
	if at := cutAt(data, o.b.Cut); at > 0 && o.gz == nil {
		if err := o.push(data[:at]); err != nil {
			return err
		}
		time.Sleep(cutPause)
		data = data[at:]
	}
	return o.push(data)
}

func (o *out) push(data []byte) error {
	if _, err := o.w.Write(data); err != nil {
		return err
	}
	return o.rc.Flush()
}

func (o *out) now() int64 {
	if o.truth == nil {
		return 0
	}
	return time.Now().UnixNano()
}

func (o *out) log(e owed, before int64) {
	if o.truth != nil {
		o.truth.add(o.id, e.seq, e.kind, e.bytes, before, time.Now().UnixNano())
	}
}

// reset breaks the connection under the response: TCP RST on HTTP/1,
// RST_STREAM on HTTP/2. It does not return.
func (o *out) reset() {
	conn, _, err := o.rc.Hijack()
	if err == nil {
		if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
			conn = t.NetConn() // under TLS: no close_notify
		}
		if t, ok := conn.(*net.TCPConn); ok {
			err = t.SetLinger(0)
		}
		_ = errors.Join(err, conn.Close()) // the connection is gone either way
	}
	panic(http.ErrAbortHandler)
}
