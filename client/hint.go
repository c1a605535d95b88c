package client

import (
	"bytes"
	"encoding/json"
	"time"
)

// RetryAfter is when a gateway that ended a stream or refused a request with
// this error says to ask again: each client is told a time of its own, so that
// not all come back at once. ok is false where the event says nothing of it. A
// question is never sent again by this package: it is the caller's to repeat.
func RetryAfter(e Event) (d time.Duration, ok bool) {
	if !bytes.Contains(e.Data, []byte(`"retry_after_ms"`)) {
		return 0, false
	}
	type says struct {
		MS *int64 `json:"retry_after_ms"`
	}
	var body struct {
		says
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(e.Data, &body) != nil {
		return 0, false
	}
	var inner says
	if json.Unmarshal(body.Error, &inner) != nil {
		inner = says{} // Ollama's is a text
	}
	for _, s := range []says{inner, body.says} {
		if s.MS != nil && *s.MS >= 0 {
			return time.Duration(min(*s.MS, longestWait.Milliseconds())) * time.Millisecond, true
		}
	}
	return 0, false
}

// RetryAfter is the answer's header of that name, where it is in seconds; 0 =
// it had none.
func (e *StatusError) RetryAfter() time.Duration { return min(e.wait, longestWait) }
