package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"weir/dialect"
	"weir/http1"
	"weir/stream"
	"weir/tap"
	"weir/wire"
)

const (
	errorBody = 64 << 10 // of a response that is an error, this much is read
	startSize = 512      // of a body that is no stream, this much is kept
	startRoom = 2 << 10  // what is gathered for that: a secret at the cut is taken out whole
)

// observer reads one response into the tap. What every read needs stands
// together, as in tap.Tap.
type observer struct {
	car   carrier
	tap   *tap.Tap
	unzip *gunzip
	t0    time.Time
	judge http1.Judge
	read  int // number of the read being fed
	wire  int64
	limit int64
	room  int
	first []byte // the body's beginning: of an error up to errorBody, else startRoom

	grace   bool
	opaque  bool // the body is in an encoding that weir cannot read
	appOnly bool // application stamps were asked for
	x       *attempt
	res     *http.Response
	below   lower
	before  stream.Maybe[int] // segments out of order before the request
	after   stream.Maybe[int] // and after its body
	emit    func([]byte) error
}

func newObserver(x *attempt, car carrier, res *http.Response) *observer {
	o := &observer{x: x, car: car, res: res, t0: x.w.T0, judge: http1.NewJudge(x.w.T0), limit: x.c.o.BodyLimit, room: startRoom, appOnly: x.c.o.AppStamps}
	hint := dialect.Hint{Method: x.req.Method, Path: x.req.URL.Path, Query: x.req.URL.RawQuery}
	if res != nil {
		hint.ContentType = res.Header.Get("Content-Type")
		o.below = car.facts()
		o.learn()
	}
	opts := x.c.o
	o.tap = tap.New(tap.Options{
		Dialect: opts.Dialect, Hint: hint, Format: opts.Format, FrameLimit: opts.FrameLimit, EventLimit: opts.EventLimit,
		KeepText: opts.KeepText, NewMarker: opts.NewMarker, OnEvent: opts.OnEvent, OnFrame: opts.OnFrame,
	})
	o.emit = o.feed
	return o
}

// learn takes from the head what decides how the body is read.
func (o *observer) learn() {
	readFacts(&o.x.rec.Facts, o.res, o.below)
	if !o.ok() {
		o.limit, o.room = errorBody, errorBody
	}
	switch o.x.rec.Facts.ContentEncoding {
	case "", "identity":
	case "gzip", "x-gzip":
		o.unzip = newGunzip()
	default:
		o.opaque = true
	}
	if at := o.x.w.HeadAt; !at.App.IsZero() && o.below.stamp == stream.StampKernel {
		o.judge.See(at.App, at.Kernel)
	}
}

func (o *observer) ok() bool { return o.res.StatusCode >= 200 && o.res.StatusCode < 300 }

var errLimit = errors.New("body limit")

// watch reads the body to its end and says how that came.
func (o *observer) watch() stream.Closing {
	closing := o.follow()
	o.after = o.car.OutOfOrder()
	if !o.ok() && closing.How != stream.UserStop {
		closing = stream.Closing{How: stream.Failed, At: closing.At, Reason: fmt.Sprintf("http_%d", o.res.StatusCode)}
		closing.Detail = o.complaint()
	} else if o.opaque && closing.How != stream.UserStop {
		closing = stream.Closing{How: stream.Failed, At: closing.At, Reason: "not_a_stream", Detail: o.complaint()}
	}
	return closing
}

func (o *observer) follow() stream.Closing {
	if o.unzip != nil {
		defer o.unzip.stop()
	}
	for {
		got, err := o.car.Next()
		if len(got.Data) > 0 {
			if fault := o.take(got); fault != nil {
				return o.refuse(fault, got.App)
			}
		}
		if err != nil {
			return o.ended(err, got.App)
		}
		o.awaitEnd()
	}
}

// take registers a read and decodes what it brought.
func (o *observer) take(got *arrived) error {
	at := got.App.Sub(o.t0)
	r := stream.Read{At: at, App: at, Bytes: len(got.Data), Waited: got.Waited, LagMax: got.Since}
	if o.below.stamp == stream.StampKernel {
		r.Kernel = o.judge.See(got.App, got.Kernel)
		if o.usesKernel() {
			r.At = r.Kernel.Or(at)
		}
	}
	o.wire += int64(len(got.Data))
	o.read = o.tap.Read(r)
	if o.unzip != nil {
		return o.unzip.push(got.Data, o.emit)
	}
	return o.feed(got.Data)
}

