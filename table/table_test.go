package table

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/stat"
	"weir/stream"
)

// record is one answer: ttft in ms (0 = never spoke), then 9 more tokens.
func record(id, conn string, o stream.Outcome, ttft int) *stream.Record {
	r := &stream.Record{
		RequestID: id, Conn: conn, Outcome: o, Choices: 1, Streamed: true,
		Labels: map[string]string{"scenario": "chat", "region": "eu"},
		End:    stream.Some(5 * time.Second),
	}
	if ttft == 0 {
		return r
	}
	for i := range 10 {
		at := time.Duration(ttft+20*i) * time.Millisecond
		r.Arrivals = append(r.Arrivals, stream.Arrival{At: at, Bytes: 100})
		r.Events = append(r.Events, stream.Event{Kind: stream.KindText, At: at, Arrival: i + 1, Tokens: stream.Some(1)})
	}
	return r
}

func mixed() []*stream.Record {
	return []*stream.Record{
		record("a", "cold", stream.Complete, 300), record("b", "warm", stream.Complete, 100), record("c", "warm", stream.Complete, 200),
		record("d", "warm", stream.Reset, 0), record("e", "warm", stream.Truncated, 150), record("f", "warm", stream.Hung, 0),
	}
}

func TestGroupBy(t *testing.T) {
	groups, err := GroupBy(Rows(mixed()), "conn", "scenario")
	if err != nil || len(groups) != 2 {
		t.Fatalf("%v %v", groups, err)
	}
	if g := groups[0]; g.Value("conn") != "cold" || g.Value("scenario") != "chat" || len(g.Rows) != 1 || len(groups[1].Rows) != 5 {
		t.Errorf("%+v", groups)
	}
	all, err := GroupBy(Rows(mixed()))
	if err != nil || len(all) != 1 || len(all[0].Rows) != 6 || all[0].Value("conn") != "" {
		t.Errorf("without fields: %d groups, %v", len(all), err)
	}
	if _, err := GroupBy(Rows(mixed()), "colour"); err == nil || !strings.Contains(err.Error(), "scenario") {
		t.Errorf("an unknown field gave %v", err)
	}
	if g, err := GroupBy(nil, "conn"); err != nil || len(g) != 0 {
		t.Errorf("of nothing: %v %v", g, err)
	}
}

func TestWhere(t *testing.T) {
	ids := func(filters ...Filter) string {
		rows, err := Where(Rows(mixed()), filters...)
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, r := range rows {
			out = append(out, r.Request)
		}
		return strings.Join(out, "")
	}
	for _, c := range []struct {
		filters []Filter
		want    string
	}{
		{nil, "abcdef"},
		{[]Filter{{Field: "conn", Value: "warm"}, {Field: "outcome", Value: "complete"}}, "bc"},
		{[]Filter{{Field: "outcome", Value: "complete", Not: true}}, "def"},
		{[]Filter{{Field: "label.region", Value: "eu"}}, "abcdef"},
		{[]Filter{{Field: "label.none", Value: ""}}, "abcdef"},
		{[]Filter{{Field: "stream", Value: "off"}}, ""},
	} {
		if got := ids(c.filters...); got != c.want {
			t.Errorf("%v: %s, want %s", c.filters, got, c.want)
		}
	}
	if got := ids(Filter{Field: "label."}); !strings.Contains(got, "no field") {
		t.Errorf("%s", got)
	}
}

func TestSummaryPopulations(t *testing.T) {
	groups, _ := GroupBy(Rows(mixed()), "conn")
	warm := groups[1]
	lines := Summarize(warm, "ttft", "rate_e2e", "gap_p50", "complete")
	ttft, rate, gap := lines[0], lines[1], lines[2]
	// 100, 150, 200 reached; one over 5000; one never
	if ttft.N != 5 || ttft.Reached != 3 || ttft.Over != 1 || ttft.Never != 1 || ttft.P50.V != 200 || ttft.P50.Is != stat.Exact {
		t.Errorf("ttft %+v", ttft.Summary)
	}
	if ttft.Min.V != 100 || ttft.Max.Is != stat.IsNever || ttft.P95.Is != stat.NotGiven {
		t.Errorf("ttft %+v", ttft.Summary)
	}
	if rate.N != 2 || rate.LeftOut != 1 { // the truncated answer has a rate, but did not end
		t.Errorf("rate: n %d, left out %d", rate.N, rate.LeftOut)
	}
	if gap.N != 3 || gap.P50.V != 20 { // every stream that spoke
		t.Errorf("gap: %+v", gap.Summary)
	}
	only := CompleteOnly(warm, "ttft")[0]
	if only.N != 2 || only.Never != 0 || len(only.Values) != 2 {
		t.Errorf("complete only: %+v", only.Summary)
	}
}

