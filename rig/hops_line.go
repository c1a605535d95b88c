package rig

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/metric"
	"weir/report"
	"weir/stream"
)

// Trace puts the accounts of one request on the time line of the outermost
// party: each is placed inside the one that encloses it.
func Trace(id string, sides []Side) report.Hops {
	t := tracer{out: report.Hops{RequestID: id, Hops: []report.Hop{}, Moments: []report.Moment{}, Notes: []string{}}}
	slices.SortStableFunc(sides, outerFirst)
	clients, gateways := split(sides)
	for i, s := range clients {
		t.add(nameOf("client", i, len(clients)), s, i > 0)
	}
	for i, s := range gateways {
		t.add(nameOf("gateway", i, len(gateways)), s, false)
	}
	t.upstream()
	slices.SortStableFunc(t.out.Moments, inOrder)
	return t.out
}

func nameOf(kind string, i, n int) string {
	if n == 1 {
		return kind
	}
	return kind + " " + strconv.Itoa(i+1)
}

// inOrder sorts by place on the line; what has none comes last, by its hop's
// own time.
func inOrder(a, b report.Moment) int {
	switch {
	case a.AtMS == nil && b.AtMS == nil:
		if a.Hop != b.Hop {
			return 0
		}
		return cmp.Compare(a.OwnMS, b.OwnMS)
	case a.AtMS == nil:
		return 1
	case b.AtMS == nil:
		return -1
	}
	return cmp.Compare(*a.AtMS, *b.AtMS)
}

// tracer builds the line party by party, the outer before the inner.
type tracer struct {
	out    report.Hops
	outer  *Side
	name   string // of outer
	at     time.Duration
	within time.Duration
	lost   bool // a party could not be placed, so that what it encloses cannot
}

// add takes a party. apart says that it is another account of the same end,
// which is placed in none.
func (t *tracer) add(name string, s Side, apart bool) {
	hop := hopOf(name, s)
	if t.out.TraceID == "" {
		if p := strings.Split(s.Main().Facts.TraceParent, "-"); len(p) == 4 {
			t.out.TraceID = p[1]
		}
	}
	switch {
	case apart:
		t.note("%s is another account under the same request id; it has no place in the first.", name)
		t.moments(name, s, false)
	case t.outer == nil:
		hop.Placed = &report.Placed{}
		t.moments(name, s, true)
		t.outer, t.name = &s, name
	default:
		hop.Placed = t.place(name, s)
		t.moments(name, s, !t.lost)
		t.outer, t.name = &s, name
	}
	t.out.Hops = append(t.out.Hops, hop)
}

func (t *tracer) note(format string, a ...any) {
	t.out.Notes = append(t.out.Notes, fmt.Sprintf(format, a...))
}

// place finds the party's place inside the outer one, and says how.
func (t *tracer) place(name string, s Side) *report.Placed {
	p := Place(*t.outer, s)
	if !p.Known || t.lost {
		t.lost = true
		t.note("%s has no place on the line: %s. Wall clocks of two machines are not compared.", name, cmp.Or(p.Why, "the one that encloses it has none"))
		return nil
	}
	t.at += p.At()
	t.within += p.Within()
	placed := &report.Placed{LowMS: msOf(t.at - t.within), HighMS: msOf(t.at + t.within), Pairs: p.Pairs}
	by := "its first output cannot have reached it before it was sent"
	if p.Pairs > 0 {
		by = fmt.Sprintf("none of %s can have reached it before %s had it", many(p.Pairs, "output"), name)
	}
	t.note("Each party's times are by its own clock. %s got the request %s to %s after %s sent it: not before, and %s. The middle is shown; within the ± the order across parties may be another.",
		capital(name), report.Millis(msOf(p.Low)), report.Millis(msOf(p.High)), t.name, by)
	if low, high, ok := ClockOffset(*t.outer, s, p); ok {
		a, b := msOf(low), msOf(high)
		placed.ClockLowMS, placed.ClockHigh = &a, &b
		t.note("%s", clockNote(name, t.name, a, b))
	}
	return placed
}

