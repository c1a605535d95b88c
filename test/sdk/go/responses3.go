package main

import (
	"context"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// readResponses3 reads responses with openai-go 3.x.
func readResponses3(ctx context.Context, r request, a *answer) error {
	options := []option.RequestOption{option.WithBaseURL(r.url + "/v1/"), option.WithAPIKey("test"), option.WithMaxRetries(0)}
	for k, v := range r.headers {
		options = append(options, option.WithHeader(k, v))
	}
	client := openai.NewClient(options...)
	stream := client.Responses.NewStreaming(ctx, responses.ResponseNewParams{
		Model: "mock", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hello")},
	})
	defer stream.Close()
	for stream.Next() {
		if err := takeResponse(stream.Current(), a); err != nil {
			return err
		}
	}
	return worded(stream.Err())
}

// readResumed3 is the SDK's own way to go on with an answer: it leaves the stream
// after three pieces, and gets the rest by the number of the last event.
func readResumed3(ctx context.Context, r request, a *answer) error {
	options := []option.RequestOption{option.WithBaseURL(r.url + "/v1/"), option.WithAPIKey("test"), option.WithMaxRetries(0)}
	for k, v := range r.headers {
		options = append(options, option.WithHeader(k, v))
	}
	client := openai.NewClient(options...)
	first := client.Responses.NewStreaming(ctx, responses.ResponseNewParams{
		Model: "mock", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hello")},
	})
	id, last := "", int64(0)
	for first.Next() {
		e := first.Current()
		if e.Type == "response.created" {
			id = e.Response.ID
		}
		last = e.SequenceNumber
		if err := takeResponse(e, a); err != nil {
			return err
		}
		if a.Pieces == 3 {
			break
		}
	}
	if err := errors.Join(first.Err(), first.Close()); err != nil {
		return err
	}
	rest := client.Responses.GetStreaming(ctx, id, responses.ResponseGetParams{StartingAfter: openai.Int(last)})
	defer rest.Close()
	for rest.Next() {
		if err := takeResponse(rest.Current(), a); err != nil {
			return err
		}
	}
	return worded(rest.Err())
}

func takeResponse(e responses.ResponseStreamEventUnion, a *answer) error {
	switch e.Type {
	case "error": // handed out as an event, not returned
		return errors.New(e.Message)
	case "response.output_text.delta":
		a.Text += e.Delta
		return a.piece()
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		a.Reasoning += e.Delta
		return a.piece()
	case "response.output_item.added":
		if e.Item.Type == "function_call" {
			a.Tools = append(a.Tools, tool{Name: e.Item.Name})
		}
	case "response.function_call_arguments.delta":
		a.Tools[len(a.Tools)-1].Args += e.Delta
		return a.piece()
	case "response.completed", "response.incomplete", "response.failed":
		a.finish(string(e.Response.Status))
		if e.Response.JSON.Usage.Valid() {
			a.Usage = &usage{e.Response.Usage.InputTokens, e.Response.Usage.OutputTokens}
		}
		if m := e.Response.Error.Message; m != "" {
			return errors.New(m)
		}
	}
	return nil
}
