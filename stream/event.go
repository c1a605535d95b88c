package stream

import (
	"encoding/json"
	"time"
)

// Event is one classified thing that happened on a stream. A dialect fills
// what it means (Kind … Fault); the tap fills where and when it happened
// (Seq, At, Read, Arrival, Bytes) and what the answer gained by it (Chars …).
type Event struct {
	Kind   Kind
	Choice int    // index of the answer within its request; 0 where there is one
	Name   string // SSE event name, data.type, or the stage's name

	// Text is the delta of a text, reasoning or tool event (tool: the arguments
	// piece, or the name where there are no arguments yet). Valid UTF-8.
	Text    string
	Summary bool   // reasoning shown only as a summary of what was thought
	Tool    string // tool: name of the tool whose call begins here; "" = a further piece, or not told

	Tokens      Maybe[int]           // tokens this event holds, where the protocol counts them
	ServiceSeq  Maybe[int64]         // the service's own number of the event
	ServiceTime Maybe[time.Duration] // the service's stamp, on the service's clock
	Took        Maybe[time.Duration] // stage: its duration as the service states it
	State       json.RawMessage      // business state to merge (a JSON object), or nil
	Usage       *Usage               // token accounting this event carries, cumulative
	BodyID      string               // the answer's id as the body states it
	Model       string               // the model as the body states it
	Finish      string               // done: the finish reason, as the service writes it
	Proof       Proof                // done: what it proves
	Fault       *Fault               // error: what the service says
	Note        string               // why it is Other, or what is odd about it; "" = nothing

	Seq     int           // ours: 1, 2, … in order of arrival over the response
	At      time.Duration // since t0: stamp of the read that completed it
	Read    int           // 1-based index into Record.Reads; 0 = unknown
	Arrival int           // 1-based index into Record.Arrivals; 0 = unknown
	Bytes   int           // bytes of its frame; of several events in one frame the first has them all
	Late    bool          // its separator came only with the next event's bytes

	Chars   Maybe[int] // grapheme clusters gained (text, reasoning and tool, each counted on its own)
	Visible Maybe[int] // text: of those, visible (not white space, default-ignorable, control or a lone mark)
	Wide    Maybe[int] // text: of those, Han, kana or hangul
	Marks   []string   // names of the marks that first held here
}

// Usage is the service's token accounting, as last stated.
type Usage struct {
	Input     Maybe[int] `json:"input"`
	Cached    Maybe[int] `json:"cached"`
	Output    Maybe[int] `json:"output"` // brought by the dialect to include reasoning
	Reasoning Maybe[int] `json:"reasoning"`
	Billed    Maybe[int] `json:"billed"`         // output tokens exactly as the service writes them
	Seed      bool       `json:"seed,omitempty"` // an opening value, not a count of what was streamed (Anthropic message_start)
}

// Fault is an error as the service states it. It never holds credentials.
type Fault struct {
	Code        string `json:"code,omitempty"`
	Message     string `json:"message,omitempty"`
	Recoverable bool   `json:"recoverable,omitempty"` // the protocol says the answer may still end
}

// Proof says how the end of an answer was proven, weakest first.
type Proof uint8

// The proofs.
const (
	ProofNone      Proof = iota
	ProofTransport       // a dialect without an end mark: clean EOF
	ProofSentinel        // only [DONE] or its like
	ProofFinish          // a finish reason on every started choice
	ProofTerminal        // the protocol's terminal event
)

// String is the proof's name: "", transport, sentinel, finish, terminal.
func (p Proof) String() string {
	return [...]string{"", "transport", "sentinel", "finish", "terminal"}[p]
}

// ParseProof reads a proof's name; an unknown one is ProofNone.
func ParseProof(s string) Proof {
	for p := ProofTransport; p <= ProofTerminal; p++ {
		if p.String() == s {
			return p
		}
	}
	return ProofNone
}

// End is what a classifier knows, after the last frame, of how the answer
// ended by its protocol's own rules.
type End struct {
	Proof     Proof // strongest proof seen for the response as a whole
	ByEOF     bool  // the protocol has no end mark: a clean EOF is the end
	Sentinel  bool  // a sentinel was seen
	LastError *Fault

	// FirstSeq and LastSeq are the service's first and last event numbers where
	// the protocol states them; a missing one at either end is then a hole too.
	FirstSeq Maybe[int64]
	LastSeq  Maybe[int64]
}
