package metric

import (
	"encoding/json"
	"testing"
	"time"

	"weir/stream"
)

// TestNeverTTFT: what is no output makes no ttft.
func TestNeverTTFT(t *testing.T) {
	for _, k := range []stream.Kind{
		stream.KindConnect, stream.KindStage, stream.KindUsage, stream.KindHeartbeat, stream.KindRestart,
		stream.KindError, stream.KindDone, stream.KindOther,
	} {
		v := newRecord(stream.Complete, 900).add(50, kind(k)).add(300, text(1)).values()
		want(t, v, "ttft", 300)
		want(t, v, "first_event", 50)
		if v.FirstKind != k.String() {
			t.Errorf("first kind %q, want %q", v.FirstKind, k)
		}
	}
	for _, k := range []stream.Kind{stream.KindText, stream.KindReasoning, stream.KindTool, stream.KindMedia} {
		want(t, newRecord(stream.Complete, 900).add(50, kind(k)).add(300, text(1)).values(), "ttft", 50)
	}
}

func TestFirstText(t *testing.T) {
	blank := text(1)
	blank.Visible = stream.Some(0)
	b := newRecord(stream.Complete, 900).add(50, kind(stream.KindReasoning)).add(80, blank).add(120, text(2)).also(120, done(stream.ProofTerminal))
	b.r.Lateness = stream.Some(7 * time.Millisecond)
	v := b.values()
	want(t, v, "ttft", 57)
	want(t, v, "ttft_sent", 50)
	want(t, v, "first_text", 127)
	want(t, v, "first_text_sent", 120)
	want(t, v, "first_reasoning", 50) // everything else is from t0
	want(t, v, "complete", 127)
	want(t, v, "complete_sent", 120)
	want(t, v, "lateness", 7)
	wantIs(t, v, Missing, "first_tool", "useful")

	toolOnly := newRecord(stream.Complete, 900).add(50, kind(stream.KindTool)).values()
	wantIs(t, toolOnly, Missing, "first_text") // an answer without text: does not apply
	noText := newRecord(stream.Truncated, 900).add(50, tokensEvent(3)).values()
	wantIs(t, noText, Missing, "first_text", "chars") // a log without text cannot tell
}

// TestUnreached is METRICS §8.2 for one record.
func TestUnreached(t *testing.T) {
	for o, s := range map[stream.Outcome]State{
		stream.Dropped: Never, stream.ErrorEarly: Never, stream.Reset: Never, stream.Truncated: Never,
		stream.Hung: Over, stream.Timeout: Over, stream.Cancelled: Over, stream.Unknown: Missing,
	} {
		b := newRecord(o, 5000)
		b.r.Lateness = stream.Some(10 * time.Millisecond)
		b.r.Marks = []string{"useful", "handoff"}
		v := b.values()
		wantIs(t, v, s, "ttft", "ttft_sent", "first_text", "complete", "useful", "mark.handoff", "handoff", "headers", "first_event")
		if s == Over {
			if x := v.Get("ttft"); x.V != 5010 {
				t.Errorf("%s: ttft over %v, want 5010 (from the schedule)", o, x.V)
			}
			if x := v.Get("ttft_sent"); x.V != 5000 {
				t.Errorf("%s: ttft_sent over %v, want 5000", o, x.V)
			}
		}
	}
	spoke := newRecord(stream.Reset, 5000).add(100, text(3)).values()
	want(t, spoke, "ttft", 100)
	wantIs(t, spoke, Never, "complete")
	wantIs(t, spoke, Missing, "first_tool", "useful", "headers")
	mute := newRecord(stream.Complete, 200).add(200, done(stream.ProofTerminal)).values()
	wantIs(t, mute, Never, "ttft") // slower than any that spoke
	wantIs(t, mute, Missing, "first_text")
}

func TestDoneAndComplete(t *testing.T) {
	b := newRecord(stream.Complete, 900).add(100, text(1)).
		add(200, done(stream.ProofFinish)).add(250, done(stream.ProofFinish)).add(300, done(stream.ProofSentinel))
	want(t, b.values(), "done", 250)
	want(t, b.values(), "sentinel", 300)
	want(t, b.values(), "complete", 250)
	b.add(400, done(stream.ProofTerminal))
	want(t, b.values(), "done", 400)
	b.r.Outcome = stream.ErrorMid // [DONE] after an error is not success
	wantIs(t, b.values(), Never, "complete")
	eof := newRecord(stream.Complete, 900).add(100, text(1))
	eof.r.Proof = stream.ProofTransport
	want(t, eof.values(), "complete", 900)
	wantIs(t, eof.values(), Missing, "done")
	sentinel := newRecord(stream.Gapped, 900).add(100, text(1)).add(300, done(stream.ProofSentinel))
	want(t, sentinel.values(), "complete", 300)
}

func TestMarksOfTheUser(t *testing.T) {
	marked := func(names ...string) stream.Event { e := text(1); e.Marks = names; return e }
	b := newRecord(stream.Complete, 900).add(100, text(1)).add(150, marked("useful", "handoff")).
		add(200, kind(stream.KindRestart)).add(300, marked("handoff")).add(400, marked("useful")).add(420, done(stream.ProofTerminal))
	b.r.Marks = []string{"useful", "handoff", "tool_timeout"}
	v := b.values()
	want(t, v, "useful", 400) // the last attempt's
	want(t, v, "handoff", 150)
	wantIs(t, v, Never, "tool_timeout")
	if got := v.Names(); got[len(got)-1] != "mark.tool_timeout" {
		t.Errorf("names %v", got)
	}
}

