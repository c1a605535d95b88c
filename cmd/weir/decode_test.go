package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// decodeLine is a line of weir decode -o json.
type decodeLine struct {
	Frame, Event, Data, ID string
	Retry                  *int64
	LastID                 string `json:"last_event_id"`
	Outcome                *string
}

// The command shows the events of every SSE vector, however the input is cut.
func TestDecodeVectors(t *testing.T) {
	file, err := os.ReadFile("../../wire/testdata/sse.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(file) {
		var v struct {
			Name, Input string
			InputHex    string `json:"input_hex"`
			Expected    []struct{ Event, Data, ID string }
			Retry       *int64
			LastID      string `json:"last_event_id"`
		}
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		if v.InputHex != "" {
			b, _ := hex.DecodeString(v.InputHex)
			v.Input = string(b)
		}
		var want strings.Builder
		for _, e := range v.Expected {
			fmt.Fprintf(&want, "%q %q %q\n", e.Event, e.Data, e.ID)
		}
		fmt.Fprintf(&want, "retry %s last %q", number(v.Retry), v.LastID)
		for _, args := range []string{"", "--split 1", "--split 3", "--format sse"} {
			if got := decoded(t, v.Input, args); got != want.String() {
				t.Errorf("%s, %q: got\n%s\nwant\n%s", v.Name, args, got, &want)
			}
		}
	}
}

func number(n *int64) string {
	if n == nil {
		return "null"
	}
	return fmt.Sprint(*n)
}

// decoded is what the command shows of the dispatched events and the end.
func decoded(t *testing.T, input, args string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(append([]string{"decode", "-o", "json", "--dialect", "none"}, strings.Fields(args)...), strings.NewReader(input), &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	var got strings.Builder
	for line := range bytes.Lines(out.Bytes()) {
		var l decodeLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		switch l.Frame {
		case "event":
			fmt.Fprintf(&got, "%q %q %q\n", l.Event, l.Data, l.ID)
		case "end":
			fmt.Fprintf(&got, "retry %s last %q", number(l.Retry), l.LastID)
		}
	}
	return got.String()
}

// An interrupt shows what came and says that the answer was cancelled.
func TestDecodeInterrupted(t *testing.T) {
	f := decodeFlags{dialect: "auto", limit: 1 << 20, output: "json"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &until{text: `"text":"Hi"`, then: cancel}
	d, err := f.decoding(out)
	if err != nil {
		t.Fatal(err)
	}
	in, feed := io.Pipe()
	defer func() { _ = feed.Close() }()
	go func() {
		_, _ = io.WriteString(feed, `data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}`+"\n\n")
	}()
	if err := d.run(ctx, in); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); !strings.Contains(s, `"outcome":"cancelled"`) {
		t.Error(s)
	}
}

// until is a buffer that calls then once the text was written.
type until struct {
	bytes.Buffer
	text string
	then func()
}

func (u *until) Write(p []byte) (int, error) {
	n, err := u.Buffer.Write(p)
	if strings.Contains(u.String(), u.text) {
		u.then()
	}
	return n, err
}

// A failing input shows what came before and is an error.
func TestDecodeBrokenInput(t *testing.T) {
	in := io.MultiReader(strings.NewReader("data: x\n\n"), failing{})
	var out, errs bytes.Buffer
	code := run([]string{"decode", "--dialect", "none"}, in, &out, &errs)
	if code != exitFailed || !strings.Contains(errs.String(), "ended early: disk on fire") || !strings.Contains(out.String(), `"x"`) {
		t.Errorf("exit code %d\n%s%s", code, &out, &errs)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, fmt.Errorf("disk on fire") }
