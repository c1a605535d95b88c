package probe

import (
	"fmt"

	"weir/stream"
)

// usesKernel reports whether the stream could use kernel stamps so far.
func (o *observer) usesKernel() bool { return o.judge.Why() == "" && !o.appOnly }

// settleStamp decides the clock of the whole stream and sets the phases by it.
func (o *observer) settleStamp(r *stream.Record) {
	if o.res == nil {
		return
	}
	if b, ok := o.before.Get(); ok {
		if a, ok := o.after.Get(); ok {
			r.RcvOOO = stream.Some(a - b)
		}
	}
	r.Stamp, r.StampWhy = o.verdict(r.RcvOOO)
	if k := o.x.w.HeadAt.Kernel; r.Stamp == stream.StampKernel {
		r.Phases.Headers = stream.Some(o.judge.Since(k))
	}
	if read, ok := o.tap.FirstRead(); ok {
		first := read.App
		if r.Stamp == stream.StampKernel {
			first = read.Kernel.Or(first)
		}
		r.Phases.FirstByte = stream.Some(first)
	}
}

func (o *observer) verdict(disorder stream.Maybe[int]) (stream.Stamp, string) {
	n, known := disorder.Get()
	switch {
	case o.below.stamp == stream.StampBody:
		return stream.StampBody, "HTTP/2 is stamped when its body's read returns"
	case o.x.c.o.HTTP == "ws":
		return stream.StampSocket, "a message of a WebSocket is stamped when the read that completed it returned"
	case o.appOnly:
		return stream.StampSocket, "application stamps were asked for"
	case !known:
		return stream.StampSocket, "this system does not say whether segments came out of order"
	case n != 0:
		return stream.StampSocket, fmt.Sprintf("%d segments came out of order during the stream", n)
	case o.judge.Why() != "":
		return stream.StampSocket, o.judge.Why()
	}
	return stream.StampKernel, ""
}
