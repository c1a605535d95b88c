package report

import (
	"encoding/json"
	"strings"
	"time"

	"weir/metric"
	"weir/stream"
)

// trace is what the pictures need of one answer: when its events came, and no
// text of them.
type trace struct {
	id, scenario, phase string
	outcome             stream.Outcome
	reason              string
	start               time.Time
	lateness            time.Duration // sent − scheduled; 0 where there was no schedule
	end                 time.Duration
	phases              stream.Phases
	marks               []Moment
	events              []tick
	gaps                []span2
	cut                 int     // events left out of events, for there were too many
	waited              float64 // ms: the wait for the first output, and stalls
	failed              bool
}

// tick is one event.
type tick struct {
	at   time.Duration // of its arrival
	kind stream.Kind
}

// span2 is one gap.
type span2 struct {
	from, to time.Duration
	after    int
	open     bool
	phase    string
}

// Moment is a named time of an answer, in ms since it was sent.
type Moment struct {
	Name string  `json:"name"`
	At   float64 `json:"at"`
}

// traceEvents is the most events kept of one answer.
const traceEvents = 20_000

func traceOf(r *stream.Record) *trace {
	v := metric.Measure(r)
	t := &trace{
		id: r.RequestID, scenario: r.Labels["scenario"], phase: r.Labels["phase"], outcome: r.Outcome, reason: r.Reason,
		start: r.Start, lateness: r.Lateness.Or(0), end: Length(r), phases: r.Phases,
		failed: r.Outcome != stream.Unknown && !r.Outcome.Ended(),
	}
	step := 1 + (len(r.Events)-1)/traceEvents
	t.events = make([]tick, 0, len(r.Events)/step+1)
	for i := range r.Events {
		if i%step == 0 {
			t.events = append(t.events, tick{arrivalTime(r, &r.Events[i]), r.Events[i].Kind})
		}
	}
	t.cut = len(r.Events) - len(t.events)
	for _, g := range metric.Observe(r).Gaps {
		t.gaps = append(t.gaps, span2{g.From, g.To, g.After, g.Open, g.Phase})
	}
	t.wait(v)
	for _, name := range []string{"headers", "first_byte", "first_reasoning", "ttft_sent", "first_text_sent", "useful_sent", "done"} {
		if at, ok := reached(v, name); ok {
			t.marks = append(t.marks, Moment{strings.TrimSuffix(name, "_sent"), millis(at)})
		}
	}
	return t
}

// wait sums up what a user of this answer waited for nothing.
func (t *trace) wait(v metric.Values) {
	switch x := v.Get("ttft"); x.Is {
	case metric.Reached, metric.Over:
		t.waited = x.V
	default:
		t.waited = millis(t.end + t.lateness)
	}
	if x, ok := v.Get("stall_time").Get(); ok {
		t.waited += x
	}
}

func millis(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

// kindLetters are the kinds as the page knows them, one letter each.
const kindLetters = "otrfmcsuhxed" // other text reasoning tool(f) media connect stage usage heartbeat restart(x) error done

// MarshalJSON writes the trace as the page reads it: times in ms since the
// request was sent, of the events as steps from one to the next in 0.1 ms.
func (t *trace) MarshalJSON() ([]byte, error) {
	steps, kinds := make([]int64, len(t.events)), make([]byte, len(t.events))
	last := int64(0)
	for i, e := range t.events {
		at := e.at.Microseconds() / 100
		steps[i], last = at-last, at
		kinds[i] = kindLetters[min(int(e.kind), len(kindLetters)-1)]
	}
	out := map[string]any{
		"id": t.id, "scenario": t.scenario, "phase": t.phase, "outcome": string(t.outcome), "reason": t.reason,
		"at": nil, "end": millis(t.end), "lateness": millis(t.lateness), "waited": t.waited,
		"marks": t.marks, "steps": steps, "kinds": string(kinds), "cut": t.cut,
	}
	if !t.start.IsZero() {
		out["at"] = t.start.UnixMicro() / 100 // 0.1 ms of the wall clock; the page subtracts the run's start
	}
	for name, d := range map[string]stream.Maybe[time.Duration]{"dns": t.phases.DNS, "connect": t.phases.Connect, "tls": t.phases.TLS, "written": t.phases.RequestWritten} {
		if x, ok := d.Get(); ok {
			out[name] = millis(x)
		}
	}
	return json.Marshal(out)
}

// withGaps is a trace with its long gaps, for its timeline.
type withGaps struct{ *trace }

// MarshalJSON adds the gaps that a reader sees.
func (w withGaps) MarshalJSON() ([]byte, error) {
	raw, err := w.trace.MarshalJSON()
	if err != nil {
		return nil, err
	}
	gaps := []map[string]any{}
	for _, g := range w.gaps {
		if g.to-g.from >= silence {
			gaps = append(gaps, map[string]any{"from": millis(g.from), "to": millis(g.to), "open": g.open, "phase": g.phase,
				"stall": g.phase == "" && g.to-g.from > metric.StallAfter})
		}
	}
	text, err := json.Marshal(gaps)
	if err != nil {
		return nil, err
	}
	return append(append(append(raw[:len(raw)-1], `,"gaps":`...), text...), '}'), nil
}
