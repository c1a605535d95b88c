package client

import (
	"bytes"
	"encoding/json"
)

// Terminal reports whether an event ends a stream, as OpenAI-compatible,
// Responses and Anthropic streams end, and those that a gateway had to end with
// an error. Streams of other dialects end by the gateway's word, or by a
// function of the caller.
func Terminal(e Event) bool {
	data := bytes.TrimSpace(e.Data)
	if string(data) == "[DONE]" {
		return true
	}
	if len(data) == 0 || data[0] != '{' {
		return false
	}
	if ends(e.Name) {
		return true
	}
	var body struct {
		Type  string          `json:"type"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &body) != nil {
		return false
	}
	return ends(body.Type) || len(body.Error) > 0 && string(body.Error) != "null"
}

func ends(name string) bool {
	switch name {
	case "message_stop", "error", "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return true
	}
	return false
}

// gapCode is the code of the error event with which a gateway tells a reader
// that eviction overtook it.
const gapCode = "weir_gap"

// gapOf is what an event says of a gap, if that is what it is about. The code
// stands where the stream's dialect has room for it.
func gapOf(e Event) (detail string, ok bool) {
	if !bytes.Contains(e.Data, []byte(`"`+gapCode+`"`)) {
		return "", false
	}
	type says struct {
		Code, Type, Reason, Message any
	}
	var body struct {
		says
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(e.Data, &body) != nil {
		return "", false
	}
	var inner says
	_ = json.Unmarshal(body.Error, &inner) // Ollama's is a text
	for _, s := range []says{inner, body.says} {
		if s.Code == gapCode || s.Type == gapCode || s.Reason == gapCode {
			detail, _ = s.Message.(string)
			return detail, true
		}
	}
	return "", false
}
