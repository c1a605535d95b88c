package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"weir/judge"
	"weir/stream"
	"weir/table"
)

// load makes the records of a run as a bench would.
type loadMaker struct {
	rng     *rand.Rand
	start   time.Time
	records []*stream.Record
}

func newLoad() *loadMaker {
	return &loadMaker{rng: rand.New(rand.NewPCG(1, 2)), start: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)}
}

// freeze is when the service of these runs stands still, since the start.
const (
	freezeFrom = 42 * time.Second
	freezeTo   = 44 * time.Second
)

// hold moves a time of the run out of the freeze.
func hold(at time.Duration) time.Duration {
	if at >= freezeFrom && at < freezeTo {
		return freezeTo
	}
	return at
}

// send adds a request of a scenario at a time of the run.
func (l *loadMaker) send(at time.Duration, phase, scenario string, events int) *answer {
	i := len(l.records)
	conn := "warm"
	if i < 4 {
		conn = "cold"
	}
	a := newAnswer(i, conn)
	a.r.Run, a.r.Start = "run-1", l.start.Add(at)
	a.r.Lateness = stream.Some(time.Duration(l.rng.IntN(900)) * time.Microsecond)
	a.r.Labels = map[string]string{"phase": phase, "scenario": scenario}
	if phase == "alone" {
		a.r.Labels["arrivals"] = "single"
		a.r.Lateness = stream.None[time.Duration]()
	}
	first := 200 * time.Millisecond
	if phase != "alone" {
		first = time.Duration(float64(400*time.Millisecond) * math.Exp(0.4*l.rng.NormFloat64()))
	}
	since := func(d time.Duration) time.Duration { return hold(at+d) - at }
	a.headers(since(20*ms)).at(since(20*ms), role())
	reasons := scenario == "退款"
	now := since(first)
	for k := range events {
		e := text("word ")
		switch {
		case reasons && k < events/4:
			e = stream.Event{Kind: stream.KindReasoning, Text: "想", Chars: stream.Some(1)}
		case reasons && k == events/4:
			a.at(now, stream.Event{Kind: stream.KindStage, Name: "tool_timeout"})
		}
		if k == events/2 {
			e.Marks = []string{"useful"}
		}
		a.at(now, e)
		now = since(now + time.Duration(float64(24*ms)*math.Exp(0.5*l.rng.NormFloat64())))
	}
	a.r.Marks = []string{"useful"}
	a.tokens(events).end(now, stream.Complete)
	a.r.Usage.Input = stream.Some(40 + l.rng.IntN(2000))
	l.records = append(l.records, a.r)
	return a
}

// fail turns the last request into a failure.
func (l *loadMaker) fail(a *answer, o stream.Outcome, reason string) {
	r := a.r
	r.Outcome, r.Reason, r.Finish, r.Proof = o, reason, "", stream.ProofNone
	switch o {
	case stream.Truncated, stream.Reset:
		half := len(r.Events) / 2
		r.Events = r.Events[:half]
		r.End = stream.Some(r.Events[half-1].At + 1500*ms)
	default:
		r.Events, r.Arrivals, r.Reads, r.Usage = nil, nil, nil, nil
		r.Phases.FirstByte = stream.None[time.Duration]()
		r.End = stream.Some(30 * ms)
	}
	if o == stream.Dropped {
		r.Phases, r.End, r.Conn = stream.Phases{}, stream.None[time.Duration](), ""
	}
}

// run makes the run of the records.
func (l *loadMaker) run(gates judge.Gates, rules []judge.RuleResult) Run {
	c := NewCollector(0)
	for _, r := range l.records {
		c.Add(r)
	}
	r := Run{
		Info: table.Run{ID: "20261130-080000-peak", Kind: "bench", Start: l.start, Target: "http://127.0.0.1:9000/v1/chat/completions",
			Dialect: "openai.chat", Model: "qwen2.5-7b", Labels: map[string]string{"quant": "none"}, Seed: 7, Weir: "0.1.0"},
		Rows: table.Rows(l.records), Series: c.Series(), Deadline: 60 * time.Second,
		Phases: []Phase{
			{Name: "alone", Arrivals: "single", Start: l.start, Seconds: 20, Planned: 8, Sent: 8, AchievedRate: 0.4},
			{Name: "peak", Arrivals: "poisson", Start: l.start.Add(20 * time.Second), Seconds: 40, Planned: 800, Sent: 796, Dropped: 4, PlannedRate: 20, AchievedRate: 19.9},
		},
	}
	r.Health, _ = ParseHealth(json.RawMessage(`{"verdict":"suspect","reasons":["goroutines waited for a processor: p99 24.0 ms, limit 20.0 ms"],
		"lateness_p50_ms":0.42,"lateness_p99_ms":0.91,"achieved_ratio":0.995,"drops":4,"own_drops":0,"lost":0,"events":41230,
		"lag_max_share":0.004,"sched_latency_p99_ms":24,"gc_pause_max_ms":0.3,"cpu_share":0.31,"fd_headroom":null,"limits":{"sched_p99_suspect_ms":20}}`))
	r.Judged = judge.Judge(judge.Input{Rows: r.Rows, Gates: gates, Rules: rules, Health: r.Health.Verdict,
		Span: map[string]float64{"alone": 20, "peak": 40}})
	return r
}

