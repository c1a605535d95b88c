package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/stream"
)

// plain is a complete, lively answer of n events that began after ttft ms.
func plain(n int, ttft float64) *stream.Record {
	r := &stream.Record{
		RequestID: "r1", Streamed: true, Choices: 1, Conn: "warm", Outcome: stream.Complete, Proof: stream.ProofTerminal,
		Stamp: stream.StampKernel, Phases: stream.Phases{Headers: stream.Some(time.Millisecond)},
	}
	for i := range n {
		output(r, ttft+20*float64(i))
	}
	finish(r, ttft+20*float64(n))
	return r
}

func put(r *stream.Record, ms float64, e stream.Event) *stream.Event {
	at := time.Duration(ms * 1e6)
	r.Arrivals = append(r.Arrivals, stream.Arrival{At: at, Bytes: 200, Reads: 1})
	r.Reads = append(r.Reads, stream.Read{At: at, App: at, Bytes: 200, Waited: true})
	e.At, e.Arrival, e.Read, e.Bytes, e.Seq = at, len(r.Arrivals), len(r.Reads), 200, len(r.Events)+1
	r.Events = append(r.Events, e)
	return &r.Events[len(r.Events)-1]
}

func output(r *stream.Record, ms float64) {
	put(r, ms, stream.Event{Kind: stream.KindText, Tokens: stream.Some(1), Chars: stream.Some(4), Visible: stream.Some(4), Wide: stream.Some(0)})
}

func finish(r *stream.Record, ms float64) {
	put(r, ms, stream.Event{Kind: stream.KindDone, Proof: stream.ProofTerminal})
	r.End = stream.Some(time.Duration(ms * 1e6))
}

// first puts an event before all others.
func first(r *stream.Record, ms float64, e stream.Event) {
	at := time.Duration(ms * 1e6)
	e.At, e.Arrival, e.Read = at, 1, 1
	for i := range r.Events {
		r.Events[i].Arrival++
		r.Events[i].Read++
	}
	r.Events = append([]stream.Event{e}, r.Events...)
	r.Arrivals = append([]stream.Arrival{{At: at, Bytes: 200, Reads: 1}}, r.Arrivals...)
	r.Reads = append([]stream.Read{{At: at, App: at, Bytes: 200, Waited: true}}, r.Reads...)
}

func cut(o stream.Outcome, after int, endMS float64) *stream.Record {
	r := plain(0, 200)
	r.Events, r.Arrivals, r.Reads = nil, nil, nil
	for i := range after {
		output(r, 200+20*float64(i))
	}
	r.Outcome, r.Proof, r.End = o, stream.ProofNone, stream.Some(time.Duration(endMS*1e6))
	return r
}

// ruleCase is one record and the one finding it must give; code "" = none.
type ruleCase struct {
	name, code, text string
	record           func() *stream.Record
}

