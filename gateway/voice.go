package gateway

import (
	"encoding/json"
	"net/http"

	"weir/dialect"
	"weir/stream"
)

// voice is how the gateway itself speaks in a client's dialect, in forms that
// the dialect's SDKs were seen to read as meant (docs/gateway-faults.md).
type voice struct {
	name  string
	known bool // the dialect is known, not assumed: a missing end is then a cut
}

func voiceOf(d dialect.Dialect) voice {
	if d == nil {
		return voice{name: "unknown"}
	}
	return voice{d.Name(), true}
}

// contentType is that of a stream which begins before the upstream's answer.
func (v voice) contentType() string {
	if v.name == "ollama" {
		return "application/x-ndjson"
	}
	return "text/event-stream"
}

// heartbeat is what says "still here" between events; nil where nothing can be
// said that every client ignores.
func (v voice) heartbeat(format string) []byte {
	if format != "sse" {
		return nil // an NDJSON client parses every line, a JSON array has no room
	}
	switch v.name {
	case "anthropic":
		return []byte("event: ping\ndata: {\"type\":\"ping\"}\n\n")
	case "openai.chat", "openai.responses", "unknown":
		return []byte(": hb\n") // a blank line would make openai-go 1.x and openai-python fail
	case "dify":
		return []byte("event: ping\n\n")
	}
	return []byte(": hb\n\n") // without the blank line @google/genai loses the next event
}

