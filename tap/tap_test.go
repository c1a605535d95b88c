package tap

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/dialect"
	"weir/stream"
	"weir/wire"
)

const chat = ": OPENROUTER PROCESSING\n\n" +
	`data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n" +
	`data: {"id":"c1","choices":[{"index":0,"delta":{"content":"你好 "},"finish_reason":null}]}` + "\n\n" +
	`data: {"id":"c1","choices":[{"index":1,"delta":{"content":"Hi"},"finish_reason":null}]}` + "\n\n" +
	`data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
	`data: {"id":"c1","choices":[{"index":1,"delta":{},"finish_reason":"length"}]}` + "\n\n" +
	`data: {"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}` + "\n\n" +
	"data: [DONE]\n\n"

// feed gives each piece to the tap as a read of its own, 10 ms apart.
func feed(t interface{ Fatal(...any) }, o Options, pieces ...string) []*stream.Record {
	tp := New(o)
	at := time.Duration(0)
	for _, p := range pieces {
		at += 10 * ms
		n := tp.Read(stream.Read{At: at, App: at, Bytes: len(p), Waited: true})
		if err := tp.Feed([]byte(p), n); err != nil {
			t.Fatal(err)
		}
	}
	return tp.Close(stream.Record{RequestID: "r", Stamp: stream.StampSocket}, stream.Closing{At: at + 5*ms})
}

func sse() Options {
	return Options{KeepText: true, Hint: dialect.Hint{Path: "/v1/chat/completions", ContentType: "text/event-stream"}}
}

func TestOneRecordPerChoice(t *testing.T) {
	rs := feed(t, sse(), chat)
	if len(rs) != 2 {
		t.Fatalf("got %d records, want 2", len(rs))
	}
	for i, want := range []struct{ id, text, finish string }{{"r#0", "你好 ", "stop"}, {"r#1", "Hi", "length"}} {
		r := rs[i]
		if r.RequestID != want.id || r.Choice != i || r.Choices != 2 || r.Finish != want.finish || r.Outcome != stream.Complete {
			t.Errorf("record %d: id %q choice %d of %d finish %q outcome %q", i, r.RequestID, r.Choice, r.Choices, r.Finish, r.Outcome)
		}
		if got := textOf(r); got != want.text {
			t.Errorf("record %d: text %q, want %q", i, got, want.text)
		}
		if r.Usage == nil || r.Facts.BodyID != "c1" || r.Model != "m" || r.Dialect != "openai.chat" {
			t.Errorf("record %d: usage %v body id %q model %q dialect %q", i, r.Usage, r.Facts.BodyID, r.Model, r.Dialect)
		}
	}
}

