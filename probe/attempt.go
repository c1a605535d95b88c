package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	"weir/dialect"
	"weir/http1"
	"weir/stream"
)

// attempt is one request with its redirects, from t0 to its records.
type attempt struct {
	c     *Client
	ctx   context.Context // the caller's
	ask   dialect.Ask
	req   *http.Request
	scrub scrubber
	w     window
	rec   stream.Record

	seen    *observer // nil until a response's head was here
	records []*stream.Record
}

// perform makes the request a asks for. The error means there was nothing to
// ask, or that the dialect failed.
func (c *Client) perform(ctx context.Context, a *dialect.Ask, m *Meta) (*attempt, error) {
	x := &attempt{c: c, ctx: ctx, ask: *a}
	if err := x.prepare(m); err != nil {
		return nil, err
	}
	x.w.T0 = http1.StartClock()
	x.w.Deadline = x.w.T0.Add(c.o.Timeout)
	x.w.Head, x.w.Phases = c.o.HeaderTimeout, &x.rec.Phases
	x.rec.Start = x.w.T0.UTC()
	closing := x.travel()
	if x.seen == nil {
		x.seen = newObserver(x, nil, nil)
	}
	closing.Detail = x.scrub.clean(closing.Detail)
	x.records = x.seen.close(closing)
	return x, x.seen.err()
}

// travel makes the request and those it is redirected to.
func (x *attempt) travel() stream.Closing {
	ctx, cancel := context.WithDeadline(x.ctx, x.w.Deadline)
	defer cancel()
	for range maxRedirects + 1 {
		closing, next := x.exchange(ctx)
		if next == nil {
			return closing
		}
		x.rec.Facts.Redirects = append(x.rec.Facts.Redirects, Target(next.URL))
		x.req = next
	}
	return stream.Closing{How: stream.Failed, At: x.since(time.Now()), Reason: "redirects",
		Detail: fmt.Sprintf("more than %d redirects; the last led to %s", maxRedirects, Target(x.req.URL))}
}

// noteStale: servers close idle connections, some right after an answer and in
// spite of their Keep-Alive header (llama.cpp does). That is no failure of the
// answer that was asked for on one.
const noteStale = "the server had closed the idle connection; the request was repeated on a new one"

// exchange is one request and its response, or the request it leads to.
func (x *attempt) exchange(ctx context.Context) (stream.Closing, *http.Request) {
	for {
		car, warm, err := x.c.obtain(ctx, x.req.URL, x.w.Phases)
		if err != nil {
			return x.failed(err), nil
		}
		x.rec.Conn = "cold"
		if warm {
			x.rec.Conn = "warm"
		}
		release := context.AfterFunc(x.ctx, car.Interrupt)
		closing, next, err := x.respond(ctx, car)
		if !release() || x.c.o.Fresh {
			car.Close() // an interrupt may still be on its way
		} else {
			x.c.pool.Put(poolKey(x.req.URL), car)
		}
		if !warm || !closedUnused(err) || !x.rewind() {
			return closing, next
		}
		x.notef(noteStale)
	}
}

// closedUnused reports whether the server closed the connection without a byte
// of an answer.
func closedUnused(err error) bool {
	var phase *http1.PhaseError
	if errors.As(err, &phase) && phase.Reason == "write" {
		return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
	}
	return errors.Is(err, http1.ErrNoResponse)
}

// rewind makes the request ready to be sent again.
func (x *attempt) rewind() bool {
	if x.req.GetBody == nil {
		return x.req.Body == nil || x.req.Body == http.NoBody
	}
	body, err := x.req.GetBody()
	x.req.Body = body
	return err == nil
}

// respond sends the request and watches its response. The error says why there
// was none; the closing says so too.
func (x *attempt) respond(ctx context.Context, car carrier) (stream.Closing, *http.Request, error) {
	before := car.OutOfOrder()
	res, err := car.Send(ctx, x.req, &x.w) //nolint:bodyclose // the head only: the carrier reads the body
	if err != nil {
		return x.failed(err), nil, err
	}
	next, err := redirect(x.req, res)
	if err != nil {
		x.notef("%s", err)
	}
	if next != nil {
		drain(car)
		return stream.Closing{}, next, nil
	}
	x.seen = newObserver(x, car, res)
	x.seen.before = before
	return x.seen.watch(), nil, nil
}

// drain reads a redirect's body, so that its connection can be used again, up
// to the size of an error page.
func drain(car carrier) {
	for n := 0; n <= errorBody; {
		got, err := car.Next()
		if n += len(got.Data); err != nil {
			return
		}
	}
}

func (x *attempt) since(t time.Time) time.Duration { return t.Sub(x.w.T0) }

func (x *attempt) notef(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	x.rec.Notes = append(x.rec.Notes, note)
	for _, r := range x.records {
		r.Notes = append(r.Notes, note)
	}
}

// refusedUsage reports whether the server rejected the request for asking for
// usage.
func (x *attempt) refusedUsage() bool {
	return x.rec.UsageAsked && x.ask.Body == nil && x.seen != nil && x.seen.complainsOfUsage()
}

// failed says how a request ended that got no response, or lost it.
func (x *attempt) failed(err error) stream.Closing {
	now := time.Now()
	c := stream.Closing{How: stream.Broken, At: x.since(now), Detail: describe(err)}
	var phase *http1.PhaseError
	switch {
	case x.ctx.Err() != nil:
		c.How, c.Detail = stream.UserStop, ""
		if cause := context.Cause(x.ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
			c.Detail = cause.Error()
		}
	case errors.As(err, &phase) && (!isTimeout(err) || now.Before(x.w.Deadline)):
		c.How, c.Reason = stream.Failed, phase.Reason
	case isTimeout(err):
		c.How = stream.OurDeadline
		if !now.Before(x.w.Deadline) {
			c.Detail = fmt.Sprintf("stopped at the total deadline of %s", x.c.o.Timeout)
		}
	case errors.Is(err, http1.ErrHeadBig), errors.Is(err, http1.ErrHeadForm), errors.Is(err, errNotHTTP2):
		c.How, c.Reason = stream.Failed, "not_a_stream"
	case errors.Is(err, io.ErrUnexpectedEOF):
		c.Reason = "eof"
	}
	return c
}
