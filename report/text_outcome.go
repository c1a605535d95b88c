package report

import (
	"strings"
	"time"

	"weir/stream"
)

// outcomeText says in a sentence how an answer ended and what proves it.
func outcomeText(r *stream.Record) string {
	text := outcomeWord(r)
	if s := sentence(r); s != "" {
		text += ": " + s
	}
	var facts []string
	if r.Outcome.Ended() && r.Proof != stream.ProofFinish {
		facts = append(facts, prefixed("finish reason ", r.Finish))
	} else if !r.Outcome.Ended() {
		facts = append(facts, r.Reason, r.Detail)
	}
	if f := r.Fault; f != nil {
		facts = append(facts, f.Code, f.Message)
	}
	if at, ok := r.HangAt.Get(); ok {
		facts = append(facts, "it began to look hung at "+duration(at))
	}
	for _, f := range facts {
		if f = brief(f); f != "" && !strings.Contains(text, f) {
			text += "; " + f
		}
	}
	return text
}

// brief cuts what a service said to what a page bears; JSON has it whole.
func brief(s string) string {
	const most = 300
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "..."
		}
	}
	return s
}

func sentence(r *stream.Record) string {
	end, ended := r.End.Get()
	switch r.Outcome {
	case stream.Complete:
		return proofText(r)
	case stream.Gapped:
		return proofText(r) + ", but the service's own numbering has a hole"
	case stream.Truncated:
		return "the body ended without a sign that the answer had"
	case stream.Reset:
		return "the connection broke"
	case stream.Hung, stream.Timeout:
		if r.Reason == "body_limit" || r.Reason == "event_limit" {
			return "we stopped reading at our limit"
		}
	}
	switch r.Outcome {
	case stream.Hung:
		if ended && end < 10*time.Second {
			return "our deadline came before any output"
		}
		return "our deadline came after 10 s or more of silence"
	case stream.Timeout:
		return "our deadline came, less than 10 s after its last output"
	case stream.Cancelled:
		return "we stopped it"
	case stream.ErrorEarly:
		return "failed before any output"
	case stream.ErrorMid:
		return "failed in the middle"
	case stream.Dropped:
		return "never sent: the limit of requests in flight was reached"
	}
	return "the log does not say how it ended"
}

func proofText(r *stream.Record) string {
	switch r.Proof {
	case stream.ProofTerminal:
		return "the protocol's last event came"
	case stream.ProofFinish:
		return "finish reason " + r.Finish
	case stream.ProofSentinel:
		return "only the end sentinel came"
	case stream.ProofTransport:
		return "the body ended as it should (this protocol has no end mark)"
	}
	return ""
}
