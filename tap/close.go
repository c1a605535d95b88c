package tap

import (
	"fmt"
	"slices"
	"time"

	"weir/dialect"
	"weir/stream"
)

// hangAfter is the silence that marks suspected_hang_at, and that tells hung
// from timeout at our deadline (METRICS §7, a choice).
const hangAfter = 10 * time.Second

// Close ends the response as c says and returns one record per answer, in the
// order of their choice; there is always at least one. base holds what the
// observer knows of the request; its Stamp decides whether the kernel's or the
// application's stamps are used, for the whole stream.
func (t *Tap) Close(base stream.Record, c stream.Closing) []*stream.Record {
	t.finish()
	t.restamp(base.Stamp)
	t.events = t.Events()
	base.Reads = t.allReads()
	base.Arrivals = stream.Arrivals(base.Reads)
	if t.dialect != nil {
		base.Dialect, base.DialectWhy = t.dialect.Name(), t.why
	}
	base.TextKept = t.o.KeepText
	base.Whole = t.format == "body"
	base.End = stream.Some(c.At)
	base.Facts.BodyBytes = t.total
	t.carry(&base)
	choices := t.choices()
	base.Choices = len(choices)
	end := t.end()
	records := make([]*stream.Record, 0, len(choices))
	for _, choice := range choices {
		r := base
		r.Choice = choice
		if len(choices) > 1 {
			r.RequestID = fmt.Sprintf("%s#%d", base.RequestID, choice)
		}
		r.Events = t.eventsOf(choice, len(choices) == 1)
		settle(&r, c, end)
		records = append(records, &r)
	}
	return records
}

// finish gives the decoder its end of input. A framing that was never known
// had no byte to tell it.
func (t *Tap) finish() {
	if t.closed {
		return
	}
	t.closed = true
	if t.decoder == nil && len(t.early) > 0 && t.sniff(true) && t.classErr == nil {
		t.classErr = t.replay()
	}
	if t.decoder != nil {
		if err := t.decoder.Close(t.emit); err != nil && t.classErr == nil {
			t.classErr = err
		}
	}
	if t.classifier == nil && len(t.held) > 0 {
		d, why := dialect.Detect(t.o.Hint)
		t.useDialect(d, why)
		t.flushHeld()
	}
	if f, ok := t.classifier.(dialect.Flusher); ok {
		f.Flush(t.classifyTo)
	}
}

// allReads are the reads as they were registered.
func (t *Tap) allReads() []stream.Read {
	all := make([]stream.Read, t.reads.n)
	for i := range all {
		all[i] = t.reads.at(i).Read
	}
	return all
}

// restamp sets every read's time to the stamp in use.
func (t *Tap) restamp(s stream.Stamp) {
	for i := range t.reads.n {
		r := t.reads.at(i)
		switch k, ok := r.Kernel.Get(); {
		case s == stream.StampKernel && ok:
			r.At = k
		case s == stream.StampSocket || s == stream.StampBody:
			r.At = r.App
		}
	}
}

// carry copies what events say of the whole response onto the record.
func (t *Tap) carry(r *stream.Record) {
	for i := range t.events {
		e := &t.events[i]
		if e.Usage != nil {
			r.Usage = e.Usage
		}
		if e.BodyID != "" && r.Facts.BodyID == "" {
			r.Facts.BodyID = e.BodyID
		}
		if e.Model != "" && r.Model == "" {
			r.Model = e.Model
		}
	}
}

// choices lists the answers that were started, at least the first.
func (t *Tap) choices() []int {
	var list []int
	for i := range t.events {
		e := &t.events[i]
		started := e.Kind.Business() || e.Kind == stream.KindDone && e.Proof == stream.ProofFinish
		if (started || e.Choice > 0) && !slices.Contains(list, e.Choice) {
			list = append(list, e.Choice)
		}
	}
	if len(list) == 0 {
		return []int{0}
	}
	slices.Sort(list)
	return list
}

// eventsOf gives a choice its own events and those that speak for the whole
// response: heartbeats, stages, usage, errors, sentinel, terminal event.
func (t *Tap) eventsOf(choice int, only bool) []stream.Event {
	if only {
		return t.events
	}
	var own []stream.Event
	for _, e := range t.events {
		if e.Choice == choice || e.Choice == 0 && !answers(&e) {
			own = append(own, e)
		}
	}
	return own
}

func answers(e *stream.Event) bool {
	return e.Kind.Business() || e.Kind == stream.KindDone && e.Proof == stream.ProofFinish
}

func (t *Tap) end() stream.End {
	if t.classifier == nil {
		return stream.End{}
	}
	return t.classifier.Ended()
}

// Err is the first fault of weir's own making (a dialect that failed), or nil.
func (t *Tap) Err() error { return t.classErr }
