package report

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"weir/metric"
	"weir/table"
)

// pageData is everything the page shows. It decides nothing and computes
// nothing but pictures: every number is made here.
type pageData struct {
	Run     runJSON      `json:"run"` // as the json format gives it, for the download too
	Word    string       `json:"word"`
	Title   string       `json:"title"`
	Shown   shown        `json:"shown"`
	Curves  []curveSet   `json:"curves"`
	Time    *overTime    `json:"time"`
	Input   dots         `json:"input"`
	Stall   float64      `json:"stall_ms"`
	Series  *seriesJSON  `json:"series"` // null = none was kept
	Metrics []definition `json:"metrics"`
	Start   int64        `json:"start"` // 0.1 ms of the wall clock; 0 = unknown
	Plan    string       `json:"plan,omitempty"`
}

// shown is what stands in tables, as text.
type shown struct {
	Facts     []string        `json:"facts"`
	Target    string          `json:"target"`
	Gates     [][]string      `json:"gates"` // verdict, where, gate, actual, interval, n, why
	Rules     [][]string      `json:"rules"` // verdict, name, scenario, violations, checked, requests, never seen
	Health    [][]string      `json:"health"`
	Scenarios []scenarioShown `json:"scenarios"`
	Inflation [][]string      `json:"inflation"`
	Outcomes  [][]string      `json:"outcomes"`
	Silence   [][]string      `json:"silence"`
	Phases    [][]string      `json:"phases"`
	Started   string          `json:"started"`
}

type scenarioShown struct {
	Name string     `json:"name"`
	Note string     `json:"note"`
	Rows [][]string `json:"rows"` // metric, from, n, p50, p90, p95, p99, max
}

type definition struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Doc  string `json:"doc"`
}

type seriesJSON struct {
	Streams    int          `json:"streams"`
	Events     int          `json:"events"`
	Kept       int          `json:"kept"`
	KeptEvents int          `json:"kept_events"`
	Traces     []*trace     `json:"traces"`
	Worst      []worstTrace `json:"worst"`
	GapN       int          `json:"gap_n"`
	GapFrom    float64      `json:"gap_from"`
	GapCounts  []int        `json:"gap_counts"`
	GapDots    dots         `json:"gap_dots"`
}

func (r Run) pageData() (pageData, error) {
	run, err := r.object()
	if err != nil {
		return pageData{}, err
	}
	rows := r.rows()
	word, why := r.verdictLine()
	d := pageData{Run: run, Word: word, Title: Clean(why), Curves: []curveSet{}, Stall: stallLine(), Input: inputDots(r.underLoad(rows)),
		Metrics: []definition{}}
	if r.Prompts {
		d.Plan = r.Info.Plan
	}
	if d.Curves, err = r.curves(rows); err != nil {
		return d, err
	}
	start := r.start()
	if !start.IsZero() {
		d.Start = start.UnixMicro() / 100
	}
	d.Time = overTimeOf(rows, start)
	if r.Series != nil {
		d.Series = r.Series.json()
	}
	d.Shown, err = r.shown(rows)
	d.Metrics = r.definitions(run)
	return d, err
}

// json gives the sample in order of time.
func (s *Series) json() *seriesJSON {
	out := &seriesJSON{Streams: s.streams, Events: s.events, Kept: len(s.kept), KeptEvents: s.keptEvents,
		Traces: []*trace{}, Worst: s.worstOf(), GapN: s.gaps.N, GapDots: s.gapDots()}
	for _, t := range s.kept {
		out.Traces = append(out.Traces, t.trace)
	}
	slices.SortFunc(out.Traces, func(a, b *trace) int { return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.id, b.id)) })
	out.GapFrom, out.GapCounts = s.gaps.edges()
	return out
}

func (r Run) shown(rows []table.Row) (shown, error) {
	s := shown{Target: cmp.Or(r.target(), "?"), Facts: r.runFacts(), Gates: [][]string{}, Rules: [][]string{}, Health: [][]string{},
		Scenarios: []scenarioShown{}, Inflation: [][]string{}, Outcomes: [][]string{}, Silence: [][]string{}, Phases: [][]string{}}
	if t := r.start(); !t.IsZero() {
		s.Started = t.UTC().Format(time.RFC3339)
	}
	s.judged(r)
	s.tables(r, rows)
	list, err := r.buckets()
	for _, b := range list {
		s.scenario(b)
	}
	if err != nil {
		return s, err
	}
	inflation, err := r.inflation()
	for _, x := range inflation {
		s.Inflation = append(s.Inflation, []string{bucket{scenario: x.Scenario, phase: x.Phase}.name(), x.Metric,
			point(x.Alone, x.Unit), itoa(x.AloneN), point(x.Loaded, x.Unit), itoa(x.LoadedN), factorText(x.Factor)})
	}
	return s, err
}

func (s *shown) scenario(b bucket) {
	x := scenarioShown{Name: b.name(), Rows: [][]string{}}
	x.Note = strings.Join(slices.DeleteFunc([]string{count(len(b.Rows), "request"), outcomeShares(b.Rows), b.connections()},
		func(s string) bool { return s == "" }), "; ")
	for _, l := range b.lines() {
		u := l.Metric.Unit
		x.Rows = append(x.Rows, []string{l.Metric.Name, b.from(l.Metric.Name), itoa(l.N), point(l.P50.Point, u), point(l.P90.Point, u),
			point(l.P95.Point, u), point(l.P99.Point, u), point(l.Max, u)})
	}
	s.Scenarios = append(s.Scenarios, x)
}

// definitions says what every number means that the page or its JSON shows.
func (r Run) definitions(run runJSON) []definition {
	seen := map[string]bool{}
	out := []definition{}
	for _, s := range run.Scenarios {
		for _, m := range s.Metrics {
			if name, ok := m.fields["metric"].(string); ok {
				seen[name] = true
			}
		}
	}
	for _, m := range metric.All {
		if seen[m.Name] {
			out = append(out, definition{m.Name, m.Unit, m.Doc})
			delete(seen, m.Name)
		}
	}
	var rest []definition
	for name := range seen {
		if m, ok := metric.Lookup(name); ok {
			rest = append(rest, definition{m.Name, m.Unit, m.Doc})
		}
	}
	slices.SortFunc(rest, func(a, b definition) int { return cmp.Compare(a.Name, b.Name) })
	return append(append(out, rest...), runDefinitions...)
}

// runDefinitions are the numbers of the page that are of no single answer.
var runDefinitions = []definition{
	{"n", "count", "answers in the set: those that had the value, those to which it never came, and those cut before"},
	{"p50 … p99", "", "nearest-rank quantile over all of n; what never came counts as longer than anything; \"> x\" is only known to exceed x; n/a where n is too small for its interval"},
	{"95 % interval", "", "of a quantile by order statistics, of a share exact binomial; within this run, for independent requests"},
	{"share", "share", "of an outcome: answers that ended so ÷ all that were due"},
	{"broken_share", "share", "truncated, reset, hung and error_mid ÷ sent"},
	{"silent_share_10s", "share", "streams once silent for 10 s or more ÷ those that spoke or should have"},
	{"factor", "", "the median under load ÷ the median of requests sent one at a time"},
	{"waited", "ms", "time to the first output, or to the end where none came, plus the time in stalls"},
	{"system tokens per second", "tok/s", "output tokens of all streams together, each answer's spread evenly from its first output to its last"},
}

// raw is the data as JSON that may stand inside a script element.
func (d pageData) raw() ([]byte, error) {
	raw, err := json.Marshal(d) // escapes <, > and &
	return escapeControls(raw), err
}
