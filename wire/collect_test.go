package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// feed decodes the pieces and returns copies of all frames, those of Close
// included, and the first error.
func feed(d Decoder, ps ...[]byte) (frames []Frame, err error) {
	emit := func(f Frame) { frames = append(frames, kept(f)) }
	for _, p := range ps {
		q := bytes.Clone(p) // a piece the decoder must not hold on to
		err = d.Feed(q, emit)
		for i := range q {
			q[i] = '!'
		}
		if err != nil {
			return frames, err
		}
	}
	return frames, d.Close(emit)
}

func kept(f Frame) Frame {
	f.Event, f.Data, f.ID = bytes.Clone(f.Event), bytes.Clone(f.Data), bytes.Clone(f.ID)
	f.Field, f.Raw = bytes.Clone(f.Field), bytes.Clone(f.Raw)
	return f
}

// shown is all of a frame that must not depend on the split, as text.
func shown(frames []Frame) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "%s event=%q data=%q id=%q field=%q raw=%q\n", f.Kind, f.Event, f.Data, f.ID, f.Field, f.Raw)
	}
	return b.String()
}

func decoder(t testing.TB, format string, limit int) Decoder {
	t.Helper()
	d, err := New(format, Options{FrameLimit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// vector is a line of testdata/sse.jsonl; its README tells the fields.
type vector struct {
	Name     string
	Input    string
	InputHex string `json:"input_hex"`
	Expected []struct{ Event, Data, ID string }
	Retry    *int64
	LastID   string `json:"last_event_id"`
}

func (v vector) bytes(t testing.TB) []byte {
	if v.InputHex == "" {
		return []byte(v.Input)
	}
	b, err := hex.DecodeString(v.InputHex)
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	return b
}

func vectors(t testing.TB) []vector {
	t.Helper()
	file, err := os.ReadFile("testdata/sse.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	for line := range bytes.Lines(file) {
		var v vector
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	if len(all) < 100 {
		t.Fatalf("only %d vectors; the file is cut", len(all))
	}
	return all
}
