package gateway

import (
	"encoding/json"
	"testing"
	"time"

	"weir/stream"
)

// What a worker does not know of a request's past is missing in what it makes
// of it, and never 0.
func TestPastThatIsNotKnown(t *testing.T) {
	some, none := stream.Some(time.Second), stream.None[time.Duration]()
	whole := &past{some, some, some, some}
	for name, c := range map[string]struct {
		x               exchange
		headers, waited stream.Maybe[time.Duration]
	}{
		"one process":        {exchange{queue: some}, some, some},
		"a worker":           {exchange{task: &run{}, queue: some, past: whole}, stream.Some(3 * time.Second), stream.Some(2 * time.Second)},
		"no clock of Redis'": {exchange{task: &run{}, queue: none, past: whole}, none, none},
		"an older edge":      {exchange{task: &run{}, queue: some}, none, some},
	} {
		if got := c.x.sinceAsked(some); got != c.headers {
			t.Errorf("%s: %v after the client asked, want %v", name, got, c.headers)
		}
		if got := c.x.waited(); got != c.waited {
			t.Errorf("%s: waited %v, want %v", name, got, c.waited)
		}
	}
	b, err := json.Marshal(past{Auth: some})
	var again past
	if err == nil {
		err = json.Unmarshal(b, &again)
	}
	if err != nil || again.Auth != some || again.Sent.Known() {
		t.Errorf("%s became %+v, %v", b, again, err)
	}
}

// Nothing that a worker says was after the edge heard it.
func TestPhasesAreHeard(t *testing.T) {
	s := &session{x: &exchange{start: time.Now().Add(-time.Second)}}
	s.hear(&headPhases{Queue: stream.Some(time.Millisecond), Headers: stream.Some(500 * time.Millisecond), Output: stream.Some(time.Hour)})
	if s.seen.worker != stream.Some(time.Millisecond) || s.seen.headers != stream.Some(500*time.Millisecond) || s.seen.connect.Known() {
		t.Errorf("%+v", s.seen)
	}
	if v, _ := s.seen.output.Get(); v < time.Second || v > time.Minute {
		t.Errorf("the first output after %s", v)
	}
	s.hear(nil)
	if !s.seen.worker.Known() {
		t.Error("a head without phases took them away")
	}
}
