package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"weir/wire"
)

// resumeHeader asks a gateway for event ids; the other two tell where a stream
// can be resumed, and whether.
const (
	resumeHeader    = "Weir-Resume"
	streamHeader    = "Weir-Stream"
	resumableHeader = "Weir-Resumable"
)

// errRequest is of a first request that did not get through.
var errRequest = errors.New("the request failed; it is not sent again, since it may have been received")

// connection sends a request and hands on what its answer brings. ended says
// that the server proved the end; everything else has an error.
func (f *follower) connection(req *http.Request, first bool) (ended bool, err error) {
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	watch := newWatch(f.o.Silence, cancel)
	defer watch.stop()
	if !first { // before the first answer a model may be thinking
		watch.heard()
	}
	req = req.Clone(ctx)
	req.Header.Set(resumeHeader, "1")
	resp, err := f.o.HTTP.Do(req)
	if err != nil {
		if first {
			return false, fmt.Errorf("%w: %w", errRequest, err)
		}
		return false, watch.cause(err)
	}
	defer resp.Body.Close()
	if ended, err = f.refused(resp, first); ended || err != nil {
		return ended, err
	}
	decoder, err := f.decoder(resp)
	if err != nil {
		return false, err
	}
	stream := resp.Header.Get(streamHeader)
	f.place.counted = f.place.counted || stream != ""
	if first && resp.Header.Get(resumableHeader) == "true" {
		f.url = f.streamURL(req.URL, stream) // not where a redirect led: the key is not for it
	}
	watch.heard()
	return false, watch.cause(f.read(resp.Body, decoder, watch))
}

// refused is what an answer says that is no stream.
func (f *follower) refused(resp *http.Response, first bool) (ended bool, err error) {
	switch {
	case resp.StatusCode == http.StatusOK:
		return false, nil
	case first:
		return false, fmt.Errorf("%w: %w", errRequest, statusError(resp))
	case resp.StatusCode == http.StatusNoContent:
		return true, nil
	case resp.StatusCode == http.StatusConflict:
		return false, f.refusedGap(resp)
	}
	return false, statusError(resp)
}

func (f *follower) streamURL(asked *url.URL, stream string) string {
	if stream == "" {
		return ""
	}
	if f.o.Streams != "" {
		return f.o.Streams + url.PathEscape(stream)
	}
	return (&url.URL{Scheme: asked.Scheme, Host: asked.Host, Path: "/weir/streams/" + stream}).String()
}

// decoder is that of the answer's framing.
func (f *follower) decoder(resp *http.Response) (wire.Decoder, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var format string
	switch kind {
	case "text/event-stream":
		format, f.place.sse = "sse", true
	case "application/x-ndjson", "application/jsonl", "application/json-lines", "application/stream+json":
		format, f.place.sse = "ndjson", false
	default:
		return nil, fmt.Errorf("%w: its content type is %q: %.300q", ErrNoStream, kind, beginning(resp.Body))
	}
	return wire.New(format, wire.Options{FrameLimit: f.o.FrameLimit})
}

// read hands on the body's events until it ends. Its error is never nil.
func (f *follower) read(body io.Reader, d wire.Decoder, watch *watch) error {
	var stop error
	emit := func(fr wire.Frame) {
		if stop == nil {
			stop = f.take(fr)
		}
	}
	buf := make([]byte, 16<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			watch.heard()
		}
		if e := d.Feed(buf[:n], emit); e != nil && stop == nil {
			stop = fmt.Errorf("%w: %w", ErrNoStream, e)
		}
		if stop != nil {
			return stop
		}
		if s, ok := d.(wire.SSEState); ok {
			if ms, said := s.Retry(); said {
				f.delay = min(time.Duration(min(ms, longestWait.Milliseconds()))*time.Millisecond, longestWait)
			}
		}
		switch {
		case err == io.EOF:
			return errCleanEnd // what is unterminated is not an event; it comes again
		case err != nil:
			return err
		}
	}
}

// take handles one frame.
func (f *follower) take(fr wire.Frame) error {
	switch fr.Kind {
	case wire.Event, wire.DataLess:
	case wire.Comment:
		f.tries = 0
		return nil
	default:
		return nil
	}
	before := f.place.id
	fresh, err := f.place.advance(fr)
	if err != nil {
		return err
	}
	f.tries = 0
	if !fresh || fr.Kind == wire.DataLess {
		return nil
	}
	e := Event{Name: string(fr.Event), Data: bytes.Clone(fr.Data)}
	if f.place.id != before {
		e.ID = f.place.id
	}
	if detail, ok := gapOf(e); ok {
		return &GapError{From: before, Detail: detail}
	}
	f.last, f.seen = e, true
	if !f.yield(e, nil) {
		return errStopped
	}
	return nil
}

func (f *follower) refusedGap(resp *http.Response) error {
	e := Event{Data: []byte(beginning(resp.Body))}
	detail, ok := gapOf(e)
	if !ok {
		return &StatusError{Status: resp.StatusCode, Body: string(e.Data)}
	}
	return &GapError{From: f.place.id, Detail: detail}
}

func statusError(resp *http.Response) error {
	e := &StatusError{Status: resp.StatusCode, Body: beginning(resp.Body)}
	if s, err := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 32); err == nil && s > 0 {
		e.wait = time.Duration(s) * time.Second
	}
	return e
}

func beginning(r io.Reader) string {
	b, _ := io.ReadAll(io.LimitReader(r, 4<<10)) // what could be read of it
	return string(b)
}

// jitter is a random part of at most, so that clients which broke together do
// not come back together.
func jitter(most time.Duration) time.Duration { return rand.N(most + 1) }
