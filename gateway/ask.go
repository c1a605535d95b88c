package gateway

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"

	"weir/dialect"
	"weir/stream"
)

// ask is what is read of a request's body. The body itself goes on unchanged.
type ask struct {
	streamed   bool
	usage      bool              // usage was asked for, or comes unasked
	tokens     stream.Maybe[int] // the most output tokens the client wants, of all choices together
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
	N                   *int `json:"n"`
	GenerationConfig    struct {
		MaxOutputTokens *int `json:"maxOutputTokens"`
		CandidateCount  *int `json:"candidateCount"`
	} `json:"generationConfig"` // Gemini's
	Options struct {
		NumPredict *int `json:"num_predict"`
	} `json:"options"` // Ollama's
	Background bool `json:"background"`
}

// most is the most output tokens that the answer may have.
func (b *askBody) most() stream.Maybe[int] {
	most := stream.None[int]()
	for _, n := range []*int{b.MaxTokens, b.MaxCompletionTokens, b.MaxOutputTokens, b.GenerationConfig.MaxOutputTokens, b.Options.NumPredict} {
		if n != nil && *n > 0 && *n <= math.MaxInt32 {
			most = stream.Some(*n)
		}
	}
	one, ok := most.Get()
	for _, n := range []*int{b.N, b.GenerationConfig.CandidateCount} {
		if ok && n != nil && *n > 1 && *n <= 1024 {
			most = stream.Some(one * *n)
		}
	}
	return most
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
	a.tokens = b.most()
	return a
}