var ruleCases = []ruleCase{
	{"a lively answer", "", "", func() *stream.Record { return plain(50, 200) }},
	{"a role first", "first_event_early", "the first event carried only a role or handshake; output began 3.04 s later", func() *stream.Record {
		r := plain(200, 3100)
		first(r, 60, stream.Event{Kind: stream.KindConnect})
		return r
	}},
	{"a role right before", "", "", func() *stream.Record {
		r := plain(50, 200)
		first(r, 199, stream.Event{Kind: stream.KindConnect})
		return r
	}},
	{"headers early, text late", "late_text", "headers came after 1.0 ms, output 1.80 s later", func() *stream.Record { return plain(200, 1801) }},
	{"headers late too", "", "", func() *stream.Record {
		r := plain(200, 1801)
		r.Phases.Headers = stream.Some(1800 * time.Millisecond)
		return r
	}},
	{"a stall", "stall", "output stalled for 2.40 s after event 20", func() *stream.Record {
		r := plain(20, 200)
		r.Events = r.Events[:20]
		for i := range 30 {
			output(r, 200+19*20+2400+20*float64(i))
		}
		finish(r, 4000)
		return r
	}},
	{"a phase is no stall", "", "", func() *stream.Record {
		r := plain(20, 200)
		r.Events = r.Events[:20]
		put(r, 700, stream.Event{Kind: stream.KindStage, Name: "tool"})
		for i := range 30 {
			output(r, 3000+20*float64(i))
		}
		finish(r, 4000)
		return r
	}},
	{"truncated", "truncated", "without its end mark", func() *stream.Record { return cut(stream.Truncated, 20, 590) }},
	{"nothing at all", "truncated", "without a single event", func() *stream.Record {
		r := cut(stream.Truncated, 0, 30)
		r.Reason = "empty"
		return r
	}},
	{"an end without output", "empty_answer", `finish reason "content_filter"`, func() *stream.Record {
		r := plain(0, 200)
		r.Finish = "content_filter"
		put(r, 200, stream.Event{Kind: stream.KindHeartbeat})
		return r
	}},
	{"reset", "reset", "connection broke", func() *stream.Record { return cut(stream.Reset, 20, 590) }},
	{"refused", "failed", "refused", func() *stream.Record {
		r := cut(stream.ErrorEarly, 0, 3)
		r.Reason, r.Detail = "refused", "connection refused"
		return r
	}},
	{"an error in the stream", "in_band_error", `"overloaded try again"`, func() *stream.Record {
		r := cut(stream.ErrorMid, 20, 590)
		r.Reason, r.Fault = "in_band", &stream.Fault{Code: "overloaded", Message: "try again"}
		return r
	}},
	{"an error that was survived", "recovered_error", "the answer still ended", func() *stream.Record {
		r := plain(50, 200)
		put(r, 1250, stream.Event{Kind: stream.KindError, Fault: &stream.Fault{Code: "late", Recoverable: true}})
		return r
	}},
	{"a hole", "sequence_hole", "2 events of the service's numbering never came", func() *stream.Record {
		r := plain(50, 200)
		r.Outcome = stream.Gapped
		for i := range 50 {
			r.Events[i].ServiceSeq = stream.Some(int64(i + 2*(i/25)))
		}
		return r
	}},
	{"only the sentinel", "no_finish_reason", "sentinel only", func() *stream.Record {
		r := plain(50, 200)
		r.Proof = stream.ProofSentinel
		return r
	}},
	{"usage asked for", "usage_missing", "usage was asked for and did not come", func() *stream.Record {
		r := plain(50, 200)
		r.UsageAsked = true
		return r
	}},
	{"usage that came", "", "", func() *stream.Record {
		r := plain(50, 200)
		r.UsageAsked, r.Usage = true, &stream.Usage{Output: stream.Some(50)}
		return r
	}},
	{"hidden reasoning", "hidden_reasoning", "30 reasoning tokens", func() *stream.Record {
		r := plain(50, 200)
		r.Usage = &stream.Usage{Output: stream.Some(80), Reasoning: stream.Some(30)}
		return r
	}},
	{"broken characters", "replacement_character", "U+FFFD", func() *stream.Record {
		r := plain(50, 200)
		r.Events[7].Note = "U+FFFD in text"
		return r
	}},
	{"unknown events", "other_events", `2 events were not recognised`, func() *stream.Record {
		r := plain(50, 200)
		put(r, 1201, stream.Event{Kind: stream.KindOther, Name: "vendor.extra"})
		put(r, 1202, stream.Event{Kind: stream.KindOther, Name: "vendor.extra"})
		return r
	}},
	{"separators late", "late_separator", "50 events", func() *stream.Record {
		r := plain(50, 200)
		for i := range 50 {
			r.Events[i].Late = true
		}
		return r
	}},
	{"application stamps", "no_kernel_stamps", "a loopback without them", func() *stream.Record {
		r := plain(50, 200)
		r.Stamp, r.StampWhy = stream.StampSocket, "a loopback without them"
		return r
	}},
	{"a restart", "restart", "begun again", func() *stream.Record {
		r := plain(50, 200)
		put(r, 1220, stream.Event{Kind: stream.KindRestart})
		output(r, 1240)
		return r
	}},
	{"a large body", "body_not_kept", "too large", func() *stream.Record { r := plain(50, 200); r.Truncated = true; return r }},
	{"too few events", "too_few_events", "50 output events came, 60 were expected", func() *stream.Record {
		r := plain(50, 200)
		r.Expect.Events = 60
		return r
	}},
	{"too short", "too_short", "200 characters came, 500 were expected", func() *stream.Record {
		r := plain(50, 200)
		r.Expect.Chars = 500
		return r
	}},
	{"in the middle of a sentence", "unfinished_sentence", "middle of a sentence", func() *stream.Record { return ending("it ends with a") }},
	{"a whole sentence", "", "", func() *stream.Record { return ending("好了。") }},
	{"a cold connection", "cold_connection", "opening the connection took 150 ms, 75 % of ttft", func() *stream.Record {
		r := plain(50, 200)
		r.Phases.DNS, r.Phases.TLS = stream.Some(50*time.Millisecond), stream.Some(100*time.Millisecond)
		return r
	}},
	{"a quick cold connection", "", "", func() *stream.Record {
		r := plain(50, 20)
		r.Phases.Connect = stream.Some(15 * time.Millisecond)
		return r
	}},
	{"one body", "not_streamed", "came as one body", func() *stream.Record {
		r := plain(1, 1200)
		r.Whole = true
		return r
	}},
	{"one body, as asked", "", "", func() *stream.Record {
		r := plain(1, 1200)
		r.Whole, r.Streamed = true, false
		return r
	}},
	{"stages", "longest_stage", "stage retrieval: 90 ms", func() *stream.Record {
		r := plain(50, 200)
		for _, s := range []struct {
			name string
			ms   int
		}{{"retrieval", 90}, {"queue", 40}} {
			first(r, 150, stream.Event{Kind: stream.KindStage, Name: s.name, Took: stream.Some(time.Duration(s.ms) * time.Millisecond)})
		}
		return r
	}},
	{"a late reader", "client_lagged", "may have waited over 10 ms for us (at most 40 ms)", func() *stream.Record {
		r := plain(50, 200)
		for i := range 10 {
			r.Reads[5*i].LagMax = stream.Some(40 * time.Millisecond)
		}
		return r
	}},
	{"an odd late read", "", "", func() *stream.Record {
		r := plain(50, 200)
		r.Reads[5].LagMax = stream.Some(40 * time.Millisecond)
		return r
	}},
}

