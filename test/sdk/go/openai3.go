package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// readOpenAI3 reads chat completions with openai-go 3.x.
func readOpenAI3(ctx context.Context, r request, a *answer) error {
	options := []option.RequestOption{option.WithBaseURL(r.url + "/v1/"), option.WithAPIKey("test"), option.WithMaxRetries(0)}
	for k, v := range r.headers {
		options = append(options, option.WithHeader(k, v))
	}
	client := openai.NewClient(options...)
	stream := client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
		Model:         "mock",
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	})
	defer stream.Close()
	for stream.Next() {
		c := stream.Current()
		if c.JSON.Usage.Valid() {
			a.Usage = &usage{c.Usage.PromptTokens, c.Usage.CompletionTokens}
		}
		if len(c.Choices) == 0 {
			continue
		}
		d := c.Choices[0].Delta
		a.finish(c.Choices[0].FinishReason)
		for _, t := range d.ToolCalls {
			for int(t.Index) >= len(a.Tools) {
				a.Tools = append(a.Tools, tool{})
			}
			a.Tools[t.Index].Name += t.Function.Name
			a.Tools[t.Index].Args += t.Function.Arguments
		}
		if a.Text += d.Content; d.Content != "" || len(d.ToolCalls) > 0 {
			if err := a.piece(); err != nil {
				return err
			}
		}
	}
	return worded(stream.Err())
}

// worded adds what the service said: this SDK keeps it out of the error's text.
func worded(err error) error {
	var e *openai.Error
	if errors.As(err, &e) {
		return fmt.Errorf("%w: %s", err, e.Message)
	}
	return err
}