func condition(text string) judge.Condition {
	var c judge.Condition
	if err := c.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return c
}

// mixedRun has a phase sent one at a time and one of load, in which the
// service freezes for two seconds and a few answers fail.
func mixedRun() Run {
	l := newLoad()
	for i := range 8 {
		l.send(time.Duration(i)*2500*ms, "alone", []string{"plain_qa", "退款"}[i%2], 40)
	}
	for at := 20 * time.Second; at < 60*time.Second; at += time.Duration(50*l.rng.ExpFloat64()) * ms {
		scenario := "plain_qa"
		if l.rng.IntN(4) == 0 {
			scenario = "退款"
		}
		a := l.send(at, "peak", scenario, 30+l.rng.IntN(60))
		switch l.rng.IntN(120) {
		case 0:
			l.fail(a, stream.Truncated, "")
		case 1:
			l.fail(a, stream.ErrorEarly, "http_503")
		case 2:
			l.fail(a, stream.Dropped, "in_flight_limit")
		case 3:
			l.fail(a, stream.Reset, "")
		}
	}
	r := l.run(judge.Gates{
		"ttft":     {condition("p95 < 600ms"), condition("p50 < 2s")},
		"useful":   {condition("p99 < 2.5s")},
		"complete": {condition("share >= 99%")}, "dropped": {condition("share <= 1%")},
	}, []judge.RuleResult{
		{Name: "tell the user of a tool timeout", Scenario: "退款", Checked: 190, Violations: 3, RequestIDs: []string{"req_0017", "req_0094", "req_0301"}, Verdict: "fail"},
		{Name: "never promise before checking", Scenario: "plain_qa", Checked: 600, Verdict: "pass", Unseen: []string{"verified"}},
	})
	r.Warnings = []string{"phase alone sends one request at a time: it cannot see queueing"}
	r.Logs = "out/events"
	return r
}

// singleRun is one request.
func singleRun() Run {
	l := newLoad()
	l.send(0, "peak", "plain_qa", 40)
	return l.run(judge.Gates{"ttft": {condition("p95 < 2s")}}, nil)
}

func emptyRun() Run { return newLoad().run(nil, nil) }

func failedRun() Run {
	l := newLoad()
	for i := range 60 {
		l.fail(l.send(time.Duration(i)*50*ms, "peak", "plain_qa", 4), stream.ErrorEarly, "refused")
	}
	return l.run(judge.Gates{"ttft": {condition("p95 < 2s")}, "complete": {condition("share >= 99%")}}, nil)
}

// largeRun has over 200,000 events.
func largeRun() Run {
	l := newLoad()
	for i := range 2000 {
		l.send(time.Duration(i)*30*ms, "peak", "plain_qa", 60+l.rng.IntN(90))
	}
	return l.run(judge.Gates{"ttft": {condition("p95 < 2s")}}, nil)
}

// hostileRun names everything with what other formats would obey.
func hostileRun() Run {
	l := newLoad()
	bad := "=cmd|' /C calc'!A0 </script><img src=x onerror=alert(1)> | **b** @all [x](javascript:1) \x1b[31m\u202e]]> ::error::x\n%0A"
	for range 3 {
		a := l.send(0, bad, bad, 12)
		a.r.RequestID, a.r.Model, a.r.Reason = bad+fmt.Sprint(a.r.Index), bad, bad
	}
	r := l.run(judge.Gates{"ttft": {condition("p50 < 1ms")}}, []judge.RuleResult{
		{Name: bad, Scenario: bad, Checked: 3, Violations: 1, RequestIDs: []string{bad}, Verdict: "fail", Unseen: []string{bad}}})
	r.Info.ID, r.Info.Target, r.Info.Model, r.Warnings = bad, "http://x/"+bad, bad, []string{bad}
	r.Info.Labels = map[string]string{bad: bad}
	r.Info.Plan = bad
	return r
}

func runs() map[string]Run {
	return map[string]Run{"mixed": mixedRun(), "single": singleRun(), "empty": emptyRun(), "failed": failedRun(), "hostile": hostileRun()}
}
