package tap

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/stream"
)

func delta(choice int) string {
	return fmt.Sprintf(`data: {"choices":[{"index":%d,"delta":{"content":"w"}}]}`+"\n\n", choice)
}

// The limit is on what records would hold: events of the whole response are
// copied to every answer.
func TestEventLimit(t *testing.T) {
	for _, c := range []struct {
		name            string
		body            string
		events, answers int
	}{
		{"one answer", strings.Repeat(delta(0), 500), 100, 1},
		{"heartbeats", strings.Repeat(": ping\n\n", 500), 100, 1},
		{"an answer an event", func() string {
			var b strings.Builder
			for i := range 500 {
				b.WriteString(delta(i))
			}
			return b.String()
		}(), 10, 10},
		{"all in one frame", `data: {"choices":[` + strings.Repeat(`{"index":0,"delta":{"content":"w"}},`, 500) +
			`{"index":0,"delta":{"content":"w"}}]}` + "\n\n", 100, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := sse()
			o.EventLimit = 100
			tp := New(o)
			n := tp.Read(stream.Read{At: ms, App: ms, Bytes: len(c.body), Waited: true})
			err := tp.Feed([]byte(c.body), n)
			if !errors.Is(err, ErrTooManyEvents) || tp.Err() != nil {
				t.Fatalf("feed: %v; fault of our own: %v", err, tp.Err())
			}
			records := tp.Close(stream.Record{RequestID: "r", Stamp: stream.StampSocket}, stream.Closing{At: 2 * ms, How: stream.OurDeadline})
			if len(tp.Events()) != c.events || len(records) != c.answers {
				t.Errorf("%d events in %d answers, want %d in %d", len(tp.Events()), len(records), c.events, c.answers)
			}
		})
	}
}

// An answer of the usual kind is far below the limit, and a tap that reached it
// drops what comes after instead of growing.
func TestEventLimitHolds(t *testing.T) {
	o := sse()
	o.EventLimit = 10
	tp := New(o)
	for i := range 1000 {
		at := time.Duration(i) * ms
		err := tp.Feed([]byte(delta(0)), tp.Read(stream.Read{At: at, App: at, Bytes: 60, Waited: true}))
		if (err != nil) != (i >= 10) {
			t.Fatalf("event %d: %v", i+1, err)
		}
	}
	if len(tp.Events()) != 10 {
		t.Errorf("%d events kept, want 10", len(tp.Events()))
	}
}
