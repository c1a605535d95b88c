package report

import (
	"strings"
	"testing"
	"time"

	"weir/metric"
	"weir/stream"
)

func TestStrip(t *testing.T) {
	even := newAnswer(0, "warm").text(1000*ms, 10*ms, 100, "a").end(2000*ms, stream.Complete).r
	slow := newAnswer(0, "warm").text(0, 900*ms, 3, "a").end(2000*ms, stream.Complete).r
	cut := newAnswer(0, "warm").text(0, 10*ms, 10, "a").text(900*ms, 10*ms, 10, "a").end(1100*ms, stream.Truncated).r
	flush := newAnswer(0, "warm").at(500*ms, text("a"), text("b"), text("c"), text("d"), text("e")).at(900*ms, text("z")).
		end(1000*ms, stream.Complete).r
	silent := newAnswer(0, "warm").at(10*ms, role()).end(1000*ms, stream.Hung).r
	thinking := newAnswer(0, "warm").at(0, stream.Event{Kind: stream.KindReasoning}).text(500*ms, 10*ms, 40, "a").end(1000*ms, stream.Complete).r
	whole := newAnswer(0, "warm").at(1000*ms, text("all")).end(1000*ms, stream.Complete).r
	whole.Whole = true
	log := article().Requests[0][0]
	for _, c := range []struct {
		name string
		r    *stream.Record
		span time.Duration
		want string
	}{
		{"an even stream", even, 0, "|..........##########|"},
		{"on a wider scale", even, 4000 * ms, "|.....#####          |"},
		{"gaps a reader sees", slow, 0, "|#........#........#.|"},
		{"cut", cut, 0, "|##..............##+x|"},
		{"cut, wider", cut, 2200 * ms, "|#.......#x          |"},
		{"one flush and a little more", flush, 0, "|..........#.......+.|"},
		{"never spoke", silent, 0, "|...................x|"},
		{"thinking first", thinking, 0, "|~.........########..|"},
		{"whole", whole, 0, "|...................#|"},
		{"no outcome", log, 0, "|.................#.#|"},
		{"never sent", &stream.Record{Outcome: stream.Dropped}, time.Second, "|x                   |"},
	} {
		if got := Strip(c.r, 20, c.span); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestStripOfOddRecords(t *testing.T) {
	r := &stream.Record{Events: []stream.Event{{Kind: stream.KindText, At: -time.Second, Arrival: 9}, {Kind: stream.KindText, At: time.Hour}}}
	for _, cols := range []int{-1, 0, 1, 7} {
		if s := Strip(r, cols, time.Second); len(s) != max(cols, 1)+2 {
			t.Errorf("%d columns: %q", cols, s)
		}
	}
}

func TestWaterfallIsToScale(t *testing.T) {
	r := healthy(0, "cold", 0)
	lanes := Waterfall(r, metric.Measure(r), 50, 0)
	var names []string
	for _, l := range lanes {
		names = append(names, l.Name)
		if len(l.Bar) != 50 {
			t.Errorf("%s: bar of %d columns", l.Name, len(l.Bar))
		}
	}
	if got := strings.Join(names, " "); got != "dns connect tls wait first event first text stream done" {
		t.Errorf("lanes: %s", got)
	}
	for _, l := range lanes {
		end := strings.LastIndexAny(l.Bar, "=|")
		want := int(float64(l.To) / float64(Length(r)) * 50)
		if d := end - want; d < -1 || d > 1 {
			t.Errorf("%s ends in column %d, want %d", l.Name, end, want)
		}
	}
}