func textOf(r *stream.Record) string {
	var b strings.Builder
	for _, e := range r.Events {
		if e.Kind == stream.KindText {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

func TestEventsTakeTheReadThatCompletedThem(t *testing.T) {
	cut := strings.Index(chat, "[DONE]\n") + len("[DONE]\n")
	r := feed(t, sse(), chat[:40], chat[40:cut], "\n")[0]
	if first := r.Events[0]; first.Kind != stream.KindHeartbeat || first.Read != 1 || first.At != 10*ms {
		t.Errorf("the comment: %s at read %d, %s", first.Kind, first.Read, first.At)
	}
	last := r.Events[len(r.Events)-1]
	if last.Proof != stream.ProofSentinel || last.Read != 3 || last.At != 30*ms || !last.Late {
		t.Errorf("the sentinel: %+v", last)
	}
}

func TestAnUnterminatedTailTakesTheReadOfItsLastByte(t *testing.T) {
	r := feed(t, sse(), strings.TrimSuffix(chat, "\n\n"))[0]
	last := r.Events[len(r.Events)-1]
	if last.Kind != stream.KindDone || last.At != 10*ms {
		t.Errorf("the tail: %s at %s, want done at 10ms", last.Kind, last.At)
	}
}

func TestAnySplitGivesTheSameEvents(t *testing.T) {
	whole := feed(t, sse(), chat)
	rapid.Check(t, func(t *rapid.T) {
		var pieces []string
		for rest := chat; rest != ""; {
			n := rapid.IntRange(1, min(64, len(rest))).Draw(t, "n")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		cut := feed(t, sse(), pieces...)
		if len(cut) != len(whole) {
			t.Fatalf("%d records, whole %d", len(cut), len(whole))
		}
		for i := range cut {
			sameEvents(t, whole[i].Events, cut[i].Events)
		}
	})
}

func sameEvents(t *rapid.T, a, b []stream.Event) {
	if len(a) != len(b) {
		t.Fatalf("%d events, whole %d", len(b), len(a))
	}
	for i := range a {
		x, y := a[i], b[i]
		if x.Kind != y.Kind || x.Text != y.Text || x.Choice != y.Choice || x.Chars != y.Chars || x.Bytes != y.Bytes || x.Seq != y.Seq {
			t.Fatalf("event %d: %+v, whole %+v", i, y, x)
		}
	}
}

func TestKernelStampsAreUsedForTheWholeStreamOrNotAtAll(t *testing.T) {
	for stamp, want := range map[stream.Stamp]time.Duration{stream.StampKernel: 7 * ms, stream.StampSocket: 9 * ms} {
		tp := New(sse())
		n := tp.Read(stream.Read{At: 9 * ms, App: 9 * ms, Kernel: stream.Some(7 * ms), Waited: true})
		if err := tp.Feed([]byte(chat), n); err != nil {
			t.Fatal(err)
		}
		r := tp.Close(stream.Record{Stamp: stamp}, stream.Closing{})[0]
		if r.Events[0].At != want || r.Arrivals[0].At != want || r.Reads[0].At != want {
			t.Errorf("%s: event %s, arrival %s, read %s, want %s", stamp, r.Events[0].At, r.Arrivals[0].At, r.Reads[0].At, want)
		}
	}
}

func TestOneFlushOverSeveralReadsIsOneArrival(t *testing.T) {
	tp := New(sse())
	for i, r := range []stream.Read{
		{App: 10 * ms, Waited: true},
		{App: 10*ms + 50*time.Microsecond},
		{App: 10*ms + 400*time.Microsecond, Waited: true}, // waited, but within 1 ms
		{App: 30 * ms},               // did not wait: it was there
		{App: 50 * ms, Waited: true}, // a new one
	} {
		n := tp.Read(r)
		if want := []int{1, 1, 1, 1, 2}[i]; tp.reads.at(n-1).arrival != want {
			t.Errorf("read %d: arrival %d, want %d", n, tp.reads.at(n-1).arrival, want)
		}
	}
}

func TestTextIsDroppedUnlessKeptButCountedAlways(t *testing.T) {
	o := sse()
	o.KeepText = false
	seen := ""
	o.OnEvent = func(e *stream.Event) { seen += e.Text }
	r := feed(t, o, chat)[0]
	if textOf(r) != "" || r.TextKept || seen != "你好 Hi" {
		t.Errorf("kept %q, seen %q", textOf(r), seen)
	}
	chars := 0
	for _, e := range r.Events {
		chars += e.Chars.Or(0)
	}
	if chars != 3 {
		t.Errorf("counted %d characters of the first choice, want 3", chars)
	}
}

func TestABodyThatIsNoStream(t *testing.T) {
	for _, c := range []struct{ name, contentType, body, reason string }{
		{"page", "text/html", "<html>login</html>", "not_a_stream"},
		{"nothing", "text/event-stream", "", "empty"},
		{"json error", "application/json", `{"error":{"message":"no quota","code":"quota"}}`, "in_band"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Hint: dialect.Hint{Path: "/v1/chat/completions", ContentType: c.contentType}}
			var pieces []string
			if c.body != "" {
				pieces = append(pieces, c.body[:1], c.body[1:])
			}
			if r := feed(t, o, pieces...)[0]; r.Reason != c.reason {
				t.Errorf("outcome %s, reason %q, want %q", r.Outcome, r.Reason, c.reason)
			}
		})
	}
}

func TestAFrameAboveTheLimitIsAClearError(t *testing.T) {
	tp := New(Options{FrameLimit: 1000, Hint: dialect.Hint{ContentType: "text/event-stream"}})
	n := tp.Read(stream.Read{})
	err := tp.Feed([]byte("data: "+strings.Repeat("a", 2000)), n)
	if err == nil || !strings.Contains(err.Error(), "1000") {
		t.Errorf("got %v, want an error that names the limit", err)
	}
}

func TestFramesAreShownBeforeTheyAreClassified(t *testing.T) {
	o := sse()
	var kinds []string
	o.OnFrame = func(f wire.Frame) { kinds = append(kinds, f.Kind.String()) }
	feed(t, o, chat)
	if len(kinds) != 8 || kinds[0] != "comment" {
		t.Errorf("frames %v", kinds)
	}
}

func TestTextHeldForACutTagIsNotLostWithTheStream(t *testing.T) {
	r := feed(t, sse(), `data: {"choices":[{"index":0,"delta":{"content":"a <th"}}]}`+"\n\n")[0]
	if got := textOf(r); got != "a <th" || r.Outcome != stream.Truncated {
		t.Errorf("text %q, outcome %s", got, r.Outcome)
	}
}

func TestFramesThatTellNothingWaitForOneThatDoes(t *testing.T) {
	o := Options{Hint: dialect.Hint{ContentType: "text/event-stream"}}
	r := feed(t, o, ": hi\n\n", `data: {"hello":1}`+"\n\n", "event: message_start\n"+`data: {"type":"message_start","message":{"id":"m"}}`+"\n\n")[0]
	if r.Dialect != "anthropic" || len(r.Events) != 3 || r.Events[1].At != 20*ms {
		t.Errorf("%s by %q, %d events", r.Dialect, r.DialectWhy, len(r.Events))
	}
}

func TestAnErrorDoesNotOutvoteThePath(t *testing.T) {
	r := feed(t, sse(), `data: {"error":{"type":"authentication_error","message":"no"}}`+"\n\n")[0]
	if r.Dialect != "openai.chat" || r.Reason != "in_band" {
		t.Errorf("%s by %q: %s", r.Dialect, r.DialectWhy, r.Reason)
	}
}
