package pace

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const ms = time.Millisecond

// arrival is an event of a source, at a time since its start.
type arrival struct {
	at    time.Duration
	bytes string
	other bool // not plain text
}

// out is a piece that left.
type out struct {
	Piece[int]
	at time.Duration
}

// play runs a source through a Buffer on the test's clock, as a gateway would.
func play(b *Buffer[int], f Form, source []arrival) []out {
	var got []out
	began := time.Now()
	pop := func() {
		for p, ok := b.Pop(time.Now()); ok; p, ok = b.Pop(time.Now()) {
			got = append(got, out{p, time.Since(began)})
		}
	}
	release := func(until time.Duration) {
		for next, ok := b.Next(); ok && next.Sub(began) < until; next, ok = b.Next() {
			time.Sleep(time.Until(next))
			pop()
		}
	}
	for i, a := range source {
		release(a.at)
		time.Sleep(time.Until(began.Add(a.at)))
		b.Push(Event[int]{Bytes: []byte(a.bytes), Text: !a.other, Form: f, Load: i}, time.Now())
		pop()
	}
	b.Flush()
	pop()
	return got
}

func chat(s string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"` + s + `"},"finish_reason":null}]}` + "\n\n"
}

var chatForm = Form{"openai.chat", "sse"}

// bursts is a source of bursts of n events, evenly over 5 ms, with silences of
// 200 ms between the last of one and the first of the next.
func bursts(count, n int, text string) []arrival {
	var list []arrival
	for i := range count {
		for k := range n {
			list = append(list, arrival{at: time.Duration(i)*205*ms + 5*ms*time.Duration(k)/time.Duration(max(n-1, 1)), bytes: chat(text)})
		}
	}
	return list
}

// The source of the promise: gap_stddev falls by at least 80 %, within the bound.
func TestBursts(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5, 6, 10, 20, 50} {
		for _, count := range []int{60, 120} {
			synctest.Test(t, func(t *testing.T) {
				b := New[int](Options{})
				got := play(b, chatForm, bursts(count, n, "word "))
				r := b.Report()
				fall := 1 - float64(r.After.Stddev)/float64(r.Before.Stddev)
				t.Logf("%d bursts of %d: gap_stddev %v -> %v (-%.1f %%), added mean %v max %v", count, n, r.Before.Stddev, r.After.Stddev, 100*fall, r.MeanDelay, r.MaxDelay)
				if fall < 0.8 {
					t.Errorf("%d bursts of %d: gap_stddev fell by %.1f %%", count, n, 100*fall)
				}
				if r.MaxDelay > DefaultMaxDelay || len(got) != count*n {
					t.Errorf("delay %s, %d of %d events", r.MaxDelay, len(got), count*n)
				}
			})
		}
	}
}

// A steady source is hardly touched, whatever its pace and the size of its
// events, as long as it keeps its time to 10 % and to 10 ms.
func TestSteady(t *testing.T) {
	for _, gap := range []time.Duration{ms, 3 * ms, 5 * ms, 7 * ms, 9 * ms, 20 * ms, 45 * ms, 100 * ms, 300 * ms} {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, uint64(gap)))
			var source []arrival
			at := time.Duration(0)
			for range 300 {
				at += gap + time.Duration(min(float64(gap)/10, float64(10*ms))*(2*rnd.Float64()-1))
				source = append(source, arrival{at: at, bytes: chat(strings.Repeat("x", 1+rnd.IntN(12)))})
			}
			b := New[int](Options{})
			play(b, chatForm, source)
			r := b.Report()
			t.Logf("%s: mean %v max %v", gap, r.MeanDelay, r.MaxDelay)
			if r.MaxDelay > 5*ms {
				t.Errorf("a steady source of %s: up to %s were added", gap, r.MaxDelay)
			}
		})
	}
}

// A lump of text at regular times is a burst to a reader: it is cut.
func TestLumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var source []arrival
		for i := range 20 {
			source = append(source, arrival{at: time.Duration(i) * 200 * ms, bytes: chat("forty grapheme clusters stand in here ok")})
		}
		b := New[int](Options{})
		play(b, chatForm, source)
		r := b.Report()
		t.Logf("%+v", r)
		if r.Events != 20 || r.Pieces < 70 || r.After.Stddev > 20*ms || r.MaxDelay > DefaultMaxDelay {
			t.Errorf("%+v", r)
		}
	})
}

// What is not plain text takes all before it along, at once.
func TestOthersFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := bursts(4, 5, "word ")
		n := len(source)
		source = append(source, arrival{at: source[n-1].at + ms, bytes: "data: [DONE]\n\n", other: true})
		b := New[int](Options{})
		got := play(b, chatForm, source)
		last := got[len(got)-1]
		if last.Load != n || last.Delay != 0 || last.at != source[n].at || got[len(got)-2].at != last.at || got[len(got)-2].Delay == 0 {
			t.Errorf("%+v after %+v", last, got[len(got)-2])
		}
	})
}

// Nothing waits while there is no room, and it is counted.
func TestBypass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New[int](Options{Limit: 600})
		play(b, chatForm, bursts(6, 10, "word "))
		r := b.Report()
		if r.Bypassed == 0 || r.MaxDelay > DefaultMaxDelay || b.Waiting() != 0 {
			t.Errorf("%+v, %d bytes wait", r, b.Waiting())
		}
		b = New[int](Options{})
		for i, a := range bursts(6, 10, "word ") {
			time.Sleep(time.Until(time.Now().Add(a.at % (205 * ms) / 5)))
			b.Push(Event[int]{Bytes: []byte(a.bytes), Text: true, Form: chatForm, Load: i}, time.Now())
			b.Bypass()
			if p, ok := b.Pop(time.Now()); !ok || p.Delay != 0 || p.Load != i {
				t.Fatalf("%d: %+v %v", i, p, ok)
			}
		}
	})
}

// The first output is never delayed, nor what comes before a rhythm is known.
func TestFirstOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New[int](Options{})
		for _, o := range play(b, chatForm, bursts(1, 50, "a text that is long enough to be cut into pieces")) {
			if o.Delay != 0 || !o.Last {
				t.Fatalf("%+v", o)
			}
		}
	})
}