// done completes an answer whose finish reason was seen but not its terminal
// event; nil where nothing is missing.
func (v voice) done(format string) []byte {
	if format != "sse" {
		return nil
	}
	switch v.name {
	case "openai.chat":
		return []byte("data: [DONE]\n\n")
	case "anthropic":
		return []byte("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	}
	return nil
}

// endsThere reports whether nothing can follow the dialect's terminal event.
// Dify speaks its answer after message_end; of a custom dialect nobody knows.
func (v voice) endsThere() bool {
	switch v.name {
	case "openai.chat", "openai.responses", "anthropic", "ollama":
		return true
	}
	return false
}

type errorObject struct {
	Message string  `json:"message"`
	Type    string  `json:"type,omitempty"`
	Code    any     `json:"code,omitempty"`
	Param   *string `json:"param,omitempty"`
	Status  any     `json:"status,omitempty"`
	Reason  string  `json:"reason"`
	errorDetails
}

// errorDetails are what every error says to programs, in any dialect.
type errorDetails struct {
	Retryable bool   `json:"retryable"`
	RequestID string `json:"request_id"`
	RetryMs   int64  `json:"retry_after_ms,omitempty"` // when to ask again, or to resume
	*sentSoFar
}

// sentSoFar is what a stream brought before the error that ends it.
type sentSoFar struct {
	Events int `json:"events_sent"` // output events; heartbeats and the like are none
	Usage  any `json:"usage"`       // usageTold, or "unknown"
}

// usageTold is what the service said of its tokens before the stream broke; a
// count that it did not state is absent.
type usageTold struct {
	Input  stream.Maybe[int] `json:"input_tokens,omitzero"`
	Output stream.Maybe[int] `json:"output_tokens,omitzero"`
}

func sent(events int, u *stream.Usage) *sentSoFar {
	if u == nil {
		return &sentSoFar{events, "unknown"}
	}
	told := usageTold{u.Input, u.Output}
	if u.Seed { // an opening value, not a count of what came
		told.Output = stream.None[int]()
	}
	return &sentSoFar{events, told}
}

func (f *failure) object() errorObject {
	return errorObject{Message: f.text, Reason: f.reason, errorDetails: f.details()}
}

func (f *failure) details() errorDetails {
	return errorDetails{f.retryable, f.requestID, f.after.Milliseconds(), f.sent}
}

// errorValue is the JSON value that states a failure. seq is the number of the
// event, where the dialect numbers its events.
func (v voice) errorValue(f *failure, seq int64) any {
	e := f.object()
	switch v.name {
	case "anthropic":
		e.Type = anthropicType(f.status)
		return struct {
			Type      string      `json:"type"`
			Error     errorObject `json:"error"`
			RequestID string      `json:"request_id"`
		}{"error", e, f.requestID}
	case "gemini":
		e.Code, e.Status = inRange(f.status), geminiStatus(f.status)
		return map[string]any{"error": e}
	case "openai.responses":
		e.Type, e.Code = openAIType(f.status), f.reason
		return struct {
			Type    string      `json:"type"`
			Seq     int64       `json:"sequence_number"`
			Code    string      `json:"code"`
			Message string      `json:"message"`
			Param   *string     `json:"param"`
			Error   errorObject `json:"error"`
		}{"error", seq, f.reason, f.text, nil, e}
	case "dify":
		return struct {
			Event   string `json:"event"`
			Status  int    `json:"status"`
			Code    string `json:"code"`
			Message string `json:"message"`
			errorDetails
		}{"error", inRange(f.status), f.reason, f.text, f.details()}
	case "ollama":
		return struct {
			Error  string `json:"error"`
			Reason string `json:"reason"`
			errorDetails
		}{f.text, f.reason, f.details()}
	case "openai.chat", "unknown":
		e.Type, e.Code = openAIType(f.status), f.reason
		return map[string]any{"error": e}
	}
	e.Type, e.Code = openAIType(f.status), f.reason
	return struct {
		Code      string      `json:"code"`
		Message   string      `json:"message"`
		Retryable bool        `json:"retryable"`
		RequestID string      `json:"request_id"`
		Error     errorObject `json:"error"`
	}{f.reason, f.text, f.retryable, f.requestID, e}
}

// terminal is the error frame that ends a stream. some says that events went
// before it, which a JSON array must know.
func (v voice) terminal(format string, f *failure, seq int64, some bool) []byte {
	data, err := json.Marshal(v.errorValue(f, seq))
	if err != nil { // strings, numbers and booleans: it cannot be
		return nil
	}
	switch format {
	case "ndjson":
		return append(data, '\n')
	case "json-array":
		open := "["
		if some {
			open = ","
		}
		return append(append([]byte(open), data...), "]\n"...)
	case "sse":
	default:
		return nil
	}
	frame := make([]byte, 0, len(data)+32)
	switch v.name {
	case "openai.chat", "gemini", "dify": // an event line would hide it from @google/genai
	default:
		frame = append(frame, "event: error\n"...)
	}
	frame = append(frame, "data: "...)
	return append(append(frame, data...), "\n\n"...)
}

// body is the failure as an HTTP answer.
func (v voice) body(f *failure) (contentType string, body []byte) {
	b, err := json.Marshal(v.errorValue(f, 0))
	if err != nil { // strings, numbers and booleans: it cannot be
		return "text/plain", []byte(f.reason)
	}
	return "application/json", append(b, '\n')
}

// stated is an event that states an error as the body of an HTTP answer: the
// same bytes, save where a client looks for error and the event has it deeper.
func (v voice) stated(fault *stream.Fault, event []byte) []byte {
	if v.name != "openai.responses" {
		return event
	}
	b, err := json.Marshal(map[string]any{"error": map[string]any{
		"message": fault.Message, "type": openAIType(codeStatus(fault.Code)), "code": fault.Code, "param": nil}})
	if err != nil { // strings: it cannot be
		return event
	}
	return b
}

// meta is the opt-in event with what the gateway knows at the first output.
func (v voice) meta(format string, fields any) []byte {
	if format != "sse" || v.name == "gemini" {
		return nil
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return append(append([]byte("event: meta\ndata: "), data...), "\n\n"...)
}

func inRange(status int) int {
	if status < 400 || status > 599 {
		return http.StatusInternalServerError
	}
	return status
}

func anthropicType(status int) string {
	switch status {
	case 400:
		return "invalid_request_error"
	case 401:
		return "authentication_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 503, 529:
		return "overloaded_error"
	case 504:
		return "timeout_error"
	}
	return "api_error"
}

func openAIType(status int) string {
	switch {
	case status == 401:
		return "authentication_error"
	case status == 429:
		return "rate_limit_error"
	case status >= 400 && status < 500:
		return "invalid_request_error"
	}
	return "server_error"
}

// geminiStatus is the google.rpc.Code of an HTTP status.
func geminiStatus(status int) string {
	switch status {
	case 400, 413:
		return "INVALID_ARGUMENT"
	case 401:
		return "UNAUTHENTICATED"
	case 403:
		return "PERMISSION_DENIED"
	case 404:
		return "NOT_FOUND"
	case 429:
		return "RESOURCE_EXHAUSTED"
	case 499:
		return "CANCELLED"
	case 504:
		return "DEADLINE_EXCEEDED"
	}
	return "UNAVAILABLE"
}
