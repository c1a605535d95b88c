package report

import (
	"strings"
	"time"

	"weir/metric"
	"weir/stream"
)

// Lane is one line of a waterfall: something that took time (a bar) or
// happened at a moment (a tick).
type Lane struct {
	Name     string
	From, To time.Duration // equal: a moment
	Since    time.Duration // of a moment: when the wait for it began, drawn as dots
	Bar      string        // drawn to scale, as wide as was asked for
	Note     string        // how long, or what it was
}

// Waterfall tells where the time of one answer went, drawn to scale in cols
// columns of span in total (0 = the answer's own length): dns, connect, tls,
// wait, first event, reasoning, first text, stream, done. What was not there
// or is not known has no lane.
func Waterfall(r *stream.Record, v metric.Values, cols int, span time.Duration) []Lane {
	if span <= 0 {
		span = max(Length(r), 1)
	}
	lanes := append(connectLanes(r), answerLanes(r, v)...)
	for i := range lanes {
		lanes[i].Bar = lanes[i].draw(cols, span)
	}
	return lanes
}

// connectLanes lays the phases of making the connection end to end: what is
// known of them is how long they took.
func connectLanes(r *stream.Record) []Lane {
	var lanes []Lane
	at := time.Duration(0)
	for _, p := range []struct {
		name string
		took stream.Maybe[time.Duration]
	}{{"dns", r.Phases.DNS}, {"connect", r.Phases.Connect}, {"tls", r.Phases.TLS}} {
		if d, ok := p.took.Get(); ok {
			lanes = append(lanes, Lane{Name: p.name, From: at, To: at + d, Note: duration(d)})
			at += d
		}
	}
	return lanes
}

func answerLanes(r *stream.Record, v metric.Values) []Lane {
	setup := r.Phases.DNS.Or(0) + r.Phases.Connect.Or(0) + r.Phases.TLS.Or(0)
	until, what := waitEnd(r, v)
	from := max(setup, min(r.Phases.RequestWritten.Or(0), until)) // the kernel may see an answer before a write has returned
	lanes := []Lane{{Name: "wait", From: from, To: max(until, from), Note: duration(max(until-from, 0)) + what}}
	since := until
	moment := func(name string, at time.Duration, note string) {
		lanes = append(lanes, Lane{Name: name, From: at, To: at, Since: min(since, at), Note: note})
		since = at
	}
	if at, ok := reached(v, "first_event"); ok && !r.Whole {
		moment("first event", at, "at "+duration(at)+", "+kindNote(v.FirstKind))
	}
	if at, ok := reached(v, "first_reasoning"); ok && !r.Whole {
		moment("reasoning", at, "at "+duration(at))
	}
	if at, ok := reached(v, "first_tool"); ok && !r.Whole {
		moment("first tool", at, "at "+duration(at))
	}
	if at, ok := reached(v, "first_text_sent"); ok && !r.Whole {
		moment("first text", at, "at "+duration(at))
	}
	first, spoke := reached(v, "ttft_sent")
	last, _ := reached(v, "last_output")
	if spoke && last > first {
		lanes = append(lanes, Lane{Name: "stream", From: first, To: last, Note: duration(last - first)})
	}
	for _, l := range endLane(r, v) {
		l.Since = l.From
		if spoke {
			l.Since = min(last, l.From)
		}
		lanes = append(lanes, l)
	}
	return lanes
}

// waitEnd is when waiting was over: at the first event, or at the end.
func waitEnd(r *stream.Record, v metric.Values) (time.Duration, string) {
	if at, ok := reached(v, "first_event"); ok && !r.Whole {
		return at, ""
	}
	switch headers, ok := r.Phases.Headers.Get(); {
	case ok && r.Outcome == stream.ErrorEarly:
		return headers, ", then no stream"
	case r.Whole:
		return Length(r), " for the whole answer"
	}
	return Length(r), ", nothing came"
}

func endLane(r *stream.Record, v metric.Values) []Lane {
	if at, ok := reached(v, "done"); ok && r.Outcome.Ended() {
		return []Lane{{Name: "done", From: at, To: at, Note: "at " + duration(at)}}
	}
	end, ok := r.End.Get()
	if !ok {
		return nil
	}
	name := string(r.Outcome)
	if r.Outcome == stream.Unknown || r.Outcome.Ended() {
		name = "end"
	}
	return []Lane{{Name: name, From: end, To: end, Note: "at " + duration(end)}}
}

// kindNote says what a first event was worth to the reader.
func kindNote(kind string) string {
	k, ok := stream.ParseKind(kind)
	switch {
	case !ok:
		return ""
	case k.Business():
		return kind
	case k == stream.KindConnect:
		return "connect, no output"
	}
	return kind + ", no output"
}

func (l Lane) draw(cols int, span time.Duration) string {
	a, b := column(l.From, span, cols), column(l.To, span, cols)
	if l.From < l.To {
		return strings.Repeat(" ", a) + strings.Repeat("=", b-a+1) + strings.Repeat(" ", cols-b-1)
	}
	since := min(column(l.Since, span, cols), a)
	return strings.Repeat(" ", since) + strings.Repeat(".", a-since) + "|" + strings.Repeat(" ", cols-a-1)
}
