// Command resume asks a model through weir gateway and prints the answer as it
// comes. Where the connection breaks it goes on by itself: no piece twice, none
// missing.
//
//	go run ./examples/resume http://127.0.0.1:8080 "Where is my parcel?"
//
// The key, where there is one, is in API_KEY. It refuses to print half an
// answer as if it were whole: what is missing at the end is an error.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"time"

	"weir/client"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: resume GATEWAY-URL QUESTION")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := ask(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "resume:", err)
		os.Exit(1) //nolint:gocritic // stop only gives a signal back
	}
}

func ask(ctx context.Context, gateway, question string) error {
	body, err := json.Marshal(map[string]any{
		"model": "m", "stream": true,
		"messages": []map[string]string{{"role": "user", "content": question}},
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, gateway+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if key := os.Getenv("API_KEY"); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	o := client.Options{
		Silence: time.Minute, // the gateway's heartbeats come more often
		Retrying: func(r client.Reconnect) {
			fmt.Fprintf(os.Stderr, "try %d in %s: %v\n", r.Try, r.Wait.Round(time.Millisecond), r.Err)
		},
	}
	for event, err := range client.Do(req, o) {
		if err != nil {
			return err // errors.Is(err, client.ErrGap): the events before it were all there
		}
		text, err := textOf(event.Data)
		if err != nil {
			return err
		}
		fmt.Print(text)
	}
	fmt.Println()
	return nil
}

// textOf is the text that an event of /v1/chat/completions brings. A failure
// in the stream is an event too: its last.
func textOf(data []byte) (string, error) {
	if bytes.Equal(data, []byte("[DONE]")) {
		return "", nil
	}
	var chunk struct {
		Choices []struct{ Delta struct{ Content string } }
		Error   *struct{ Message string }
	}
	switch err := json.Unmarshal(data, &chunk); {
	case err != nil:
		return "", fmt.Errorf("an event that is no JSON: %w", err)
	case chunk.Error != nil:
		return "", errors.New(chunk.Error.Message)
	case len(chunk.Choices) == 0:
		return "", nil // usage alone
	}
	return chunk.Choices[0].Delta.Content, nil
}
