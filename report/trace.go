package report

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"weir/metric"
	"weir/stream"
	"weir/table"
)

// glance is what must be known of every answer, to choose those whose events
// are kept. It costs little more than a walk over the events.
type glance struct {
	gaps   []metric.Gap
	waited float64 // ms: the wait for the first output, or for the end, and stalls
	failed bool
}

func glanceAt(r *stream.Record) glance {
	s := metric.Observe(r)
	g := glance{gaps: s.Gaps, failed: r.Outcome != stream.Unknown && !r.Outcome.Ended()}
	wait := Length(r)
	if len(s.Bursts) > 0 && !r.Whole {
		wait = s.Bursts[0].At
	}
	g.waited = millis(wait + r.Lateness.Or(0))
	for _, gap := range s.Gaps {
		if gap.Phase == "" && gap.Length() > metric.StallAfter {
			g.waited += millis(gap.Length())
		}
	}
	return g
}

// trace is what the pictures need of one answer: when its events came, and no
// text of them.
type trace struct {
	glance
	id     string
	start  time.Time
	events []tick
	cut    int // events left out of events, for there were too many
}

// tick is one event.
type tick struct {
	at   time.Duration // of its arrival
	kind stream.Kind
}

// traceEvents is the most events kept of one answer.
const traceEvents = 20_000

func traceOf(r *stream.Record, g glance) *trace {
	t := &trace{glance: g, id: r.RequestID, start: r.Start}
	step := 1 + (len(r.Events)-1)/traceEvents
	t.events = make([]tick, 0, len(r.Events)/step+1)
	for i := range r.Events {
		if i%step == 0 {
			t.events = append(t.events, tick{arrivalTime(r, &r.Events[i]), r.Events[i].Kind})
		}
	}
	t.cut = len(r.Events) - len(t.events)
	return t
}

func millis(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

// kindLetters are the kinds as the page knows them, one letter each, in the
// order of their numbers.
const kindLetters = "otrfmcsuhxed" // other text reasoning tool media connect stage usage heartbeat restart error done

// fields is the trace as the page reads it: at is 0.1 ms of the wall clock,
// steps are 0.1 ms from one event to the next, since the request was sent.
func (t *trace) fields() map[string]any {
	steps, kinds := make([]int64, len(t.events)), make([]byte, len(t.events))
	last := int64(0)
	for i, e := range t.events {
		at := e.at.Microseconds() / 100
		steps[i], last = at-last, at
		kinds[i] = kindLetters[min(int(e.kind), len(kindLetters)-1)]
	}
	out := map[string]any{"at": nil, "steps": steps, "kinds": string(kinds)}
	if !t.start.IsZero() {
		out["at"] = t.start.UnixMicro() / 100
	}
	return out
}

// MarshalJSON writes what the scatter of arrivals needs.
func (t *trace) MarshalJSON() ([]byte, error) { return json.Marshal(t.fields()) }

// worstTrace is a trace with all that its timeline shows.
type worstTrace struct {
	*trace
	scenario, phase string
	outcome         stream.Outcome
	reason          string
	lateness, end   time.Duration
	phases          stream.Phases
	marks           []moment
}

// moment is a named time of an answer, in ms since it was sent.
type moment struct {
	Name string  `json:"name"`
	At   float64 `json:"at"`
}

// timelineMarks are the marks that a timeline names.
var timelineMarks = []string{"headers", "first_byte", "first_reasoning", "ttft_sent", "first_text_sent", "useful_sent", "done"}

func worstOf(r *stream.Record, t *trace) worstTrace {
	w := worstTrace{
		trace: t, scenario: r.Labels[table.ScenarioLabel], phase: r.Labels[table.PhaseLabel], outcome: r.Outcome, reason: r.Reason,
		lateness: r.Lateness.Or(0), end: Length(r), phases: r.Phases,
	}
	v := metric.Measure(r)
	for _, name := range timelineMarks {
		if at, ok := reached(v, name); ok {
			w.marks = append(w.marks, moment{strings.TrimSuffix(name, "_sent"), millis(at)})
		}
	}
	return w
}

// MarshalJSON adds the facts, the phases and the gaps that a reader sees.
func (w worstTrace) MarshalJSON() ([]byte, error) {
	out := w.fields()
	maps.Copy(out, map[string]any{
		"id": w.id, "scenario": w.scenario, "phase": w.phase, "outcome": string(w.outcome), "reason": w.reason,
		"end": millis(w.end), "lateness": millis(w.lateness), "waited": w.waited, "marks": w.marks, "cut": w.cut,
	})
	for name, d := range map[string]stream.Maybe[time.Duration]{
		"dns": w.phases.DNS, "connect": w.phases.Connect, "tls": w.phases.TLS, "written": w.phases.RequestWritten,
	} {
		if x, ok := d.Get(); ok {
			out[name] = millis(x)
		}
	}
	gaps := []map[string]any{}
	for _, g := range w.gaps {
		if g.Length() >= silence {
			gaps = append(gaps, map[string]any{"from": millis(g.From), "to": millis(g.To), "open": g.Open, "phase": g.Phase,
				"stall": g.Phase == "" && g.Length() > metric.StallAfter})
		}
	}
	out["gaps"] = gaps
	return json.Marshal(out)
}
