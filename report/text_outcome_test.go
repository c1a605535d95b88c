package report

import (
	"strings"
	"testing"
	"time"

	"weir/stream"
)

func TestOutcomeText(t *testing.T) {
	long := strings.Repeat("模型服务繁忙 ", 1000)
	for _, c := range []struct {
		r            stream.Record
		want, refuse string
	}{
		{stream.Record{Outcome: stream.Hung, End: stream.Some(4 * time.Second)}, "before any output", "10 s"},
		{stream.Record{Outcome: stream.Hung, End: stream.Some(40 * time.Second)}, "10 s or more of silence", ""},
		{stream.Record{Outcome: stream.Timeout, Reason: "event_limit", Detail: "too many"}, "we stopped reading at our limit; event_limit; too many", "deadline"},
		{stream.Record{Outcome: stream.ErrorEarly, Reason: "in_band", Fault: &stream.Fault{Code: "busy", Message: long}}, "busy; 模型", ""},
	} {
		got := outcomeText(&c.r)
		if !strings.Contains(got, c.want) || c.refuse != "" && strings.Contains(got, c.refuse) {
			t.Errorf("%s: want %q, not %q", got, c.want, c.refuse)
		}
		if n := len([]rune(got)); n > 450 {
			t.Errorf("a page should not bear %d characters of %s", n, c.r.Outcome)
		}
	}
}

// A narrow page has no list of strips three dots wide.
func TestNarrowListHasNoStrip(t *testing.T) {
	s := sessions()["five"]
	s.View.Width = 45
	if text := render(t, s); strings.Contains(text, "arr...") || !strings.Contains(text, "outcome") {
		t.Errorf("%s", text[:min(len(text), 1500)])
	}
}