// feed hands decoded body bytes to the tap.
func (o *observer) feed(p []byte) error {
	if o.opaque {
		if o.wire > errorBody {
			return errLimit
		}
		return nil
	}
	if room := o.room - len(o.first); room > 0 {
		o.first = append(o.first, p[:min(room, len(p))]...)
	}
	if left := o.limit - o.tap.Bytes(); int64(len(p)) > left {
		if err := o.tap.Feed(p[:left], o.read); err != nil {
			return err
		}
		return errLimit
	}
	return o.tap.Feed(p, o.read)
}

// awaitEnd bounds the wait for an EOF that the server withholds after the
// dialect's last event.
func (o *observer) awaitEnd() {
	last := o.tap.Last()
	if last == nil {
		return
	}
	if last.Kind == stream.KindDone && (last.Proof == stream.ProofTerminal || last.Proof == stream.ProofSentinel) {
		o.grace = true
	}
	if o.grace {
		until := earlier(time.Now().Add(o.x.c.o.EndGrace), o.x.w.Deadline)
		o.car.grace(until)
	}
}

// ended says how a body ended whose next read gave err.
func (o *observer) ended(err error, at time.Time) stream.Closing {
	if o.unzip != nil && err == io.EOF {
		if fault := o.unzip.finish(o.emit); fault != nil {
			return o.refuse(fault, at)
		}
	}
	if err == io.EOF {
		return stream.Closing{How: stream.CleanEOF, At: o.x.since(at)}
	}
	c := o.x.failed(err)
	switch {
	case c.How == stream.OurDeadline && time.Now().Before(o.x.w.Deadline):
		c.Detail = ""
		o.x.notef("the server did not end the body within %s of the last event; the connection was closed", o.x.c.o.EndGrace)
	case c.How == stream.Broken && http1.IsFraming(err):
		c.Reason = "framing"
	}
	return c
}

// refuse says how a body ended that weir would not read on.
func (o *observer) refuse(err error, at time.Time) stream.Closing {
	c := stream.Closing{How: stream.Failed, At: o.x.since(at), Reason: "frame", Detail: describe(err)}
	switch {
	case errors.Is(err, errLimit) && o.ok():
		c.How, c.Reason = stream.OurDeadline, "body_limit"
		c.Detail = fmt.Sprintf("the body exceeded the limit of %d bytes; the rest was not read", o.limit)
		o.x.rec.Truncated = true
	case errors.Is(err, tap.ErrTooManyEvents) && o.ok():
		c.How, c.Reason = stream.OurDeadline, "event_limit"
		c.Detail += "; the rest was not read"
		o.x.rec.Truncated = true
	case errors.Is(err, errLimit), errors.Is(err, tap.ErrTooManyEvents):
		c = stream.Closing{How: stream.CleanEOF, At: c.At}
		o.x.rec.Truncated = true
	case isGzip(err):
		c.How, c.Reason = stream.Broken, "gzip"
	}
	return c
}

// complainsOfUsage reports whether the server rejected the request and names
// the usage option as its reason.
func (o *observer) complainsOfUsage() bool {
	if o.res == nil || o.res.StatusCode != http.StatusBadRequest && o.res.StatusCode != http.StatusUnprocessableEntity {
		return false
	}
	return bytes.Contains(o.first, []byte("stream_options")) || bytes.Contains(o.first, []byte("include_usage"))
}

// close makes the records.
func (o *observer) close(c stream.Closing) []*stream.Record {
	base := &o.x.rec
	o.settleStamp(base)
	base.Facts.WireBytes = o.wire
	records := o.tap.Close(*base, c)
	for _, r := range records {
		if r.Reason == "not_a_stream" || o.res != nil && !o.ok() {
			r.Facts.BodyStart = o.start()
		}
		if r.Reason == "not_a_stream" && r.Detail == "" {
			r.Detail = o.x.scrub.clean(o.complaint())
		}
		if r.Fault != nil {
			f := *r.Fault
			f.Message = o.x.scrub.clean(f.Message)
			r.Fault = &f
		}
		if r.Outcome == stream.Timeout || r.Outcome == stream.Hung {
			r.Reason = c.Reason
		}
	}
	return records
}

// err is a fault of weir's own making. A frame above the limit is the stream's,
// and stands in its record.
func (o *observer) err() error {
	if err := o.tap.Err(); err != nil && !errors.Is(err, wire.ErrFrameTooLarge) {
		return errors.New(o.x.scrub.clean(err.Error()))
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
