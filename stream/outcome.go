package stream

import "time"

// Outcome is how one answer ended; exactly one holds (METRICS §7). The empty
// outcome means a log did not say.
type Outcome string

// The outcomes.
const (
	Unknown    Outcome = ""
	Dropped    Outcome = "dropped"     // the generator's in-flight limit; never sent
	ErrorEarly Outcome = "error_early" // failed before the first business event
	ErrorMid   Outcome = "error_mid"   // failed after it
	Complete   Outcome = "complete"
	Gapped     Outcome = "gapped" // complete, but the service's own numbering has a hole
	Cancelled  Outcome = "cancelled"
	Reset      Outcome = "reset"
	Truncated  Outcome = "truncated" // clean EOF without proof of the end
	Hung       Outcome = "hung"      // our deadline, silent for the last 10 s
	Timeout    Outcome = "timeout"   // our deadline, still speaking
)

// Outcomes lists every outcome, best first: the order in which tables show
// them, and "worst of" is the later one.
var outcomeOrder = [...]Outcome{
	Complete, Gapped, Cancelled, Timeout, Hung, Truncated, Reset, ErrorMid, ErrorEarly, Dropped,
}

// Outcomes returns every outcome, best first.
func Outcomes() []Outcome { return append([]Outcome(nil), outcomeOrder[:]...) }

// Ended reports whether the answer reached its proven end.
func (o Outcome) Ended() bool { return o == Complete || o == Gapped }

// Ours reports whether weir itself cut the stream, so that it is censored:
// only known to exceed its elapsed time.
func (o Outcome) Ours() bool { return o == Cancelled || o == Hung || o == Timeout }

// Worst returns the worse of two outcomes.
func Worst(a, b Outcome) Outcome {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

func rank(o Outcome) int {
	for i, x := range outcomeOrder {
		if x == o {
			return i
		}
	}
	return -1
}

// Closing is how the carrier ended, before the dialect's view is added.
type Closing struct {
	How    How
	At     time.Duration // since t0
	Reason string        // Failed: dns, refused, unreachable, tls, no_local_port, http_NNN, write, not_a_stream …
	Detail string        // the underlying error text, without secrets
}

// How says what ended the carrier.
type How uint8

// The ways a carrier ends.
const (
	CleanEOF    How = iota // the body ended as its framing says
	Broken                 // RST, RST_STREAM, unexpected EOF inside the framing
	UserStop               // the user, the plan or the end of the run
	OurDeadline            // the total deadline
	Failed                 // no stream came to be: see Reason
)
