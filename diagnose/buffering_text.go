package diagnose

import (
	"fmt"
	"strings"
)

// haproxy is a period that a product is known for: HAProxy leaves small writes
// to the kernel, whose timer runs 200 ms from the first byte it holds.
const (
	haproxy   = ", as HAProxy without option http-no-delay does"
	haproxyLo = 185 // ms
	haproxyHi = 230
)

// lagBar is the wait for our own reader that could make a batch of what came
// apart, as a share of the pause before it.
const lagBar = 0.5

func (b *batches) finding(p *path) Finding {
	f := Finding{
		Severity: Problem, RequestIDs: ids(b.answers),
		Evidence: []Figure{
			{"batch_share", b.share, "share"}, {"events_per_arrival_p50", b.events, "events"},
			{"arrival_bytes_p50", b.bytes, "bytes"}, {"pause_p50", b.pause, "ms"}, seen(b.answers),
		},
	}
	head := fmt.Sprintf("output comes in batches of about %.0f events with pauses of %s (%s)", b.events, span(b.pause), p.of(b.answers))
	k := b.judge()
	if b.lagged() {
		k = kinds{other: true}
	}
	encoding := b.answers[0].r.Facts.ContentEncoding
	switch {
	case encoding != "" && encoding != "identity":
		b.byCompression(&f, head, encoding)
	case k == kinds{size: true}:
		b.bySize(&f, head)
	case k == kinds{time: true}, k == kinds{time: true, step: true} && b.time.tight:
		b.byTime(&f, head, k.step)
	default:
		b.byUnknown(&f, head, k)
	}
	f.Text += hopNote(b.answers[0])
	return f
}

func (b *batches) bySize(f *Finding, head string) {
	f.Code = "buffering_by_size"
	f.Evidence = append(f.Evidence, b.sizeFigures()...)
	f.Text = fmt.Sprintf("%s: buffered by size, a buffer of about %s is sent when it is full", head, b.sizeWords())
	f.Means = append([]string{fmt.Sprintf("something between the model and here fills a buffer of about %s before it sends", bytes(b.size.about()))}, b.alsoLoss()...)
	f.Check = "turn response buffering off on the relay (nginx: proxy_buffering off and proxy_http_version 1.1, or X-Accel-Buffering: no from the service), then probe again with --direct to the service"
}

// sizeWords is the likeliest size, with its bounds where they are wide.
func (b *batches) sizeWords() string {
	if b.size.hi-b.size.lo < 0.02*b.size.hi {
		return bytes(b.size.about())
	}
	return fmt.Sprintf("%s (between %s and %s)", bytes(b.size.about()), bytes(b.size.lo), bytes(b.size.hi))
}

func (b *batches) sizeFigures() []Figure {
	figures := []Figure{{"buffer_bytes", b.size.about(), "bytes"}, {"buffer_bytes_min", b.size.lo, "bytes"}, {"buffer_bytes_max", b.size.hi, "bytes"}}
	if b.cut > 0 {
		figures = append(figures, Figure{"arrivals_cut_inside_an_event", b.cut, "share"})
	}
	return figures
}

// byTime: where every flush holds the same number of events and the times are
// as even as a clock, a timer is likelier than an engine's steps, but both are
// listed.
func (b *batches) byTime(f *Finding, head string, step bool) {
	f.Code = "buffering_by_time"
	f.Evidence = append(f.Evidence, Figure{"period", b.time.period, "ms"})
	f.Text = fmt.Sprintf("%s: buffered by time, %s", head, b.periodWords())
	f.Means = []string{"something between the model and here, or the service's own sender, flushes on a timer: " + b.periodWords()}
	if step {
		f.Severity = Warning
		f.Text += fmt.Sprintf(", or an engine that sends %.0f events a step", b.events)
		f.Means = append(f.Means, fmt.Sprintf("an engine that sends %.0f events a step", b.events))
	} else if b.time.period < 100 {
		f.Means = append(f.Means, "an engine whose steps take that long and yield a varying number of tokens (speculative decoding)")
	}
	f.Means = append(f.Means, b.alsoLoss()...)
	f.Check = "look for a flush interval or a missing no-delay option on the relay (HAProxy: option http-no-delay), then probe again with --direct to the service"
}

