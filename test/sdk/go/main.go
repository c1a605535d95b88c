// Command go reads streams with an official Go SDK and prints, a line of JSON
// for each, what the SDK gave its user: ../driver.mjs in Go, with the same
// command line, output and refusal to judge.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// answer is what the SDK gave. Pieces are items that brought text, reasoning
// or a piece of a tool call.
type answer struct {
	Text      string   `json:"text"`
	Reasoning string   `json:"reasoning"`
	Tools     []tool   `json:"tools"`
	Pieces    int      `json:"pieces"`
	Finish    *string  `json:"finish"`
	Usage     *usage   `json:"usage"`
	Error     *failure `json:"error"`

	leave int // pieces after which the user leaves; 0 = never
}

type tool struct {
	Name string `json:"name"`
	Args string `json:"args"`
}

type usage struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

type failure struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Status  *int   `json:"status"`
}

// errLeft is the user's leaving: a reader that gets it returns it.
var errLeft = errors.New("left")

// piece counts an item that brought something.
func (a *answer) piece() error {
	if a.Pieces++; a.Pieces == a.leave {
		return errLeft
	}
	return nil
}

func (a *answer) finish(reason string) {
	if reason != "" {
		a.Finish = &reason
	}
}

// request is what a reader is asked for.
type request struct {
	url     string
	headers map[string]string
}

// reader reads one answer with one SDK. Its error is what the SDK returned.
type reader func(ctx context.Context, r request, a *answer) error

var readers = map[string]reader{
	"go-openai-1":           readOpenAI1,
	"go-openai-3":           readOpenAI3,
	"go-openai-3-responses": readResponses3,
	"go-openai-3-resumed":   readResumed3,
	"go-anthropic":          readAnthropic,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	leave := 0
	if len(args) > 1 && args[0] == "--leave" {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		leave, args = n, args[2:]
	}
	if len(args) < 3 || readers[args[0]] == nil {
		return fmt.Errorf("usage: [--leave N] DRIVER URL SETTINGS…; drivers: %v", names())
	}
	headers := map[string]string{}
	if h := os.Getenv("HEADERS"); h != "" {
		if err := json.Unmarshal([]byte(h), &headers); err != nil {
			return fmt.Errorf("HEADERS: %w", err)
		}
	}
	out := json.NewEncoder(os.Stdout)
	for _, settings := range args[2:] {
		headers["X-Weir-Mock"] = settings
		if err := out.Encode(read(readers[args[0]], request{args[1], headers}, leave)); err != nil {
			return err
		}
	}
	if leave > 0 { // stay, so that it was the SDK that closed the connection
		_, err := io.Copy(io.Discard, bufio.NewReader(os.Stdin))
		return err
	}
	return nil
}

func names() (list []string) {
	for n := range readers {
		list = append(list, n)
	}
	return list
}

func read(f reader, r request, leave int) *answer {
	a := &answer{Tools: []tool{}, leave: leave}
	if err := f(context.Background(), r, a); err != nil {
		a.Error = &failure{Name: fmt.Sprintf("%T", err), Message: err.Error()}
	}
	return a
}