// clockNote says what the wall clocks' distance is by the bounds.
func clockNote(inner, outer string, low, high float64) string {
	switch {
	case low <= 0 && high >= 0:
		return fmt.Sprintf("Their wall clocks agree within what can be known, %s.", report.Millis(max(-low, high)))
	case low > 0:
		return fmt.Sprintf("%s's wall clock is %s to %s ahead of %s's.", capital(inner), report.Millis(low), report.Millis(high), outer)
	}
	return fmt.Sprintf("%s's wall clock is %s to %s behind %s's.", capital(inner), report.Millis(-high), report.Millis(-low), outer)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func msOf(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func hopOf(name string, s Side) report.Hop {
	r := s.Main()
	h := report.Hop{Name: name, Target: r.Target, Dialect: r.Dialect, Model: r.Model, Conn: r.Conn, Stamp: string(r.Stamp),
		Status: r.Facts.Status, Reason: r.Reason, Finish: r.Finish, Extra: r.Facts.Extra, Notes: r.Notes}
	if at := s.Came(); !at.IsZero() {
		at = at.UTC()
		h.Start = &at
	}
	if r.Outcome != stream.Unknown {
		o := string(r.Outcome)
		h.Outcome = &o
	}
	if s.Gateway {
		x := r.Facts.Extra
		h.Messages = append(h.Messages, "route "+cmp.Or(r.Labels["route"], "?"), many(atoi(x["attempts"]), "attempt"),
			x["events_delivered"]+" of "+many(atoi(x["events_generated"]), "output")+" delivered")
	}
	return h
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // 0 where a log does not say
	return n
}

// moments are what happened at a party; on says that it has a place on the line.
func (t *tracer) moments(name string, s Side, on bool) {
	add := func(what, note string, own time.Duration) {
		m := report.Moment{Hop: name, What: what, Note: note, OwnMS: msOf(own)}
		if on {
			at := msOf(t.at + own)
			m.AtMS, m.WithinMS = &at, msOf(t.within)
		}
		t.out.Moments = append(t.out.Moments, m)
	}
	r := s.Main()
	base := s.Before()
	v := metric.Measure(r)
	if s.Gateway {
		add("request came", queueNote(r), 0)
		add("asked the upstream", r.Conn+" connection", base)
	} else {
		add("sent the request", "", 0)
		if setup := r.Phases.DNS.Or(0) + r.Phases.Connect.Or(0) + r.Phases.TLS.Or(0); setup > 0 {
			add("connected", "", setup)
		}
	}
	if d, ok := r.Phases.Headers.Get(); ok {
		add("headers came", statusNote(r.Facts.Status), base+d)
	}
	if at, ok := s.FirstOutput().Get(); ok {
		add("first output came", firstKind(r), at)
	}
	if at, ok := s.FirstSent().Get(); ok {
		add("first output went to its client", "", at)
	}
	longestPause(r, func(note string, at time.Duration) { add("output again", note, base+at) })
	if x := v.Get("last_output"); x.Is == metric.Reached && v.Get("ttft_sent").Is == metric.Reached && x.V > v.Get("ttft_sent").V {
		add("last output came", "", base+time.Duration(math.Round(x.V*1e6)))
	}
	if end, ok := r.End.Get(); ok {
		add("end", endNote(s, r), base+end)
	}
}

// firstKind is the kind of the first output.
func firstKind(r *stream.Record) string {
	for i := range r.Events {
		if r.Events[i].Kind.Business() {
			return r.Events[i].Kind.String()
		}
	}
	return ""
}

func queueNote(r *stream.Record) string {
	if q, err := strconv.ParseFloat(r.Facts.Extra["queue_ms"], 64); err == nil && q >= 1 {
		return "waited " + report.Millis(q) + " for a place"
	}
	return ""
}

func statusNote(status int) string {
	if status == 0 {
		return ""
	}
	return "HTTP " + strconv.Itoa(status)
}

func endNote(s Side, r *stream.Record) string {
	note := string(r.Outcome)
	if frame := r.Facts.Extra["terminal_frame"]; s.Gateway && frame != "" {
		note += "; terminal frame to its client: " + frame
	}
	return note
}

// longestPause tells the longest silence between two outputs, where it is a stall.
func longestPause(r *stream.Record, tell func(note string, at time.Duration)) {
	var longest metric.Gap
	for _, g := range metric.Observe(r).Gaps {
		if !g.Open && g.Length() > longest.Length() {
			longest = g
		}
	}
	if longest.Length() > metric.StallAfter {
		tell("after the longest silence, "+report.Millis(msOf(longest.Length())), longest.To)
	}
}

// upstream is what the innermost party learned of the service it asked.
func (t *tracer) upstream() {
	if t.outer == nil {
		return
	}
	r := t.outer.Main()
	h := report.Hop{Name: "upstream", Target: "", IDs: map[string]string{}}
	if r.Facts.UpstreamID != "" {
		h.IDs["x-request-id"] = r.Facts.UpstreamID
	}
	if r.Facts.BodyID != "" {
		h.IDs["body"] = r.Facts.BodyID
	}
	if r.Facts.Server != "" {
		h.Messages = append(h.Messages, "server "+r.Facts.Server)
	}
	if r.Facts.ServerTiming != "" {
		h.Messages = append(h.Messages, "server-timing "+r.Facts.ServerTiming)
	}
	for i := range r.Events {
		if e := &r.Events[i]; e.Kind == stream.KindStage && e.Took.Known() {
			h.Messages = append(h.Messages, e.Name+" took "+report.Millis(msOf(e.Took.Or(0))))
		}
	}
	if len(h.IDs) == 0 && len(h.Messages) == 0 {
		return
	}
	h.Messages = append(h.Messages, "as "+t.name+" learned")
	t.out.Hops = append(t.out.Hops, h)
}