func ending(text string) *stream.Record {
	r := plain(50, 200)
	r.TextKept, r.Expect.Events = true, 10
	r.Events[49].Text = text
	return r
}

func TestRules(t *testing.T) {
	for _, c := range ruleCases {
		fs := Diagnose([]*stream.Record{c.record()})
		if c.code == "" {
			if len(fs) > 0 {
				t.Errorf("%s: %s: %s", c.name, fs[0].Code, fs[0].Text)
			}
			continue
		}
		if len(fs) != 1 || fs[0].Code != c.code || !strings.Contains(fs[0].Text, c.text) {
			t.Errorf("%s: want %s %q, got %s", c.name, c.code, c.text, list(fs))
			continue
		}
		if f := fs[0]; len(f.Means) == 0 || f.Check == "" || f.Severity == "" || len(f.Evidence) == 0 {
			t.Errorf("%s: the finding is a bare verdict: %+v", c.name, f)
		}
	}
}

func list(fs []Finding) string {
	var b strings.Builder
	for _, f := range fs {
		fmt.Fprintf(&b, "\n  %s: %s", f.Code, f.Text)
	}
	return b.String()
}

// codes of the findings about some records.
func codes(records ...*stream.Record) []string {
	var out []string
	for _, f := range Diagnose(records) {
		out = append(out, f.Code)
	}
	return out
}
