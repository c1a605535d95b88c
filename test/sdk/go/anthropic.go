package main

import (
	"context"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// readAnthropic reads messages with anthropic-sdk-go.
func readAnthropic(ctx context.Context, r request, a *answer) error {
	options := []option.RequestOption{option.WithBaseURL(r.url + "/"), option.WithAPIKey("test"), option.WithMaxRetries(0)}
	for k, v := range r.headers {
		options = append(options, option.WithHeader(k, v))
	}
	client := anthropic.NewClient(options...)
	stream := client.Messages.NewStreaming(ctx, anthropic.MessageNewParams{
		Model: "mock", MaxTokens: 4096,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
	})
	defer stream.Close()
	for stream.Next() {
		if err := takeMessage(stream.Current(), a); err != nil {
			return err
		}
	}
	return stream.Err()
}

func takeMessage(e anthropic.MessageStreamEventUnion, a *answer) error {
	switch e := e.AsAny().(type) {
	case anthropic.MessageStartEvent:
		a.Usage = &usage{Input: e.Message.Usage.InputTokens}
	case anthropic.ContentBlockStartEvent:
		if e.ContentBlock.Type == "tool_use" {
			a.Tools = append(a.Tools, tool{Name: e.ContentBlock.Name})
		}
	case anthropic.ContentBlockDeltaEvent:
		a.Text += e.Delta.Text
		a.Reasoning += e.Delta.Thinking
		if e.Delta.PartialJSON != "" {
			a.Tools[len(a.Tools)-1].Args += e.Delta.PartialJSON
		}
		if e.Delta.Text+e.Delta.Thinking+e.Delta.PartialJSON != "" {
			return a.piece()
		}
	case anthropic.MessageDeltaEvent:
		a.finish(string(e.Delta.StopReason))
		if e.JSON.Usage.Valid() && a.Usage != nil {
			a.Usage.Output = e.Usage.OutputTokens
		}
	}
	return nil
}
