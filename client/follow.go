package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Follow follows the stream at a gateway's URL, /weir/streams/ID, from its
// first event or from where the URL's after=N says, to its end. With ws:// or
// wss:// it does so over the gateway's WebSocket. The loop ends
// after the terminal event, or with one error.
func Follow(ctx context.Context, url string, o Options) iter.Seq2[Event, error] {
	if isSocket(url) {
		return followSocket(ctx, url, o)
	}
	return func(yield func(Event, error) bool) {
		f := &follower{ctx: ctx, o: o.filled(), url: url, yield: yield}
		f.report(f.run(nil))
	}
}

// Do sends a request whose answer is a stream, and follows it to its end. The
// request is sent once and as it is, with weir-resume: 1; where the connection
// breaks the rest is fetched with a GET from the gateway that answered, which
// has the request's Authorization and other key headers besides Options.Header.
// The loop ends after the terminal event, or with one error.
func Do(req *http.Request, o Options) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &follower{ctx: req.Context(), o: o.filled(), yield: yield}
		f.o.Header = withKeys(o.Header, req.Header)
		f.report(f.run(req))
	}
}

// keyHeaders are those by which a gateway knows whose a stream is.
var keyHeaders = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

func withKeys(own, asked http.Header) http.Header {
	h := own.Clone()
	if h == nil {
		h = http.Header{}
	}
	for _, name := range keyHeaders {
		if v := asked.Values(name); len(v) > 0 && len(h.Values(name)) == 0 {
			h[name] = v
		}
	}
	return h
}

// follower is one stream being followed.
type follower struct {
	ctx   context.Context
	o     Options
	url   string // where to resume; "" = it cannot be
	yield func(Event, error) bool

	place place
	last  Event         // the newest event; its data is the caller's
	seen  bool          // there was one
	delay time.Duration // the server's retry; 0 = it said none
	tries int           // in a row that brought nothing
}

var errStopped = errors.New("the caller stopped")

func (f *follower) report(err error) {
	if err != nil && !errors.Is(err, errStopped) {
		f.yield(Event{}, err)
	}
}

// run follows to the end. first is the request that makes the stream; nil where
// it is there.
func (f *follower) run(first *http.Request) error {
	req := first
	for {
		if req == nil {
			var err error
			if req, err = f.resume(); err != nil {
				return err
			}
		}
		ended, err := f.connection(req, req == first)
		switch {
		case ended, final(err):
			return err
		case f.ctx.Err() != nil:
			return context.Cause(f.ctx)
		case f.seen && f.o.Terminal(f.last):
			return nil
		case f.url == "", f.place.lost():
			return unproven(err)
		}
		if err := f.wait(err); err != nil {
			return err
		}
		req = nil
	}
}

// errCleanEnd is the end of a connection that does not say whether it is the
// stream's.
var errCleanEnd = errors.New("the connection ended before the stream")

func unproven(err error) error { return fmt.Errorf("%w: %w", ErrUnproven, err) }

// final reports errors that another try does not mend.
func final(err error) bool {
	var status *StatusError
	switch {
	case errors.Is(err, errStopped), errors.Is(err, ErrGap), errors.Is(err, ErrNoStream), errors.Is(err, errRequest):
		return true
	case errors.As(err, &status):
		return !status.temporary()
	}
	return false
}

// wait is the pause before the next try, longer each time.
func (f *follower) wait(broken error) error {
	if f.tries == f.o.Tries {
		return fmt.Errorf("%w in %d tries: %w", ErrGaveUp, f.tries, broken)
	}
	f.tries++
	base := f.o.Delay
	if f.delay > 0 {
		base = f.delay
	}
	pause := min(base<<(f.tries-1), longestWait)
	if base > longestWait>>(f.tries-1) {
		pause = longestWait // the shift would be over it, or over everything
	}
	if f.o.Jitter > 0 {
		pause += jitter(f.o.Jitter)
	}
	var status *StatusError
	if errors.As(broken, &status) {
		pause = max(pause, min(status.wait, longestWait))
	}
	f.o.Retrying(Reconnect{Try: f.tries, Wait: pause, Err: broken, From: f.place.id})
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
}

// resume is the request for what comes after the last event.
func (f *follower) resume() (*http.Request, error) {
	u, err := url.Parse(f.url)
	if err != nil {
		return nil, fmt.Errorf("the stream's address: %w", err)
	}
	if f.place.id == "" && f.place.count > 0 {
		q := u.Query()
		from, _ := strconv.ParseInt(q.Get("after"), 10, 64) // the caller's own beginning, 0 where it gave none
		q.Set("after", strconv.FormatInt(from+f.place.count, 10))
		u.RawQuery = q.Encode()
	}
	req, err := http.NewRequestWithContext(f.ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("the stream's address: %w", err)
	}
	for name, v := range f.o.Header {
		req.Header[name] = v
	}
	req.Header.Set("Accept", "text/event-stream, application/x-ndjson")
	req.Header.Set("Cache-Control", "no-store")
	if f.place.id != "" {
		req.Header.Set("Last-Event-ID", f.place.id)
	}
	return req, nil
}
