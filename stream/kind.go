package stream

import "fmt"

// Kind says what an event is to the reader of the answer.
type Kind uint8

// The kinds. KindText, KindReasoning, KindTool and KindMedia are business events: output the
// user asked for. The others never make a time to first token.
const (
	KindOther     Kind = iota // unrecognised: kept, counted, reported
	KindText                  // visible answer text, non-empty; a refusal is text
	KindReasoning             // thinking text, non-empty
	KindTool                  // tool-call delta with a name or arguments
	KindMedia                 // audio or image delta
	KindConnect               // handshake, role-only delta, preamble, empty tool-call shell
	KindStage                 // marker of a pipeline phase, business state
	KindUsage                 // token accounting without content
	KindHeartbeat             // comment, ping event, empty delta, blank keep-alive
	KindRestart               // what came before is void
	KindError                 // in-band error
	KindDone                  // terminal event, finish reason or sentinel
)

var kindNames = [...]string{
	"other", "text", "reasoning", "tool", "media", "connect", "stage",
	"usage", "heartbeat", "restart", "error", "done",
}

// String is the kind's name in logs and reports.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", k)
}

// ParseKind reads a kind's name.
func ParseKind(s string) (Kind, bool) {
	for i, n := range kindNames {
		if n == s {
			return Kind(i), true
		}
	}
	return KindOther, false
}

// Business reports whether the kind is output the user asked for.
func (k Kind) Business() bool {
	return k == KindText || k == KindReasoning || k == KindTool || k == KindMedia
}

// EventType is the event log's event_type: "business" for business kinds,
// else the kind's own name.
func (k Kind) EventType() string {
	if k.Business() {
		return "business"
	}
	return k.String()
}

// MarshalText writes the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind's name; an unknown name is an error.
func (k *Kind) UnmarshalText(b []byte) error {
	v, ok := ParseKind(string(b))
	if !ok {
		return fmt.Errorf("unknown event kind %q", b)
	}
	*k = v
	return nil
}
