package eventlog

import (
	"encoding/json"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"weir/stream"
)

// genRecord draws a record such as an observer makes, every field of it used.
func genRecord(t *rapid.T) *stream.Record {
	r := &stream.Record{
		RequestID: rapid.StringMatching(`req_[0-9a-f]{4}(#[0-9])?`).Draw(t, "id"),
		Choice:    rapid.IntRange(0, 2).Draw(t, "choice"), Choices: rapid.IntRange(1, 3).Draw(t, "choices"),
		Run: word(t), Index: rapid.IntRange(0, 99).Draw(t, "index"),
		Start:    time.Unix(rapid.Int64Range(1.7e9, 1.9e9).Draw(t, "start"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC(),
		Lateness: maybeDuration(t), InFlight: maybeInt(t),
		Target: word(t), Hop: word(t), Method: word(t), Dialect: word(t), DialectWhy: word(t), Model: word(t),
		Streamed: rapid.Bool().Draw(t, "b"), UsageAsked: rapid.Bool().Draw(t, "b"),
		Conn: rapid.SampledFrom([]string{"", "cold", "warm"}).Draw(t, "conn"),
		Stamp: rapid.SampledFrom([]stream.Stamp{stream.StampKernel, stream.StampSocket, stream.StampBody, stream.StampUnknown}).
			Draw(t, "stamp"),
		StampWhy: word(t),
		Phases: stream.Phases{DNS: maybeDuration(t), Connect: maybeDuration(t), TLS: maybeDuration(t),
			RequestWritten: maybeDuration(t), Headers: maybeDuration(t), FirstByte: maybeDuration(t)},
		Facts:    genFacts(t),
		Whole:    rapid.Bool().Draw(t, "b"),
		TextKept: true, Prompt: word(t),
		Usage:   genUsage(t),
		Outcome: rapid.SampledFrom(append(stream.Outcomes(), stream.Unknown)).Draw(t, "outcome"),
		Reason:  word(t), Detail: word(t),
		Proof: stream.Proof(rapid.IntRange(0, 4).Draw(t, "proof")), Finish: word(t), Fault: genFault(t),
		End: maybeDuration(t), HangAt: maybeDuration(t), RcvOOO: maybeInt(t),
		Expect:    stream.Expect{Events: rapid.IntRange(0, 9).Draw(t, "n"), Chars: rapid.IntRange(0, 9).Draw(t, "n")},
		Truncated: rapid.Bool().Draw(t, "b"),
	}
	if rapid.Bool().Draw(t, "labels") {
		r.Labels = map[string]string{word(t): word(t)}
		r.Notes = []string{word(t)}
	}
	genReads(t, r)
	n := rapid.IntRange(0, 30).Draw(t, "events")
	for i := range n {
		r.Events = append(r.Events, genEvent(t, r, i+1))
	}
	return r
}

func genReads(t *rapid.T, r *stream.Record) {
	r.NoReads = rapid.Bool().Draw(t, "noreads")
	if r.NoReads {
		return
	}
	at := time.Duration(0)
	for range rapid.IntRange(1, 12).Draw(t, "reads") {
		at += time.Duration(rapid.Int64Range(0, 3e6).Draw(t, "gap"))
		x := stream.Read{At: at, App: at + 777, Kernel: maybeDuration(t), Bytes: rapid.IntRange(0, 9000).Draw(t, "bytes"),
			Waited: rapid.Bool().Draw(t, "waited"), LagMax: maybeDuration(t)}
		r.Reads = append(r.Reads, x)
	}
	r.Arrivals = stream.Arrivals(r.Reads)
}

func genEvent(t *rapid.T, r *stream.Record, seq int) stream.Event {
	e := stream.Event{
		Kind: stream.Kind(rapid.IntRange(0, 11).Draw(t, "kind")), Choice: rapid.IntRange(0, 2).Draw(t, "choice"),
		Name: word(t), Text: word(t), Summary: rapid.Bool().Draw(t, "b"), Tokens: maybeInt(t),
		ServiceTime: maybeDuration(t), Took: maybeDuration(t), Usage: genUsage(t), BodyID: word(t), Model: word(t),
		Finish: word(t), Proof: stream.Proof(rapid.IntRange(0, 4).Draw(t, "proof")), Fault: genFault(t), Note: word(t),
		Seq: seq, At: time.Duration(rapid.Int64Range(0, 5e9).Draw(t, "at")), Bytes: rapid.IntRange(0, 999).Draw(t, "bytes"),
		Late: rapid.Bool().Draw(t, "b"), Chars: maybeInt(t), Visible: maybeInt(t), Wide: maybeInt(t),
	}
	if rapid.Bool().Draw(t, "numbered") {
		e.ServiceSeq = stream.Some(rapid.Int64().Draw(t, "seq"))
		e.State = json.RawMessage(fmt.Sprintf(`{"k":%d}`, seq))
		e.Marks = []string{word(t), "useful"}
	}
	if len(r.Reads) > 0 {
		e.Read = rapid.IntRange(0, len(r.Reads)).Draw(t, "read")
		e.Arrival = rapid.IntRange(0, len(r.Arrivals)).Draw(t, "arrival")
		if e.Read > 0 && rapid.Bool().Draw(t, "stamped") {
			e.At = r.Reads[e.Read-1].At
		}
	}
	return e
}

func genFacts(t *rapid.T) stream.Facts {
	f := stream.Facts{HTTPVersion: word(t), Status: rapid.IntRange(0, 599).Draw(t, "status"), Server: word(t), Via: word(t),
		BodyStart: word(t), BodyBytes: rapid.Int64Range(0, 1e6).Draw(t, "n"), OurID: word(t), XAccelBuffering: word(t)}
	if rapid.Bool().Draw(t, "more") {
		f.Redirects, f.Extra = []string{word(t)}, map[string]string{"cf-ray": word(t)}
	}
	return f
}

func genUsage(t *rapid.T) *stream.Usage {
	if rapid.Bool().Draw(t, "nousage") {
		return nil
	}
	return &stream.Usage{Input: maybeInt(t), Cached: maybeInt(t), Output: maybeInt(t), Reasoning: maybeInt(t),
		Billed: maybeInt(t), Seed: rapid.Bool().Draw(t, "seed")}
}

func genFault(t *rapid.T) *stream.Fault {
	if rapid.Bool().Draw(t, "nofault") {
		return nil
	}
	return &stream.Fault{Code: word(t), Message: word(t), Recoverable: rapid.Bool().Draw(t, "b")}
}

func word(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "a", "stop", "<think>&\u2028", "中文，两句。", "e\u0301\t\"\\\n\x00\x1b[31m", "👩‍💻"}).Draw(t, "word")
}

func maybeInt(t *rapid.T) stream.Maybe[int] {
	if rapid.Bool().Draw(t, "missing") {
		return stream.None[int]()
	}
	return stream.Some(rapid.IntRange(0, 1e6).Draw(t, "int"))
}

func maybeDuration(t *rapid.T) stream.Maybe[time.Duration] {
	if rapid.Bool().Draw(t, "missing") {
		return stream.None[time.Duration]()
	}
	return stream.Some(time.Duration(rapid.Int64Range(-1e9, 1.8e18).Draw(t, "ns")))
}
