package report

import (
	"fmt"
	"time"

	"weir/diagnose"
	"weir/stream"
)

const ms = time.Millisecond

// answer builds a record as an observer would make it.
type answer struct{ r *stream.Record }

func newAnswer(index int, conn string) *answer {
	a := &answer{&stream.Record{
		RequestID: fmt.Sprintf("req_%04d", index+1), Index: index, Choices: 1, Conn: conn, Streamed: true, Stamp: stream.StampKernel,
		Start:  time.Date(2026, 3, 1, 10, 0, index, 0, time.UTC),
		Target: "http://127.0.0.1:8000/v1/chat/completions", Method: "POST", Dialect: "openai.chat",
		DialectWhy: "path ends in /chat/completions", Model: "qwen2.5-7b-instruct", UsageAsked: true,
		Facts: stream.Facts{HTTPVersion: "HTTP/1.1", Status: 200, Server: "uvicorn", ContentType: "text/event-stream"},
	}}
	if conn == "cold" {
		a.r.Phases.DNS, a.r.Phases.Connect = stream.Some(1200*time.Microsecond), stream.Some(800*time.Microsecond)
		a.r.Phases.TLS = stream.Some(14 * ms)
	}
	return a
}

func (a *answer) headers(at time.Duration) *answer {
	a.r.Phases.Headers = stream.Some(at)
	a.r.Phases.FirstByte = stream.Some(at)
	return a
}

// at adds an arrival with events.
func (a *answer) at(at time.Duration, events ...stream.Event) *answer {
	r := a.r
	r.Reads = append(r.Reads, stream.Read{At: at, App: at, Waited: true, Bytes: 200 * len(events)})
	r.Arrivals = append(r.Arrivals, stream.Arrival{At: at, Bytes: 200 * len(events), Reads: 1})
	for _, e := range events {
		e.Seq, e.At, e.Read, e.Arrival, e.Bytes = len(r.Events)+1, at, len(r.Reads), len(r.Arrivals), 200
		r.Events = append(r.Events, e)
	}
	return a
}

// text adds n pieces of text, one every gap from a time on.
func (a *answer) text(from, gap time.Duration, n int, piece string) *answer {
	for i := range n {
		a.at(from+time.Duration(i)*gap, text(piece))
	}
	return a
}

func text(piece string) stream.Event {
	n := len([]rune(piece))
	wide := 0
	for _, r := range piece {
		if r > 0x2e80 {
			wide++
		}
	}
	return stream.Event{Kind: stream.KindText, Text: piece, Chars: stream.Some(n), Visible: stream.Some(n), Wide: stream.Some(wide)}
}

func role() stream.Event { return stream.Event{Kind: stream.KindConnect} }

func (a *answer) tokens(n int) *answer {
	a.r.Usage = &stream.Usage{Input: stream.Some(12), Output: stream.Some(n), Billed: stream.Some(n)}
	return a
}

func (a *answer) end(at time.Duration, o stream.Outcome) *answer {
	a.r.Outcome, a.r.End = o, stream.Some(at)
	if o.Ended() {
		a.at(at, stream.Event{Kind: stream.KindDone, Finish: "stop", Proof: stream.ProofFinish})
		a.r.Finish, a.r.Proof = "stop", stream.ProofFinish
	}
	return a
}

// healthy is an even answer whose first event is only a role.
func healthy(index int, conn string, shift time.Duration) *stream.Record {
	first := 203*ms + shift
	return newAnswer(index, conn).headers(18*ms+shift).at(18*ms+shift, role()).
		text(first, 21*ms, 50, "word ").tokens(50).end(first+50*21*ms, stream.Complete).r
}

func group(rs ...*stream.Record) [][]*stream.Record {
	var out [][]*stream.Record
	for _, r := range rs {
		out = append(out, []*stream.Record{r})
	}
	return out
}

// five is the default probe session: one cold, four warm.
func five() Session {
	rs := []*stream.Record{healthy(0, "cold", 16*ms)}
	for i := 1; i < 5; i++ {
		rs = append(rs, healthy(i, "warm", time.Duration(i-2)*4*ms))
	}
	return Session{
		Weir: "0.1.0", Requests: group(rs...), Logs: "weir-log/events/2026-03-01/probe-20260301-100000-77.jsonl",
		Choices: []string{"model qwen2.5-7b-instruct (first of GET /v1/models)", `prompt "Explain in one paragraph what a weir is."`},
		Findings: []diagnose.Finding{{
			Code: "headers_early_text_late", Severity: diagnose.Warning,
			Text:       "The first event came at 18 ms and held only a role; text began 185 ms later.",
			Evidence:   []diagnose.Figure{{Name: "first_event", Value: 18, Unit: "ms"}, {Name: "ttft", Value: 203, Unit: "ms"}},
			Means:      []string{"the request waited in a queue", "the prompt was being prefilled", "hidden reasoning", "a relay held the body back"},
			Check:      "read the server's own queue and prefill metrics, and probe it without the relay: --direct origin=URL",
			RequestIDs: []string{"req_0001", "req_0002", "req_0003", "req_0004", "req_0005"},
		}},
	}
}