func TestStages(t *testing.T) {
	took := func(name string, ms int) stream.Event {
		e := stage(name)
		e.Took = stream.Some(time.Duration(ms) * time.Millisecond)
		return e
	}
	v := newRecord(stream.Complete, 900).add(40, took("queue", 40)).add(100, took("retrieval", 50)).
		add(300, text(1)).add(400, took("summary", 30)).add(500, took("prefill", 90)).add(600, stage("handoff")).values()
	want(t, v, "queue", 40)
	want(t, v, "stage.queue", 40)
	want(t, v, "stage.retrieval", 50)
	want(t, v, "stage.summary", 30)
	want(t, v, "unaccounted", 300-40-50-90) // prefill lies before the output, whenever it is told
	wantIs(t, v, Missing, "stage.handoff")
	wantIs(t, newRecord(stream.Complete, 9).add(5, text(1)).values(), Missing, "queue", "unaccounted")
}

func TestServiceStamps(t *testing.T) {
	stamped := func(e stream.Event, ms float64) stream.Event { e.ServiceTime = stream.Some(at(ms)); return e }
	b := newRecord(stream.Complete, 900).add(5, stamped(kind(stream.KindConnect), 1000)).
		add(310, stamped(tokensEvent(2), 1200)).also(310, stamped(tokensEvent(1), 1250)).add(410, stamped(tokensEvent(1), 1300))
	b.r.Conn = "warm"
	v := b.values()
	want(t, v, "network_and_relay", 310-200)
	want(t, v, "service_gap_p50", 50)
	want(t, v, "service_gap_max", 50)
	want(t, v, "service_rate_stream", 30)
	want(t, v, "service_rate_decode", 20)
	b.r.Conn = "cold"
	wantIs(t, b.values(), Missing, "network_and_relay")
	b.r.Events[2].ServiceTime = stream.None[time.Duration]()
	wantIs(t, b.values(), Missing, "service_gap_p50", "service_rate_stream")
}

func TestInstrument(t *testing.T) {
	b := newRecord(stream.Complete, 900).add(5, text(1))
	wantIs(t, b.values(), Missing, "read_lag", "lag_max", "lateness")
	b.r.Reads = []stream.Read{
		{App: at(5), Kernel: stream.Some(at(4.5))}, {App: at(9), Kernel: stream.Some(at(8.9)), LagMax: stream.Some(at(3))},
	}
	want(t, b.values(), "read_lag", 0.5)
	want(t, b.values(), "lag_max", 3)
}

func TestRequests(t *testing.T) {
	answer := func(id string, o stream.Outcome, ttft float64) *stream.Record {
		b := newRecord(o, 900)
		if ttft > 0 {
			b.add(ttft, text(1))
		}
		b.r.RequestID, b.r.Choices = id, 2
		return &b.r
	}
	single := newRecord(stream.Complete, 900).add(70, text(1))
	single.r.RequestID = "b#1" // an id may hold a #
	got := Requests([]*stream.Record{
		answer("a#0", stream.Complete, 200), answer("a#1", stream.Reset, 120), &single.r, answer("c#0", stream.Reset, 0), answer("c#1", stream.Hung, 0),
	})
	if len(got) != 3 || got[0].ID != "a" || got[1].ID != "b#1" || len(got[0].Answers) != 2 {
		t.Fatalf("%+v", got)
	}
	if got[0].TTFT.V != 120 || got[0].Outcome != stream.Reset {
		t.Errorf("a: ttft %v, %s", got[0].TTFT, got[0].Outcome)
	}
	if got[2].TTFT != (Value{V: 900, Is: Over}) || got[2].Outcome != stream.Reset {
		t.Errorf("c: ttft %v, %s", got[2].TTFT, got[2].Outcome)
	}
}

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All {
		for _, name := range []string{m.Name, m.JSON} {
			if seen[name] && !(name == m.Name && m.Name == m.JSON) {
				t.Errorf("%q stands for two metrics", name)
			}
		}
		seen[m.Name], seen[m.JSON] = true, true
		if m.Unit == "" || m.Doc == "" || m.of == nil || m.JSON == "" {
			t.Errorf("%s is not whole: %+v", m.Name, m)
		}
		if m.Unit == "ms" && m.JSON != m.Name+"_ms" || m.Unit == "tok/s" && m.JSON != m.Name+"_tps" {
			t.Errorf("%s: JSON key %s does not say its unit %s", m.Name, m.JSON, m.Unit)
		}
		if got, ok := Lookup(m.JSON); !ok || got.Name != m.Name {
			t.Errorf("%s is not found by its JSON key", m.Name)
		}
	}
	if _, ok := Lookup("nonsense"); ok {
		t.Error("found a metric that does not exist")
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(newRecord(stream.Reset, 900).add(100, text(3)).values())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"ttft_ms": 100.0, "rate_e2e_tps": nil, "gap_p95_ms": nil, "complete_ms": nil, "shape": "single", "chars": 3.0, "token_source": nil} {
		x, ok := got[key]
		if !ok || x != want {
			t.Errorf("%s = %v (%v), want %v", key, x, ok, want)
		}
	}
}
