package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/dialect"
	"weir/stream"
	"weir/wire"
)

// bodiless reports whether an answer says that it has no body: it is passed on
// as it is, also to who asked for a stream. One that says it is a stream, and
// holds nothing, is a stream that was cut.
func (a *attempt) bodiless() bool {
	switch status := a.resp.StatusCode; {
	case a.s.x.method == http.MethodHead, status == http.StatusNoContent, status == http.StatusResetContent:
		return true
	default:
		kind := a.resp.Header.Get("Content-Type")
		return a.resp.ContentLength == 0 && !strings.Contains(kind, "event-stream") && !strings.Contains(kind, "ndjson")
	}
}

// maxRefusal bounds an error's body that is kept while another attempt may be
// made.
const maxRefusal = 1 << 20

// refused is an HTTP error: another attempt, or the client's answer.
func (a *attempt) refused() *failure {
	resp := a.resp
	f := &failure{reason: "http_" + strconv.Itoa(resp.StatusCode), text: texts["upstream_error"], status: resp.StatusCode,
		retryable: worthRetry(resp.StatusCode), after: retryAfter(resp.Header, time.Now())}
	h := http.Header{}
	copyResponseHeader(h, resp.Header, false)
	o := &opening{status: resp.StatusCode, header: h}
	body, err := io.ReadAll(io.LimitReader(a.body, maxRefusal+1))
	switch {
	case a.s.x.method == http.MethodHead:
		f.answer = o // its length is that of the answer to a GET
	case err != nil:
		f.text += "; its words broke off and are left out"
	case len(body) <= maxRefusal:
		h.Set("Content-Length", strconv.Itoa(len(body)))
		f.answer, f.body = o, body
	case (a.last || !f.retryable) && a.s.open(o):
		a.s.status, a.s.reason = o.status, f.reason
		a.pass(body)
		return nil
	default:
		f.text += "; its words were too many to be kept and are left out"
	}
	return f
}

// plain passes an answer on that is no stream.
func (a *attempt) plain(first []byte) *failure {
	s, resp := a.s, a.resp
	if f := a.falseSuccess(&first); f != nil {
		return f
	}
	h := http.Header{}
	copyResponseHeader(h, resp.Header, false)
	o := &opening{status: resp.StatusCode, header: h}
	s.status = resp.StatusCode
	if !s.open(o) {
		return fail("not_a_stream", http.StatusBadGateway, false)
	}
	a.pass(first)
	return nil
}

// pass passes a body on to its end; first was read of it.
func (a *attempt) pass(first []byte) {
	s := a.s
	if len(first) > 0 {
		s.bytes(first)
	}
	for {
		got, err := a.body.Next()
		if len(got.Data) > 0 {
			s.clock.moved(time.Now(), false, 0)
			s.bytes(got.Data)
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			s.reason = a.broken(err).reason
			s.broken.Store(true)
			return
		}
	}
}

// falseSuccess finds an error that a service sends with status 200 where a
// stream was asked for: the client gets the status it deserves.
func (a *attempt) falseSuccess(first *[]byte) *failure {
	if !a.s.x.ask.streamed || !bytes.HasPrefix(bytes.TrimSpace(*first), []byte("{")) {
		return nil
	}
	rest, err := io.ReadAll(io.LimitReader(a.body, maxRefusal))
	*first = append(*first, rest...)
	if err != nil {
		return a.broken(err)
	}
	var fault *stream.Fault
	d := a.s.x.dialect
	if d == nil {
		d, _ = dialect.Detect(dialect.Hint{Path: a.s.x.path})
	}
	c := d.NewClassifier()
	_ = c.Classify(wire.Frame{Kind: wire.Body, Data: *first, Raw: *first}, func(e *stream.Event) {
		if e.Kind == stream.KindError {
			fault = e.Fault
		}
	})
	if fault == nil {
		return nil
	}
	return a.stated(fault, *first)
}

// stated is the failure of an error that the service stated with status 200.
func (a *attempt) stated(fault *stream.Fault, data []byte) *failure {
	status := codeStatus(fault.Code)
	f := &failure{reason: "in_band", text: texts["upstream_error"], status: status, retryable: worthRetry(status)}
	if data = a.s.x.voice.stated(fault, bytes.TrimSpace(data)); bytes.HasPrefix(data, []byte("{")) {
		f.body = append(bytes.Clone(data), '\n')
		f.answer = &opening{status: status, header: http.Header{"Content-Type": {"application/json"},
			"Cache-Control": {"no-store"}, "Content-Length": {strconv.Itoa(len(f.body))}}}
	}
	return f
}

// bytes queues what is no event.
func (s *session) bytes(p []byte) {
	if s.fail == nil { // a worker's refusal is nothing that was generated
		s.generated.Bytes += int64(len(p))
	}
	if s.q.put(&load{bytes: p}) {
		return
	}
	s.clock.wait(true)
	defer s.clock.wait(false)
	for !s.q.put(&load{bytes: p}) {
		select {
		case <-s.q.room:
		case <-s.ctx.Done():
			return
		}
	}
}
