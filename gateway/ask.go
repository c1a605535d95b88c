package gateway

import (
	"encoding/json"
	"net/http"
	"strings"

	"weir/dialect"
	"weir/stream"
)

// ask is what is read of a request's body. The body itself goes on unchanged.
type ask struct {
	streamed   bool
	usage      bool              // usage was asked for, or comes unasked
	tokens     stream.Maybe[int] // the most output tokens the client wants
	background bool              // OpenAI Responses: the service itself keeps the answer
}

// body is the keys that any dialect may have at the top of its request.
type askBody struct {
	Stream        *bool  `json:"stream"`
	ResponseMode  string `json:"response_mode"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           *int `json:"max_tokens"`
	MaxCompletionTokens *int `json:"max_completion_tokens"`
	MaxOutputTokens     *int `json:"max_output_tokens"`
	Background          bool `json:"background"`
}

// readAsk reads what a request asks for. A body that is no JSON asks for no
// stream as far as can be seen; the answer's content type decides in the end.
func readAsk(r *http.Request, body []byte, d dialect.Dialect) ask {
	var a ask
	var b askBody
	_ = json.Unmarshal(body, &b) // what cannot be read is left as it is
	a.background = b.Background
	a.streamed = b.Stream != nil && *b.Stream || b.ResponseMode == "streaming" ||
		strings.Contains(r.URL.Path, ":streamGenerateContent")
	a.usage = b.StreamOptions.IncludeUsage
	if d != nil {
		switch d.Name() {
		case "ollama":
			a.streamed = r.Method == http.MethodPost && (b.Stream == nil || *b.Stream)
		case "openai.chat":
		default:
			a.usage = true
		}
	}
	for _, n := range []*int{b.MaxTokens, b.MaxCompletionTokens, b.MaxOutputTokens} {
		if n != nil && *n > 0 {
			a.tokens = stream.Some(*n)
		}
	}
	return a
}
