package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"weir/judge"
	"weir/stat"
	"weir/stream"
	"weir/table"
)

// Run is what there is to tell of a run: of a bench, or of several shards of
// one that were merged.
type Run struct {
	Info   table.Run
	Rows   []table.Row // every answer, warm-up included; it is left out of figures here
	Phases []Phase     // in the order run; nil = made from the rows
	Health Health      // see ParseHealth
	Judged judge.Verdict
	Series *Series // a sample of the events, for the pictures; nil = none was kept
	// Deadline is how long a request might take: a longer silence could not be
	// seen. 0 = unknown, or none.
	Deadline time.Duration
	Warnings []string // those of Judged are told beside them
	// Prompts lets the html page hold the plan, in which prompts stand.
	Prompts bool
	Logs    string // path of the event log, "" = none
	View    View   // text only
}

// Phase is what one phase of a load was to do and did. Counts leave the
// warm-up out.
type Phase struct {
	Name         string    `json:"name"`
	Arrivals     string    `json:"arrivals"` // constant … closed, single
	Start        time.Time `json:"start"`
	Seconds      float64   `json:"seconds"`
	Planned      int       `json:"planned"`
	Sent         int       `json:"sent"`
	Dropped      int       `json:"dropped"`
	Queued       int       `json:"queued"`
	PlannedRate  float64   `json:"planned_rate_per_s"`
	AchievedRate float64   `json:"achieved_rate_per_s"`
}

// RunFormat is one way to write a run.
type RunFormat struct {
	Name  string
	Doc   string
	Write func(io.Writer, Run) error
}

// RunFormats lists every format.
var RunFormats = []RunFormat{
	{"text", "for a person at a terminal", WriteRunText},
	{"json", "for a program: one object", WriteRunJSON},
	{"csv", "one row a request, with every metric", WriteRunCSV},
	{"junit", "for a CI server: a test case a gate and a rule", WriteRunJUnit},
	{"markdown", "for a pull request", WriteRunMarkdown},
	{"benchfmt", "Go benchmark lines, for benchstat", WriteRunBench},
	{"html", "one page that opens from disk", WriteRunHTML},
}

// LookupRun finds a format by its name; the error of an unknown one lists them.
func LookupRun(name string) (RunFormat, error) {
	var names []string
	for _, f := range RunFormats {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return RunFormat{}, fmt.Errorf("unknown output format %q: expected one of %s", name, strings.Join(names, ", "))
}

// arrivalsLabel is the label by which a load says how a phase's requests come.
const arrivalsLabel = "arrivals"

// rows are the answers that figures are made of: no warm-up, no other path
// than the main one, nothing that failed for want of this machine's own means.
func (r Run) rows() []table.Row {
	var out []table.Row
	for i := range r.Rows {
		if x := &r.Rows[i]; x.Hop == "" && !x.Warmup && !ownFault(x) {
			out = append(out, *x)
		}
	}
	return out
}

// ownFault reports whether a request failed for want of this machine's
// descriptors or ports, which says nothing of the service (METRICS §8.2).
func ownFault(r *table.Row) bool {
	return (r.Outcome == stream.Dropped || r.Outcome == stream.ErrorEarly) &&
		(r.Reason == "no_descriptor" || r.Reason == "no_local_port")
}

// bucket is a scenario in a phase: what is summarised together.
type bucket struct {
	table.Group
	phase, scenario string
}

// buckets are the scenarios of each phase, in the order in which they came.
func (r Run) buckets() ([]bucket, error) {
	groups, err := table.GroupBy(r.rows(), "phase", "scenario")
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var out []bucket
	for _, g := range groups {
		out = append(out, bucket{g, g.Value("phase"), g.Value("scenario")})
	}
	return out, nil
}

// name is the bucket in words: "plain_qa in peak".
func (b bucket) name() string {
	switch {
	case b.scenario == "" && b.phase == "":
		return "all"
	case b.scenario == "":
		return b.phase
	case b.phase == "":
		return b.scenario
	}
	return b.scenario + " in " + b.phase
}

// from says what the headline latencies are counted from: scheduled, or sent
// where there was no schedule.
func (b bucket) from(m string) string {
	switch m {
	case "ttft", "first_text", "useful", "complete":
		for i := range b.Rows {
			if b.Rows[i].Values.Get("lateness").Is == stat.Reached {
				return "scheduled"
			}
		}
		return "sent"
	}
	if strings.HasSuffix(m, "_sent") {
		return "sent"
	}
	return ""
}

// single reports whether the bucket's phase sent one request at a time.
func (r Run) single(phase string) bool {
	for _, p := range r.Phases {
		if p.Name == phase {
			return p.Arrivals == "single"
		}
	}
	for i := range r.Rows {
		if r.Rows[i].Phase == phase {
			return r.Rows[i].Labels[arrivalsLabel] == "single"
		}
	}
	return false
}

// start is when the run began: as its record says, else its first request.
func (r Run) start() time.Time {
	start := r.Info.Start
	for i := range r.Rows {
		if t := r.Rows[i].Start; !t.IsZero() && (start.IsZero() || t.Before(start)) {
			start = t
		}
	}
	return start
}

// underLoad are the rows of the phases that did not send one request at a
// time; where there is no other phase, all. The two are never drawn as one.
func (r Run) underLoad(rows []table.Row) []table.Row {
	single := map[string]bool{}
	var out []table.Row
	for i := range rows {
		phase := rows[i].Phase
		if _, ok := single[phase]; !ok {
			single[phase] = r.single(phase)
		}
		if !single[phase] {
			out = append(out, rows[i])
		}
	}
	if len(out) == 0 {
		return rows
	}
	return out
}

// warnings are those of the run and of its judging, each once.
func (r Run) warnings() []string {
	out := []string{}
	for _, w := range append(append([]string{}, r.Warnings...), r.Judged.Warnings...) {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// target is the run's target, else that of the first row.
func (r Run) target() string {
	return r.fact(r.Info.Target, func(x *table.Row) string { return x.Target })
}

// fact is what the run says, else its first row that knows it.
func (r Run) fact(said string, of func(*table.Row) string) string {
	for i := 0; said == "" && i < len(r.Rows); i++ {
		said = of(&r.Rows[i])
	}
	return said
}