// cutShort is a Chinese answer with reasoning that stalls and is then cut.
func cutShort() Session {
	a := newAnswer(0, "cold").headers(40*ms).at(40*ms, role())
	for i := range 12 {
		a.at(300*ms+time.Duration(i)*30*ms, stream.Event{Kind: stream.KindReasoning, Text: "思考", Chars: stream.Some(2)})
	}
	a.text(700*ms, 25*ms, 20, "堰").text(3600*ms, 25*ms, 10, "水流").end(4200*ms, stream.Truncated)
	a.r.Model, a.r.Facts.Server = "通义千问-7B", "nginx\x1b[31m/1.22\u202e"
	a.r.Stamp, a.r.StampWhy = stream.StampSocket, "kernel stamps need Linux"
	a.r.Notes = []string{"usage was refused by the server and asked for no more"}
	return Session{
		Weir: "0.1.0", Requests: group(a.r),
		Findings: []diagnose.Finding{{
			Code: "truncated", Severity: diagnose.Problem, Text: "答案在中途结束: the body ended without a sign that the answer had.",
			Evidence: []diagnose.Figure{{Name: "last_output", Value: 3825, Unit: "ms"}, {Name: "end", Value: 4200, Unit: "ms"}},
			Means:    []string{"the server or a relay closed the connection on purpose, or crashed"},
			Check:    "look for a read timeout near 600 ms in the relay's configuration, and at the server's log at this moment",
		}},
	}
}

// refused never got a connection.
func refused() Session {
	a := newAnswer(0, "cold")
	a.r.Facts, a.r.Phases, a.r.Stamp, a.r.Model = stream.Facts{}, stream.Phases{}, "", ""
	a.r.Outcome, a.r.Reason, a.r.End = stream.ErrorEarly, "refused", stream.Some(600*time.Microsecond)
	a.r.Detail = "dial tcp 127.0.0.1:8000: connect: connection refused"
	return Session{Weir: "0.1.0", Requests: group(a.r)}
}

// both is the same prompt streamed and whole, down two paths.
func both() Session {
	var rs []*stream.Record
	for i := range 4 {
		s := healthy(4*i, "warm", time.Duration(i)*3*ms)
		w := newAnswer(4*i+1, "warm").headers(1250*ms+time.Duration(i)*ms).at(1250*ms+time.Duration(i)*ms, text("a whole answer")).
			tokens(50).end(1252*ms, stream.Complete).r
		w.Streamed, w.Whole = false, true
		d := healthy(4*i+2, "warm", time.Duration(i)*3*ms-8*ms)
		d.Hop = "origin"
		rs = append(rs, s, w, d)
	}
	return Session{Weir: "0.1.0", Requests: group(rs...), Partial: true, Unseen: []string{"handoff"}}
}

// pipeline has stages, marks, two choices and a tool call.
func pipeline() Session {
	a := newAnswer(0, "warm").headers(9*ms).at(10*ms, role()).
		at(320*ms, stream.Event{Kind: stream.KindStage, Name: "queue", Took: stream.Some(300 * ms)}).
		at(1500*ms, stream.Event{Kind: stream.KindStage, Name: "检索 retrieval", Took: stream.Some(1180 * ms)}).
		at(1900*ms, stream.Event{Kind: stream.KindTool, Name: "search", Text: "{", Tokens: stream.Some(3)}).
		text(2600*ms, 40*ms, 30, "退款 ").tokens(60).end(3900*ms, stream.Complete)
	a.r.Marks = []string{"useful", "handoff", "refund"}
	a.r.Events[12].Marks = []string{"refund"}
	a.r.Events[20].Marks = []string{"useful"}
	a.r.Labels = map[string]string{"scenario": "refund", "tier": "gold"}
	b := *a.r
	b.RequestID, b.Choice, b.Choices, a.r.Choices = "req_0001#1", 1, 2, 2
	a.r.RequestID = "req_0001#0"
	return Session{Weir: "0.1.0", Requests: [][]*stream.Record{{a.r, &b}}, Unseen: []string{"handoff"}}
}

// article is the article's log: nothing is known but times and tokens.
func article() Session {
	r := &stream.Record{RequestID: "req_0001", Choices: 1, Streamed: true, NoReads: true}
	for i, e := range []struct {
		us, tokens int
		kind       stream.Kind
	}{{0, 0, stream.KindConnect}, {1100300, 12, stream.KindText}, {1155200, 7, stream.KindText}, {1290700, 9, stream.KindText}} {
		r.Events = append(r.Events, stream.Event{
			Kind: e.kind, Seq: i + 1, At: time.Duration(e.us) * time.Microsecond, Tokens: stream.Some(e.tokens),
		})
	}
	return Session{Weir: "0.1.0", Requests: group(r), Sources: []string{"article.jsonl"}}
}
