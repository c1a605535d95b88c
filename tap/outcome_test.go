package tap

import (
	"testing"
	"time"

	"weir/stream"
)

const ms = time.Millisecond

func ev(kind stream.Kind, at time.Duration) stream.Event { return stream.Event{Kind: kind, At: at} }

func done(p stream.Proof, finish string, at time.Duration) stream.Event {
	return stream.Event{Kind: stream.KindDone, Proof: p, Finish: finish, At: at}
}

func fault(recoverable bool, at time.Duration) stream.Event {
	return stream.Event{Kind: stream.KindError, At: at, Fault: &stream.Fault{Code: "x", Recoverable: recoverable}}
}

func seq(n int64) stream.Event {
	return stream.Event{Kind: stream.KindText, ServiceSeq: stream.Some(n), At: time.Duration(n) * ms}
}

func TestSettleTakesTheFirstRuleThatHolds(t *testing.T) {
	text := ev(stream.KindText, 100*ms)
	eof := stream.Closing{How: stream.CleanEOF, At: time.Second}
	end := stream.End{}
	byEOF := stream.End{ByEOF: true}
	for _, c := range []struct {
		name   string
		events []stream.Event
		close  stream.Closing
		end    stream.End
		whole  bool
		want   stream.Outcome
		reason string
		proof  stream.Proof
	}{
		{"refused", nil, stream.Closing{How: stream.Failed, Reason: "refused"}, end, false, stream.ErrorEarly, "refused", 0},
		{"http error with a body", []stream.Event{fault(false, 0)}, stream.Closing{How: stream.Failed, Reason: "http_401"}, end, true, stream.ErrorEarly, "http_401", 0},
		{"error as first event", []stream.Event{fault(false, ms)}, eof, end, false, stream.ErrorEarly, "in_band", 0},
		{"error after text", []stream.Event{text, fault(false, 200*ms)}, eof, end, false, stream.ErrorMid, "in_band", 0},
		{"done after an error is no success", []stream.Event{text, fault(false, 200*ms), done(stream.ProofSentinel, "", 201*ms)}, eof, end, false, stream.ErrorMid, "in_band", 0},
		{"recoverable error, then the end", []stream.Event{text, fault(true, 200*ms), done(stream.ProofTerminal, "stop", 300*ms)}, eof, end, false, stream.Complete, "", stream.ProofTerminal},
		{"recoverable error, no end", []stream.Event{text, fault(true, 200*ms)}, eof, end, false, stream.ErrorMid, "in_band", 0},
		{"terminal", []stream.Event{text, done(stream.ProofTerminal, "stop", 200*ms)}, eof, end, false, stream.Complete, "", stream.ProofTerminal},
		{"finish only", []stream.Event{text, done(stream.ProofFinish, "stop", 200*ms)}, eof, end, false, stream.Complete, "", stream.ProofFinish},
		{"sentinel only", []stream.Event{text, done(stream.ProofSentinel, "", 200*ms)}, eof, end, false, stream.Complete, "", stream.ProofSentinel},
		{"end by EOF where the protocol has no mark", []stream.Event{text}, eof, byEOF, false, stream.Complete, "", stream.ProofTransport},
		{"no text, end by EOF", []stream.Event{ev(stream.KindHeartbeat, 0)}, eof, byEOF, false, stream.Truncated, "", 0},
		{"reset after the end is still complete", []stream.Event{text, done(stream.ProofTerminal, "", 200*ms)}, stream.Closing{How: stream.Broken}, end, false, stream.Complete, "", stream.ProofTerminal},
		{"a restart voids a finish", []stream.Event{text, done(stream.ProofFinish, "stop", 200*ms), ev(stream.KindRestart, 300*ms)}, eof, end, false, stream.Truncated, "", 0},
		{"cut", []stream.Event{text}, eof, end, false, stream.Truncated, "", 0},
		{"nothing came", nil, eof, end, false, stream.Truncated, "empty", 0},
		{"a page", []stream.Event{ev(stream.KindOther, ms)}, eof, end, true, stream.ErrorEarly, "not_a_stream", 0},
		{"reset", []stream.Event{text}, stream.Closing{How: stream.Broken, At: time.Second}, end, false, stream.Reset, "", 0},
		{"cancelled", []stream.Event{text}, stream.Closing{How: stream.UserStop, At: time.Second}, end, false, stream.Cancelled, "", 0},
		{"deadline while speaking", []stream.Event{ev(stream.KindText, 55*time.Second)}, stream.Closing{How: stream.OurDeadline, At: time.Minute}, end, false, stream.Timeout, "", 0},
		{"deadline in silence, heartbeats do not break it", []stream.Event{text, ev(stream.KindHeartbeat, 59*time.Second)}, stream.Closing{How: stream.OurDeadline, At: time.Minute}, end, false, stream.Hung, "", 0},
		{"deadline before a word", nil, stream.Closing{How: stream.OurDeadline, At: 5 * time.Second}, end, false, stream.Hung, "", 0},
		{"a number is missing", []stream.Event{seq(1), seq(3), done(stream.ProofTerminal, "", ms)}, eof, end, false, stream.Gapped, "", stream.ProofTerminal},
		{"repeats and disorder are no holes", []stream.Event{seq(2), seq(1), seq(2), seq(3), done(stream.ProofTerminal, "", ms)}, eof, end, false, stream.Complete, "", stream.ProofTerminal},
		{"the stated first number is missing", []stream.Event{seq(2), seq(3), done(stream.ProofTerminal, "", ms)}, eof, stream.End{FirstSeq: stream.Some[int64](1)}, false, stream.Gapped, "", stream.ProofTerminal},
		{"the stated last number is missing", []stream.Event{seq(1), done(stream.ProofTerminal, "", ms)}, eof, stream.End{LastSeq: stream.Some[int64](2)}, false, stream.Gapped, "", stream.ProofTerminal},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := stream.Record{Events: c.events, Whole: c.whole}
			settle(&r, c.close, c.end)
			if r.Outcome != c.want || r.Reason != c.reason || r.Proof != c.proof {
				t.Errorf("got %s/%s/%s, want %s/%s/%s", r.Outcome, r.Reason, r.Proof, c.want, c.reason, c.proof)
			}
		})
	}
}

func TestHangIsASuspicionOnly(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []stream.Event
		end    time.Duration
		want   stream.Maybe[time.Duration]
	}{
		{"silent from the start", nil, 12 * time.Second, stream.Some(10 * time.Second)},
		{"heartbeats are silence", []stream.Event{ev(stream.KindHeartbeat, 9*time.Second)}, 11 * time.Second, stream.Some(10 * time.Second)},
		{"silence in the middle", []stream.Event{ev(stream.KindText, time.Second), ev(stream.KindText, 13*time.Second)}, 14 * time.Second, stream.Some(11 * time.Second)},
		{"a late close after the end is none", []stream.Event{ev(stream.KindText, time.Second), done(stream.ProofTerminal, "", 2*time.Second)}, 30 * time.Second, stream.None[time.Duration]()},
		{"quick", []stream.Event{ev(stream.KindText, time.Second)}, 2 * time.Second, stream.None[time.Duration]()},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := hang(c.events, c.end); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
