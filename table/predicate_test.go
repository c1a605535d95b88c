package table

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/metric"
	"weir/stat"
	"weir/stream"
)

// filtered are rows with every state of ttft, told apart by their request.
func filtered() []Row {
	row := func(id string, ttft metric.Value) Row {
		return Row{
			Key:     Key{Request: id, Index: len(id), Scenario: "chat", Labels: map[string]string{"region": "eu"}},
			Outcome: stream.Complete, InFlight: stream.Some(2), Start: time.Date(2026, 3, 1, 8, 0, 0, 5e8, time.UTC),
			Values: metric.Values{Shape: "steady"}.With(map[string]metric.Value{"ttft": ttft, "stage.pre fill": stat.At(7)}),
		}
	}
	last := row("z", metric.Value{})
	last.Key = Key{Request: "z", Warmup: true, Labels: map[string]string{}}
	last.Start, last.InFlight = time.Time{}, stream.None[int]()
	last.Values = last.Values.With(map[string]metric.Value{"mark.handoff": {Is: metric.Never}})
	return []Row{
		row("a", stat.At(100)), row("b", stat.At(3000)), row("n", metric.Value{Is: metric.Never}),
		row("o", metric.Value{V: 5000, Is: metric.Over}), last,
	}
}

func TestPredicate(t *testing.T) {
	for where, want := range map[string]string{
		"":                             "abnoz",
		"ttft_ms > 2000":               "bno",
		"ttft > 2000":                  "bno",
		"ttft_ms > 6000":               "n", // o is known to exceed 5000, not 6000
		"ttft_ms < 6000":               "ab",
		"ttft_ms < 1000":               "a",
		"ttft_ms == 5000":              "",
		"!(ttft_ms > 2000)":            "az",
		"ttft_ms == nil":               "z",
		"nil == ttft_ms":               "z",
		"ttft_ms != nil":               "abno",
		"missing(ttft)":                "z",
		"reached(ttft_ms)":             "ab",
		"never(ttft) || over(ttft_ms)": "no",
		"not never(ttft_ms)":           "aboz",
		"ttft_ms > 2000 || warmup":     "bnoz", // a missing value does not spoil the rest
		`scenario == "chat"`:           "abno",
		`scenario in ["chat", "x"]`:    "abno",
		`label.region == "eu" and outcome startsWith "comp"`: "abno",
		`label["region"] == ""`:                              "z",
		`label.other == ""`:                                  "abnoz",
		`stage["pre fill"] > 5`:                              "abno",
		`missing(stage.other)`:                               "abnoz",
		`never(mark.handoff)`:                                "z",
		`mark.handoff > 1e9`:                                 "z",
		`missing(mark.handoff)`:                              "abno",
		`index == 1 and choice == 0`:                         "abno",
		`in_flight >= 2`:                                     "abno",
		`start >= "2026-03-01T08" and start < "2026-03-02"`:  "abno",
		`start == "2026-03-01T08:00:00.500000000Z"`:          "abno",
		`request matches "^[ab]$"`:                           "ab",
		`abs(ttft_ms - 100) < 1`:                             "a",
		`shape == "steady" && stream == "off"`:               "abnoz",
		`concurrency == "concurrent"`:                        "abno",
		`complete == nil and gap_p95_ms == nil`:              "abnoz",
	} {
		got, err := Select(filtered(), Query{Where: where})
		ids := ""
		for _, r := range got {
			ids += r.Request
		}
		if err != nil || ids != want {
			t.Errorf("%s: %q, want %q (%v)", where, ids, want, err)
		}
	}
}

func TestPredicateErrors(t *testing.T) {
	for where, want := range map[string]string{
		"colour == 1":                "column 1: rows have no \"colour\"; there are request",
		"ttft_ms >":                  "column",
		"ttft_ms":                    "expected bool",
		`ttft_ms > "a"`:              "column 9",
		`outcome == nil`:             "only a metric can be nil",
		`ttft_ms > nil`:              "only a metric can be nil",
		`never(outcome)`:             "never takes one metric",
		`never(1 + ttft)`:            "never takes one metric",
		`never()`:                    "never takes one metric",
		`label == "x"`:               "",
		`label.a.b == "x"`:           "only label, stage and mark",
		`outcome.x == 1`:             "only label, stage and mark",
		`label[outcome] == "x"`:      "only label, stage and mark",
		`all(1..9, # > 1)`:           "not allowed",
		`repeat("a", 99) == outcome`: "repeat is not allowed",
		`now() == start`:             "now is not allowed",
		`nothing(ttft)`:              "no",
		`never == true`:              "",
		strings.Repeat("ttft > 1 || ", 400) + "ttft > 2": "nodes",
	} {
		_, err := NewPredicate(where)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", where, err, want)
		}
	}
	if _, err := Select(nil, Query{Where: "x"}); err == nil {
		t.Error("select took a bad filter")
	}
	if _, err := (Query{Where: "x", Metrics: []string{"ttft"}}).Needs(); err == nil {
		t.Error("needs took a bad filter")
	}
}

func TestQuery(t *testing.T) {
	rows := filtered()
	rows[0].Run = "r"
	for _, c := range []struct {
		q    Query
		want int
	}{{Query{}, 5}, {Query{Run: "r"}, 1}, {Query{Measured: true}, 4}, {Query{Run: "r", Where: "ttft > 200"}, 0}} {
		if got, err := Select(rows, c.q); err != nil || len(got) != c.want {
			t.Errorf("%+v: %d rows, %v", c.q, len(got), err)
		}
	}
	needs, err := Query{Where: "ttft_ms > 1 && never(mark.x)", Metrics: []string{"gap_p95", "ttft"}}.Needs()
	if got := fmt.Sprint(needs, err); got != "[gap_p95 mark.x ttft] <nil>" {
		t.Error(got)
	}
	if needs, err := (Query{Where: "ttft_ms > 1"}).Needs(); needs != nil || err != nil {
		t.Errorf("all: %v %v", needs, err)
	}
}

// TestNamesAreDistinct holds what filters and stores rely on.
func TestNamesAreDistinct(t *testing.T) {
	seen := map[string]bool{"index": true, "in_flight": true, "start": true}
	for _, f := range FieldNames() {
		seen[f] = true
	}
	for _, m := range metric.All {
		if seen[m.Name] || seen[m.JSON] || isState(m.Name) || strings.Contains(m.Name+m.JSON, ".") {
			t.Errorf("the metric %s (%s) hides a field", m.Name, m.JSON)
		}
		if other, ok := metric.Lookup(m.JSON); !ok || other.Name != m.Name {
			t.Errorf("the key %s finds %s", m.JSON, other.Name)
		}
		if _, err := NewPredicate(m.Name + " > 1 && " + m.JSON + " > 1"); err != nil {
			t.Error(err)
		}
	}
}
