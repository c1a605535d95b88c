package dialect

import (
	"net/http"
	"net/url"
	"strings"
)

type chatRequest struct {
	Model               string         `json:"model"`
	Messages            []Message      `json:"messages,omitempty"`
	Prompt              string         `json:"prompt,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// completionRequest is the body of llama.cpp's native /completion.
type completionRequest struct {
	Prompt   string `json:"prompt"`
	NPredict int    `json:"n_predict"`
	Stream   bool   `json:"stream"`
}

// Request asks for a chat completion; a URL that ends in /completions or
// /completion gets the body of that older or native endpoint.
func (openAIChat) Request(a Ask) (*http.Request, error) {
	u, err := a.endpoint("/v1/chat/completions", "/v1")
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(u.Path, "/")
	if strings.HasSuffix(path, "/completion") {
		return a.post(u, completionRequest{a.prompt(), a.maxTokens(), !a.Whole}, acceptSSE, a.bearer())
	}
	body := chatRequest{Model: a.model(), Stream: !a.Whole}
	if strings.HasSuffix(path, "/completions") && !strings.HasSuffix(path, "/chat/completions") {
		body.Prompt = a.prompt()
	} else {
		body.Messages = a.turns()
	}
	if renamedMaxTokens(u) && body.Messages != nil {
		body.MaxCompletionTokens = a.maxTokens()
	} else {
		body.MaxTokens = a.maxTokens()
	}
	if !a.Whole && !a.NoUsage {
		body.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	header := a.bearer()
	if isAzure(u) {
		header = a.keyHeader("Api-Key", "")
	}
	return a.post(u, body, acceptSSE, header)
}

// renamedMaxTokens reports whether the service refuses max_tokens on its newer
// models and wants max_completion_tokens, which others do not know.
func renamedMaxTokens(u *url.URL) bool {
	return u.Hostname() == "api.openai.com" || isAzure(u)
}

func isAzure(u *url.URL) bool {
	h := u.Hostname()
	return strings.HasSuffix(h, ".openai.azure.com") || strings.HasSuffix(h, ".cognitiveservices.azure.com")
}
