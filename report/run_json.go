package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"

	"weir/judge"
	"weir/metric"
	"weir/stat"
	"weir/stream"
	"weir/table"
)

// WriteRunJSON writes the run as one JSON object on one line: the verdict, the
// gates and rules, the instrument's health, the figures of every scenario in
// every phase, and the outcomes. What is not known is null.
func WriteRunJSON(w io.Writer, r Run) error {
	out, err := r.object()
	if err != nil {
		return err
	}
	return writeObject(w, out)
}

func writeObject(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err := w.Write(escapeControls(b.Bytes()))
	return err
}

type runJSON struct {
	Verdict     string             `json:"verdict"`
	Why         string             `json:"why"`
	Gates       []judge.GateResult `json:"gates"`
	Rules       []judge.RuleResult `json:"rules"`
	Health      json.RawMessage    `json:"health"`
	Scenarios   []scenarioJSON     `json:"scenarios"`
	Outcomes    object             `json:"outcomes"`
	Shares      object             `json:"shares"` // broken_share, silent_share_10s
	Phases      []Phase            `json:"phases"`
	Inflation   []object           `json:"inflation"`
	Silence     []judge.SilenceRow `json:"silence"`
	Warnings    []string           `json:"warnings"`
	Run         object             `json:"run"`
	Definitions int                `json:"definitions"`
	Partial     bool               `json:"partial"`
}

type scenarioJSON struct {
	Name     string   `json:"name"`
	Phase    *string  `json:"phase"`
	N        int      `json:"n"`
	Single   bool     `json:"single"` // its phase sent one request at a time
	Outcomes object   `json:"outcomes"`
	Metrics  []object `json:"metrics"`
}

func (r Run) object() (runJSON, error) {
	rows := r.rows()
	_, why := r.verdictLine()
	out := runJSON{
		Verdict: r.Judged.Verdict, Why: why, Gates: append([]judge.GateResult{}, r.Judged.Gates...),
		Rules: append([]judge.RuleResult{}, r.Judged.Rules...), Health: r.Health.json(), Scenarios: []scenarioJSON{},
		Outcomes: sharesJSON(table.Outcomes(rows)), Shares: sharesJSON([]table.Share{table.Broken(rows), table.Silent(rows)}),
		Phases: append([]Phase{}, r.Phases...), Inflation: []object{}, Silence: judge.Silence(rows, r.Deadline),
		Warnings: r.warnings(), Run: r.identityJSON(), Definitions: metric.Version, Partial: r.Info.Partial,
	}
	for i := range out.Rules {
		out.Rules[i].RequestIDs = append([]string{}, out.Rules[i].RequestIDs...)
	}
	list, err := r.buckets()
	if err != nil {
		return out, err
	}
	for _, b := range list {
		s := scenarioJSON{Name: b.scenario, Phase: orNull(b.phase), N: len(b.Rows), Single: r.single(b.phase),
			Outcomes: sharesJSON(table.Outcomes(b.Rows)), Metrics: []object{}}
		for _, l := range table.Summarize(b.Group) {
			s.Metrics = append(s.Metrics, b.metricJSON(l))
		}
		out.Scenarios = append(out.Scenarios, s)
	}
	inflation, err := r.inflation()
	for _, x := range inflation {
		out.Inflation = append(out.Inflation, x.json())
	}
	return out, err
}

// json is the health as it was stated; null where nothing was.
func (h Health) json() json.RawMessage {
	if len(h.Raw) == 0 {
		return json.RawMessage("null")
	}
	return h.Raw
}

// identityJSON says what was run.
func (r Run) identityJSON() object {
	f := map[string]any{
		"id": r.Info.ID, "kind": orNull(r.Info.Kind), "start": nil, "target": orNull(r.target()),
		"dialect": orNull(r.fact(r.Info.Dialect, func(x *table.Row) string { return x.Dialect })),
		"model":   orNull(r.fact(r.Info.Model, func(x *table.Row) string { return x.Model })),
		"labels":  r.Info.Labels, "tags": append([]string{}, r.Info.Tags...), "seed": r.Info.Seed, "shard": orNull(r.Info.Shard),
		"weir": orNull(r.Info.Weir), "environment": r.Info.Environment, "logs": orNull(r.Logs),
	}
	if t := r.start(); !t.IsZero() {
		f["start"] = t.UTC()
	}
	return object{[]string{"id", "kind", "start", "target", "dialect", "model", "labels", "tags", "seed", "shard"}, f}
}

func (b bucket) metricJSON(l table.Line) object {
	out := l.Fields()
	for _, p := range l.Key {
		delete(out, p.Field)
	}
	out["from"] = orNull(b.from(l.Metric.Name))
	return object{[]string{
		"metric", "unit", "from", "n", "reached", "p50", "p50_is", "p90", "p90_is", "p95", "p95_is", "p99", "p99_is", "min", "max",
	}, out}
}

func sharesJSON(list []table.Share) object {
	o := object{fields: map[string]any{}}
	for _, s := range list {
		o.first = append(o.first, s.Name)
		o.fields[s.Name] = map[string]any{"n": s.N, "of": s.Of, "share": s.Share}
	}
	return o
}

func (x inflated) json() object {
	return object{[]string{"scenario", "phase", "metric", "unit"}, map[string]any{
		"scenario": x.Scenario, "phase": x.Phase, "metric": x.Metric, "unit": x.Unit, "factor": x.Factor,
		"alone_p50": pointJSON(x.Alone), "alone_p50_is": x.Alone.Is, "alone_n": x.AloneN,
		"loaded_p50": pointJSON(x.Loaded), "loaded_p50_is": x.Loaded.Is, "loaded_n": x.LoadedN,
	}}
}

func pointJSON(p stat.Point) any {
	if v, ok := p.Get(); ok {
		return v
	}
	return nil
}

// rowFields are the facts of a row, by the name of their column.
func rowFields(x *table.Row) map[string]any {
	out := x.Values.Fields()
	maps.Copy(out, map[string]any{
		"request": x.Request, "run": x.Run, "index": x.Index, "choice": x.Choice, "scenario": x.Scenario, "phase": x.Phase,
		"warmup": x.Warmup, "conn": x.Conn, "hop": x.Hop, "start": nil, "target": x.Target, "dialect": x.Dialect, "model": x.Model,
		"http": x.HTTP, "stamp": string(x.Stamp), "in_flight": inFlight(x.InFlight), "outcome": string(x.Outcome),
		"reason": x.Reason, "finish": x.Finish, "labels": labelText(x.Labels),
	})
	if !x.Start.IsZero() {
		out["start"] = x.Start.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return out
}

func inFlight(m stream.Maybe[int]) any {
	if n, ok := m.Get(); ok {
		return n
	}
	return nil
}