func TestSummaryOfAll(t *testing.T) {
	records := mixed()
	records[1].Events[3].Marks = []string{"handoff"}
	records[1].Marks = []string{"handoff"}
	records[2].Marks = []string{"handoff"}
	lines := Summarize(Group{Rows: Rows(records)})
	var names []string
	for _, l := range lines {
		names = append(names, l.Metric.Name)
		if l.N == 0 {
			t.Errorf("%s has no values", l.Metric.Name)
		}
	}
	for _, name := range []string{"ttft", "gap_p95", "stall_rate", "mark.handoff"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not in %v", name, names)
		}
	}
	for _, name := range []string{"first_reasoning", "first_tool", "queue", "dns", "useful"} {
		if slices.Contains(names, name) {
			t.Errorf("%s is summarised, but no row reached it", name)
		}
	}
	if names[0] != "ttft" || names[len(names)-1] != "mark.handoff" {
		t.Errorf("order %v", names)
	}
	if h := lines[len(lines)-1]; h.N != 2 || h.Reached != 1 || h.Never != 1 {
		t.Errorf("handoff: %+v", h.Summary)
	}
}

func TestFields(t *testing.T) {
	var records []*stream.Record
	for i := range 80 {
		records = append(records, record(fmt.Sprint(i), "warm", stream.Complete, 101+i))
	}
	groups, _ := GroupBy(Rows(records), "conn")
	f := Summarize(groups[0], "ttft")[0].Fields()
	for key, want := range map[string]any{
		"conn": "warm", "metric": "ttft", "unit": "ms", "n": 80, "reached": 80, "min": 101.0, "max": 180.0,
		"p50": 140.0, "p50_is": "exact", "p95": 176.0, "p95_is": "exact", "p99": nil, "p99_is": "na", "p99_interval": nil,
	} {
		if f[key] != want {
			t.Errorf("%s = %v, want %v", key, f[key], want)
		}
	}
	if got := fmt.Sprint(f["p50_interval"]); got != "[131 150]" {
		t.Errorf("p50 interval %s", got)
	}
	hung := []*stream.Record{record("a", "", stream.Hung, 0), record("b", "", stream.Hung, 0), record("c", "", stream.Complete, 100)}
	f = Summarize(Group{Rows: Rows(hung)}, "ttft")[0].Fields()
	if f["p50"] != nil || f["p50_is"] != "over" || f["p50_over"] != 5000.0 || f["max"] != nil {
		t.Errorf("%v", f)
	}
}

func TestShares(t *testing.T) {
	rows := Rows(append(mixed(), record("g", "", stream.Dropped, 0), record("h", "", stream.Unknown, 0)))
	got := ""
	for _, s := range Outcomes(rows) {
		got += fmt.Sprintf("%s %d/%d ", s.Name, s.N, s.Of)
	}
	if want := "complete 3/8 hung 1/8 truncated 1/8 reset 1/8 dropped 1/8 unknown 1/8 "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if b := Broken(rows); b.N != 3 || b.Of != 7 {
		t.Errorf("broken %+v", b)
	}
	late := record("i", "", stream.Hung, 100)
	late.End = stream.Some(15 * time.Second)
	if s := Silent(Rows([]*stream.Record{late, record("b", "warm", stream.Complete, 100)})); s.N != 1 || s.Of != 2 || s.Share != 0.5 {
		t.Errorf("silent %+v", s)
	}
	if s := Broken(nil); s.Share != 0 || s.Of != 0 {
		t.Errorf("of nothing: %+v", s)
	}
}

func TestRowKeepsItsKey(t *testing.T) {
	r := record("a#1", "warm", stream.Complete, 100)
	r.Choice, r.Index, r.Hop, r.InFlight = 1, 4, "origin", stream.Some(3)
	row := RowOf(r)
	if row.Request != "a#1" || row.Choice != 1 || row.Index != 4 || row.Hop != "origin" || row.Scenario != "chat" {
		t.Errorf("%+v", row.Key)
	}
	for name, want := range map[string]string{"request": "a#1", "choice": "1", "hop": "origin", "concurrency": "concurrent", "shape": "steady", "stream": "on"} {
		f, ok := lookup(name)
		if got := f.get(&row); !ok || got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}
