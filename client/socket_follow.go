package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/ws"
)

// Question is what a socket is asked: a request to one of the gateway's routes.
type Question struct {
	Path    string // of a route, with its query
	Method  string // "" = POST
	Headers map[string]string
	Body    json.RawMessage
}

// Ask asks a question over a gateway's WebSocket of its own, at ws:// or wss://,
// and follows the answer to its end, over broken sockets. The question is asked
// once; what is missing after a break is resumed. The loop ends after the
// terminal event, or with one error.
func Ask(ctx context.Context, url string, q Question, o Options) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &socketFollower{follower: follower{ctx: ctx, o: o.filled(), url: url, yield: yield}, question: &q}
		f.report(f.run())
	}
}

// followSocket follows the stream at ws://HOST/weir/streams/ID.
func followSocket(ctx context.Context, address string, o Options) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &socketFollower{follower: follower{ctx: ctx, o: o.filled(), yield: yield}}
		f.report(func() error {
			if err := f.at(address); err != nil {
				return err
			}
			return f.run()
		}())
	}
}

// isSocket reports whether an address is one of a WebSocket.
func isSocket(address string) bool {
	return strings.HasPrefix(address, "ws://") || strings.HasPrefix(address, "wss://")
}

// socketFollower is one stream being followed, on one socket after another.
type socketFollower struct {
	follower
	question *Question // nil: it is there, or was asked
	stream   string    // "" = it cannot be resumed
	status   int       // of the answer
	body     []byte    // the beginning of one that is an error
	seq      int64     // of the last event
	asked    bool
}

// streamName is the client's name of its only stream.
const streamName = "s"

func (f *socketFollower) at(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("the stream's address cannot be read")
	}
	before, id, ok := strings.Cut(u.Path, "/weir/streams/")
	if !ok || id == "" {
		return errors.New("the address of a stream is ws://HOST/weir/streams/ID; a question to another path needs a body")
	}
	if after := u.Query().Get("after"); after != "" {
		if f.seq, err = strconv.ParseInt(after, 10, 64); err != nil || f.seq < 0 {
			return errors.New("after must be a number from 0")
		}
	}
	f.stream = id
	f.url = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: before + socketPath}).String()
	return nil
}

func (f *socketFollower) run() error {
	for {
		ended, err := f.connection()
		var closed *CloseError
		switch {
		case ended, final(err):
			return err
		case f.ctx.Err() != nil:
			return context.Cause(f.ctx)
		case f.seen && f.o.Terminal(f.last):
			return nil
		case errors.As(err, &closed) && !closed.Code.MayReconnect():
			return err
		case f.stream == "" && f.asked:
			return unproven(err)
		}
		if err := f.wait(err); err != nil {
			return err
		}
	}
}

// connection follows on one socket. ended says that the gateway proved the end;
// everything else has an error.
func (f *socketFollower) connection() (ended bool, err error) {
	s, err := f.dial()
	if err != nil {
		return false, err
	}
	defer func() { _ = s.conn.CloseNow() }()
	if err := s.Send(f.ctx, f.first()); err != nil {
		return false, err
	}
	f.asked = true
	for {
		m, err := f.receive(s)
		if err != nil {
			return false, err
		}
		if ended, err = f.message(m); ended || err != nil {
			return ended, err
		}
	}
}

// dial opens a socket. Once the question was asked a gateway that accepts the
// connection and then says nothing is one more that is silent.
func (f *socketFollower) dial() (*Socket, error) {
	if f.o.Silence <= 0 || !f.asked {
		return Dial(f.ctx, f.url, f.o)
	}
	ctx, stop := context.WithTimeoutCause(f.ctx, f.o.Silence, errSilent)
	defer stop()
	s, err := Dial(ctx, f.url, f.o)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		err = errSilent
	}
	return s, err
}

// first is what asks for the stream, or for the rest of it.
func (f *socketFollower) first() any {
	if f.asked || f.question == nil {
		return ws.Resume{ID: streamName, Stream: f.stream, After: f.seq}
	}
	q := f.question
	return ws.Start{ID: streamName, Path: q.Path, Method: q.Method, Headers: q.Headers, Body: q.Body, Resume: true}
}

// receive waits for a message, as long as a socket may be silent. Before the
// first answer a model may be thinking.
func (f *socketFollower) receive(s *Socket) (any, error) {
	ctx := f.ctx
	if f.o.Silence > 0 && f.stream != "" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.o.Silence, errSilent)
		defer cancel()
	}
	m, err := s.Receive(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		err = errSilent
	}
	return m, err
}

func (f *socketFollower) message(m any) (ended bool, err error) {
	switch m := m.(type) {
	case *ws.Open:
		f.status, f.body = m.Status, nil
		if m.Resumable {
			f.stream = m.Stream
		}
	case *ws.Heartbeat:
		f.tries = 0
	case *ws.Event:
		return false, f.event(m)
	case *ws.Body:
		b, err := m.Bytes()
		if f.status >= http.StatusBadRequest {
			f.body = append(f.body, b[:min(len(b), max(4<<10-len(f.body), 0))]...)
		} else if err == nil && len(b) > 0 {
			return false, fmt.Errorf("%w: %.300q", ErrNoStream, b)
		}
	case *ws.DrainHint:
		f.delay = time.Duration(m.RetryAfterMs) * time.Millisecond
	case *ws.Error:
		return true, fmt.Errorf("%w: the gateway did not take the message: %s", ErrNoStream, m.Message)
	case *ws.End:
		return f.end(m)
	}
	return false, nil
}

func (f *socketFollower) event(m *ws.Event) error {
	switch {
	case m.Seq <= f.seq:
		return nil
	case m.Seq > f.seq+1:
		return &GapError{From: strconv.FormatInt(f.seq, 10), Detail: fmt.Sprintf("the next event that came is %d", m.Seq)}
	}
	before := f.seq
	f.seq, f.tries = m.Seq, 0
	data, ok := m.Bytes()
	if !ok || m.Partial {
		return nil
	}
	e := Event{Name: m.Event, Data: data, ID: m.EventID}
	if detail, ok := gapOf(e); ok {
		return &GapError{From: strconv.FormatInt(before, 10), Detail: detail}
	}
	f.last, f.seen = e, true
	if !f.yield(e, nil) {
		return errStopped
	}
	return nil
}

// end is what the last message of the stream says.
func (f *socketFollower) end(m *ws.End) (ended bool, err error) {
	if m.RetryAfterMs > 0 {
		f.delay = min(time.Duration(m.RetryAfterMs)*time.Millisecond, longestWait)
	}
	switch {
	case f.status >= http.StatusBadRequest:
		return true, f.says(m, f.status)
	case m.Outcome == "done", f.seen && f.o.Terminal(f.last):
		return true, nil
	case m.Code == ws.Gap:
		return true, &GapError{From: strconv.FormatInt(f.seq, 10), Detail: m.Message}
	case m.Reconnect && f.stream != "":
		return false, fmt.Errorf("the gateway ended it here: %s", m.Reason)
	}
	if m.Status < http.StatusBadRequest {
		return true, unproven(fmt.Errorf("%s: %s", m.Outcome, m.Reason))
	}
	return true, f.says(m, m.Status)
}

// says is the error of an answer that is one.
func (f *socketFollower) says(m *ws.End, status int) error {
	e := &StatusError{Status: status, Body: string(f.body), wait: time.Duration(m.RetryAfterMs) * time.Millisecond}
	for _, text := range []string{m.Message, m.Reason} {
		if e.Body == "" {
			e.Body = text
		}
	}
	return e
}