func (b *batches) periodWords() string {
	words := fmt.Sprintf("period near %.0f ms", b.time.period)
	in := func(x float64) bool { return x >= haproxyLo && x <= haproxyHi }
	switch timer := b.time.period - b.gap(); {
	case in(b.time.period):
		return words + haproxy
	case in(timer):
		return words + fmt.Sprintf(", or %.0f ms from the first byte that is held", timer) + haproxy
	}
	return words
}

func (b *batches) byCompression(f *Finding, head, encoding string) {
	f.Code = "buffering_by_compression"
	f.Text = fmt.Sprintf("%s and is %s-encoded: buffered by compression", head, encoding)
	f.Means = append([]string{
		"the compressor (" + encoding + ") keeps output until a block is full instead of flushing each event",
		"a relay's buffer behind the compressor",
	}, b.alsoLoss()...)
	f.Check = "probe again without --compressed; if the batches go, exclude text/event-stream from compression"
}

// byUnknown lists all that the figures leave.
func (b *batches) byUnknown(f *Finding, head string, k kinds) {
	f.Code, f.Severity = "batches", Warning
	var causes []string
	if k.size {
		f.Evidence = append(f.Evidence, b.sizeFigures()...)
		causes = append(causes, fmt.Sprintf("by size (a buffer of about %s)", bytes(b.size.about())))
	}
	if k.time {
		f.Evidence = append(f.Evidence, Figure{"period", b.time.period, "ms"})
		causes = append(causes, "by time ("+b.periodWords()+")")
	}
	if k.step {
		causes = append(causes, fmt.Sprintf("an engine that sends %.0f events a step", b.events))
	}
	if k.other {
		causes = append(causes, "a relay that holds the body")
		if !b.evenService() {
			causes = append(causes, "an engine that sends several tokens a step")
		}
	}
	causes = append(causes, b.alsoLoss()...)
	f.Means = causes
	f.Text = head + ": " + either(causes)
	f.Check = "probe the service itself with --direct: if its gaps are even, the batches come from between"
}

// alsoLoss lists what our own side or the network may have to do with it.
func (b *batches) alsoLoss() []string {
	var out []string
	for _, a := range b.answers {
		if n, ok := a.r.RcvOOO.Get(); ok && n > 0 {
			out = append(out, "lost segments: some arrived out of order")
			break
		}
	}
	if b.lagged() {
		out = append(out, "our own reader, which was late")
	}
	return out
}

// lagged reports whether our reader was late enough to have made the batches.
func (b *batches) lagged() bool {
	late := 0
	for _, a := range b.answers {
		if lag, ok := a.get("lag_max"); ok && lag >= lagBar*b.pause {
			late++
		}
	}
	return 2*late >= len(b.answers)
}

// hopNote names the hop only where the response's headers do.
func hopNote(a *answer) string {
	var said []string
	for _, h := range []struct{ name, value string }{
		{"server", a.r.Facts.Server}, {"via", a.r.Facts.Via}, {"x-cache", a.r.Facts.XCache},
	} {
		if h.value != "" {
			said = append(said, h.name+": "+quoted(h.value))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return " (the response says " + strings.Join(said, ", ") + ")"
}

// heldWhole: many events, one arrival, and a compressor that can have held them.
func heldWhole(p *path) []Finding {
	held := p.pick(func(a *answer) bool {
		e := a.r.Facts.ContentEncoding
		return a.spoke() && len(a.series.Bursts) == 1 && a.business() >= minEvents && e != "" && e != "identity"
	})
	if len(held) == 0 || 2*len(held) < len(p.answers) {
		return nil
	}
	first := held[0]
	ttft, _ := medianOf(held, "ttft_sent")
	n, _ := medianOf(held, "business_events")
	encoding := first.r.Facts.ContentEncoding
	return []Finding{{
		Code: "buffering_by_compression", Severity: Problem, RequestIDs: ids(held),
		Evidence: []Figure{{"ttft_sent_p50", ttft, "ms"}, {"events_per_arrival_p50", n, "events"}, seen(held)},
		Means: []string{
			"the compressor (" + encoding + ") keeps the whole answer until its end",
			"a relay that holds the whole body", "a service that makes the whole answer before it sends",
		},
		Check: "probe again without --compressed; if the answer then streams, exclude text/event-stream from compression",
		Text: fmt.Sprintf("all %.0f events came at once after %s, %s-encoded (%s): buffered by compression, or not streamed",
			n, span(ttft), encoding, p.of(held)) + hopNote(first),
	}}
}
