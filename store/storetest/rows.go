package storetest

import (
	"fmt"
	"time"

	"weir/stream"
	"weir/table"
)

// start is when run 0 began.
var start = time.Date(2026, 3, 1, 8, 0, 0, 123456789, time.UTC)

// Run is a run with every field in use; n tells runs apart, and later ones
// began later.
func Run(n int) table.Run {
	return table.Run{
		ID: fmt.Sprintf("bench-%03d", n), Kind: "bench", Start: start.Add(time.Duration(n) * time.Hour),
		Target: "http://127.0.0.1:9000/v1/chat/completions", Dialect: "openai", Model: "模型",
		Labels: map[string]string{"quant": "none"}, Tags: []string{"nightly"},
		Plan: "load:\n  - {name: peak, rate: 20/s}\n", Seed: 1<<64 - 1, Shard: "0/2", Weir: "v1", Definitions: 1,
		Environment: map[string]string{"cpus": "2"},
		Health:      []byte(`{"verdict":"valid","reasons":[]}`), Verdict: []byte(`{"verdict":"pass"}`), Partial: true,
	}
}

// Rows are n measured rows of a run, in the order in which a store gives them:
// answers that came, that were cut, that failed and that were never sent, with
// marks, stages and labels.
func Rows(run string, n int) []table.Row {
	rows := make([]table.Row, n)
	for i := range rows {
		rows[i] = table.RowOf(record(run, i))
	}
	return rows
}

var ends = []stream.Outcome{stream.Complete, stream.Complete, stream.Complete, stream.Hung, stream.Truncated, stream.Dropped}

func record(run string, i int) *stream.Record {
	r := &stream.Record{
		RequestID: fmt.Sprintf("req-%s-%d", run, i), Run: run, Index: i, Choices: 1, Start: start.Add(time.Duration(i) * time.Second),
		Lateness: stream.Some(time.Duration(i) * time.Microsecond), InFlight: stream.Some(i % 7),
		Target: "http://127.0.0.1:9000/v1/chat/completions", Dialect: "openai", Model: "模型", Streamed: true,
		Conn: []string{"cold", "warm"}[i%2], Stamp: stream.StampKernel, Outcome: ends[i%len(ends)], End: stream.Some(2 * time.Second),
		Labels: map[string]string{"scenario": []string{"plain_qa", "工具"}[i%2], "phase": "peak", "region": "eu"},
		Marks:  []string{"handoff", "useful"},
	}
	if i < 3 {
		r.Labels["warmup"] = "true"
	}
	if r.Outcome == stream.Dropped || r.Outcome == stream.Hung {
		return r
	}
	speak(r, time.Duration(100+i%40)*time.Millisecond)
	return r
}

// speak lets the answer come: a stage, then ten pieces of text.
func speak(r *stream.Record, ttft time.Duration) {
	add := func(at time.Duration, e stream.Event) {
		r.Arrivals = append(r.Arrivals, stream.Arrival{At: at, Bytes: 90, Reads: 1})
		e.At, e.Arrival, e.Seq, e.Bytes = at, len(r.Arrivals), len(r.Events)+1, 90
		r.Events = append(r.Events, e)
	}
	add(40*time.Millisecond, stream.Event{Kind: stream.KindStage, Name: "prefill", Took: stream.Some(30 * time.Millisecond)})
	for i := range 10 {
		e := stream.Event{Kind: stream.KindText, Tokens: stream.Some(3), Chars: stream.Some(5), Visible: stream.Some(5), Wide: stream.Some(0)}
		if i == 4 {
			e.Marks = []string{"handoff"}
		}
		add(ttft+time.Duration(i*20+i*i)*time.Millisecond, e)
	}
	if r.Outcome == stream.Complete {
		add(ttft+400*time.Millisecond, stream.Event{Kind: stream.KindDone, Proof: stream.ProofTerminal})
		r.Proof, r.Finish = stream.ProofTerminal, "stop"
	}
}
