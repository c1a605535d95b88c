package diagnose

import (
	"strings"
	"testing"
	"time"

	"weir/stream"
)

// texts are the statements of one record's findings by their code.
func texts(r *stream.Record) map[string]Finding {
	out := map[string]Finding{}
	for _, f := range Diagnose([]*stream.Record{r}) {
		out[f.Code] = f
	}
	return out
}

// A deadline below 10 s cannot have seen 10 s of silence, and must not say so.
func TestAShortDeadlineSaysNoTenSeconds(t *testing.T) {
	if got := texts(cut(stream.Hung, 0, 4000))["hung"].Text; !strings.HasPrefix(got, "no output at all when our deadline of 4.00 s came") {
		t.Errorf("%s", got)
	}
	if got := texts(cut(stream.Hung, 0, 30_000))["hung"].Text; !strings.HasPrefix(got, "no output at all when our deadline of 30.00 s came") {
		t.Errorf("%s", got)
	}
	if got := texts(cut(stream.Hung, 20, 30_000))["hung"].Text; !strings.HasPrefix(got, "no output for the last 10 s or more") {
		t.Errorf("%s", got)
	}
}

// Where weir stopped reading no deadline came.
func TestOurLimitIsNoDeadline(t *testing.T) {
	r := cut(stream.Timeout, 20, 1500)
	r.Reason, r.Detail, r.Truncated = "event_limit", "too many events: more than 20", true
	got := texts(r)
	if _, ok := got["timeout"]; ok {
		t.Error("a limit was reported as a deadline")
	}
	if f := got["body_not_kept"]; f.Severity != Problem || !strings.Contains(f.Text, "stopped reading at its limit (in the one answer): too many events") {
		t.Errorf("%+v", f)
	}
}

func TestOneEventWas(t *testing.T) {
	r := plain(20, 1000)
	put(r, 900, stream.Event{Kind: stream.KindOther, Note: "strange"})
	if got := texts(r)["other_events"].Text; !strings.HasPrefix(got, "1 event was not recognised") {
		t.Errorf("%s", got)
	}
	put(r, 950, stream.Event{Kind: stream.KindOther, Note: "strange"})
	if got := texts(r)["other_events"].Text; !strings.HasPrefix(got, "2 events were not recognised") {
		t.Errorf("%s", got)
	}
}

func TestWhereAnErrorStood(t *testing.T) {
	r := cut(stream.ErrorEarly, 0, 100)
	r.Reason, r.Fault = "in_band", &stream.Fault{Message: "no"}
	if got := texts(r)["in_band_error"].Text; !strings.HasPrefix(got, "an error stood in the stream before any output") {
		t.Errorf("%s", got)
	}
	r.Whole = true
	if got := texts(r)["in_band_error"].Text; !strings.HasPrefix(got, "an error came instead of a stream") {
		t.Errorf("%s", got)
	}
}

func TestClosedBeforeAnyResponse(t *testing.T) {
	r := cut(stream.Reset, 0, 100)
	r.Facts.Status = 0
	if got := texts(r)["reset"].Text; !strings.HasPrefix(got, "the connection was closed before any response") {
		t.Errorf("%s", got)
	}
	if got := texts(cut(stream.Reset, 5, 100))["reset"].Text; !strings.HasPrefix(got, "the connection broke in the middle") {
		t.Errorf("%s", got)
	}
}

// A stage that the service states, and that took most of the wait, excludes the
// guesses about it.
func TestAStatedStageIsTheCause(t *testing.T) {
	r := plain(200, 2000)
	first(r, 1500, stream.Event{Kind: stream.KindStage, Name: "search", Took: stream.Some(1200 * time.Millisecond)})
	f := texts(r)["first_event_early"]
	if len(f.Means) != 1 || !strings.HasPrefix(f.Means[0], "stage search: the service was at work on it (1.20 s") {
		t.Errorf("means %q", f.Means)
	}
}

func TestSilentAtOurDeadline(t *testing.T) {
	if got := texts(cut(stream.Timeout, 20, 5000))["timeout"]; !strings.HasPrefix(got.Text, "not ended, and silent for 4.42 s, when our deadline of 5.00 s came") || len(got.Means) != 3 {
		t.Errorf("%+v", got)
	}
	if got := texts(cut(stream.Timeout, 20, 600))["timeout"]; !strings.HasPrefix(got.Text, "still speaking") || len(got.Means) != 1 {
		t.Errorf("%+v", got)
	}
}
