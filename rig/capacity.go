package rig

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"weir/judge"
	gen "weir/load"
	"weir/probe"
)

// CapacityOptions say how the highest rate that holds is searched for. The
// zero value takes everything from the plan.
type CapacityOptions struct {
	Bench     BenchOptions  // of every run; Dir gets a directory a rate
	From      gen.Rate      // first rate; 0 = that of the plan's first phase
	Max       gen.Rate      // never above this; 0 = 64 times the first
	Factor    float64       // from one step to the next; 0 = 2
	Precision float64       // the search ends when the rates differ by less, as a part; 0 = 0.1
	Hold      time.Duration // measured at each rate; 0 = the duration of the plan's first phase
	Rest      time.Duration // between rates, for the service to recover; 0 = 1 s

	Point func(CapacityPoint) // told of each rate as it is known; nil = nobody
}

// Capacity is what a search found.
type Capacity struct {
	Verdict string          `json:"verdict"` // pass: a rate holds; fail: none does; invalid: the instrument was not fit at any
	Rate    *float64        `json:"capacity_per_s"`
	Below   *float64        `json:"fails_at_per_s"` // the lowest rate that did not hold; null = none was met
	Why     string          `json:"why"`            // what bounds the rate
	Goodput *float64        `json:"goodput_max_per_s"`
	Curve   []CapacityPoint `json:"curve"` // by rising rate
	Target  string          `json:"target"`
	Partial bool            `json:"partial"`

	NoStream bool `json:"no_stream"` // the target gave no stream at the first rate
}

// The plan's phase at a rate of a search.
const capacityPhase = "hold"

// FindCapacity raises the rate by steps until a gate fails, and then halves the
// distance between the highest rate that held and the lowest that did not.
// What is undecided did not hold; nor did a rate that the instrument could not
// make, which the result says.
func FindCapacity(ctx context.Context, p *LoadPlan, o CapacityOptions) (*Capacity, error) {
	o, err := o.withDefaults(p)
	if err != nil {
		return nil, err
	}
	s := &search{plan: p, o: o, found: &Capacity{Target: probe.SafeURL(p.Target.URL), Curve: []CapacityPoint{}}}
	err = s.run(ctx)
	s.conclude()
	return s.found, err
}

// Validate says what is wrong with the options for a plan.
func (o CapacityOptions) Validate(p *LoadPlan) error {
	_, err := o.withDefaults(p)
	return err
}

func (o CapacityOptions) withDefaults(p *LoadPlan) (CapacityOptions, error) {
	first := p.Load[0]
	switch {
	case len(p.Gates) == 0 && len(p.scenarioGates()) == 0:
		return o, errors.New("the plan has no gates: capacity is the highest rate at which they hold, so give at least one, such as gates: {complete: [share >= 99%], ttft: [p95 < 2s]}")
	case !first.Open() || first.Kind() == gen.KindTrace:
		return o, fmt.Errorf("the plan's first phase has arrivals %s: a search for capacity needs a rate (constant, poisson, gamma)", first.Kind())
	}
	if o.From == 0 {
		if o.From = first.Rate; o.From == 0 {
			o.From = max(first.From, 1)
		}
	}
	if o.Factor == 0 {
		o.Factor = 2
	}
	if o.Precision == 0 {
		o.Precision = 0.1
	}
	if o.Max == 0 {
		o.Max = 64 * o.From
	}
	if o.Hold == 0 {
		o.Hold = first.Duration
	}
	if o.Rest == 0 {
		o.Rest = time.Second
	}
	switch {
	case o.Factor <= 1:
		return o, fmt.Errorf("factor %g: each step must be higher than the one before, such as 2", o.Factor)
	case o.Precision < 0.005 || o.Precision >= 1:
		return o, fmt.Errorf("precision %g: give a part from 0.005 up to 1, such as 0.1", o.Precision)
	case o.Max < o.From:
		return o, fmt.Errorf("the highest rate %s is below the first, %s", o.Max, o.From)
	}
	return o, nil
}

// search is a search while it goes on.
type search struct {
	plan  *LoadPlan
	o     CapacityOptions
	found *Capacity
	low   gen.Rate // highest that held; 0 = none yet
	high  gen.Rate // lowest that did not; 0 = none yet
	runs  int
}

func (s *search) run(ctx context.Context) error {
	for rate := s.o.From; s.high == 0; rate = min(s.o.Max, gen.Rate(float64(rate)*s.o.Factor)) {
		more, err := s.try(ctx, rate)
		if err != nil || !more {
			return err
		}
		if rate == s.o.Max && s.high == 0 {
			return nil
		}
	}
	// No rate held: look below the first, where a service may still be well.
	for s.low == 0 && s.high > s.o.From/64 {
		more, err := s.try(ctx, s.high/gen.Rate(s.o.Factor))
		if err != nil || !more {
			return err
		}
	}
	for s.low > 0 && float64(s.high/s.low)-1 > s.o.Precision {
		more, err := s.try(ctx, gen.Rate(math.Sqrt(float64(s.low*s.high))))
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// try holds one rate; false where the search must end.
func (s *search) try(ctx context.Context, rate gen.Rate) (bool, error) {
	rate = tidy(rate)
	if s.runs > 0 && !pause(ctx, s.o.Rest) {
		s.found.Partial = true
		return false, nil
	}
	s.runs++
	plan := s.at(rate)
	b, err := RunBench(ctx, plan, s.options(rate))
	if err != nil {
		return false, fmt.Errorf("at %s: %w", rate, err)
	}
	point := pointOf(rate, plan, b)
	s.found.insert(point)
	s.found.NoStream = s.runs == 1 && b.NoStream()
	if s.o.Point != nil {
		s.o.Point(point)
	}
	if b.Run.Partial {
		s.found.Partial = true
		return false, nil
	}
	if point.Holds {
		s.low = rate
	} else {
		s.high = rate
	}
	return !s.found.NoStream, nil
}

// tidy keeps three digits of a rate: more would say nothing.
func tidy(r gen.Rate) gen.Rate {
	unit := math.Pow(10, math.Floor(math.Log10(float64(r)))-2)
	return gen.Rate(math.Round(float64(r)/unit) * unit)
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// at is the plan with one phase at a rate, and every gate for it.
func (s *search) at(rate gen.Rate) *LoadPlan {
	p := *s.plan
	first := s.plan.Load[0]
	phase := gen.Phase{
		Name: capacityPhase, Arrivals: gen.KindPoisson, Rate: rate, Warmup: first.Warmup,
		MaxInFlight: first.MaxInFlight, OnFull: first.OnFull, Duration: s.hold(rate),
	}
	switch first.Kind() {
	case gen.KindConstant:
		phase.Arrivals = gen.KindConstant
	case gen.KindGamma:
		phase.Arrivals, phase.CV = gen.KindGamma, first.CV
	}
	p.Load = Phases{phase}
	p.Gates = everywhere(p.Gates)
	p.Scenarios = append(Scenarios(nil), p.Scenarios...)
	for i := range p.Scenarios {
		p.Scenarios[i].Gates = everywhere(p.Scenarios[i].Gates)
	}
	return &p
}

// everywhere takes the phases out of gates.
func everywhere(g judge.Gates) judge.Gates {
	out := judge.Gates{}
	for name, list := range g {
		for _, c := range list {
			c.Phase = ""
			out[name] = append(out[name], c)
		}
	}
	return out
}

// enough is how many requests a quantile needs to be decided (METRICS §8.5),
// and a little more.
var enough = map[string]float64{"p50": 8, "p90": 45, "p95": 85, "p99": 400}

// longest bounds a hold, however few requests a low rate brings.
const longest = 10 * time.Minute

// hold is how long a rate is held: as asked, but long enough that the gates of
// every scenario are decided.
func (s *search) hold(rate gen.Rate) time.Duration {
	total, seconds := 0, s.o.Hold.Seconds()
	for _, x := range s.plan.Scenarios {
		total += max(1, x.Weight)
	}
	need := func(g judge.Gates, share float64) {
		for _, list := range g {
			for _, c := range list {
				seconds = max(seconds, enough[c.Stat]/(float64(rate)*share))
			}
		}
	}
	need(s.plan.Gates, 1)
	for _, x := range s.plan.Scenarios {
		need(x.Gates, float64(max(1, x.Weight))/float64(total))
	}
	return min(time.Duration(seconds*float64(time.Second)), max(longest, s.o.Hold))
}

func (s *search) options(rate gen.Rate) BenchOptions {
	o := s.o.Bench
	name := "r" + strings.TrimSuffix(rate.String(), "/s")
	o.Kind = "capacity"
	if o.ID == "" {
		o.ID = RunName(o.Kind, time.Now())
	}
	o.ID = fmt.Sprintf("%s-%d-%s", o.ID, s.runs, name)
	if o.Dir != "" {
		o.Dir = filepath.Join(o.Dir, fmt.Sprintf("%02d-%s", s.runs, name))
	}
	o.Seed = s.plan.Seed + uint64(s.runs) // each rate has arrivals of its own
	return o
}

// conclude says what was found.
func (s *search) conclude() {
	f := s.found
	f.Verdict = judge.Fail
	for i := range f.Curve {
		x := &f.Curve[i]
		if f.Goodput == nil || x.Goodput > *f.Goodput {
			f.Goodput = &x.Goodput
		}
		if x.Rate == float64(s.high) {
			f.Below, f.Why = &x.Rate, strings.Join(x.Why, "; ")
			if x.Verdict == judge.Invalid && s.low == 0 {
				f.Verdict = judge.Invalid
			}
			if x.Verdict == judge.Invalid {
				f.Why = "the generator was the limit, not the service: " + f.Why
			}
		}
	}
	if s.low > 0 {
		low := float64(s.low)
		f.Verdict, f.Rate = judge.Pass, &low
	}
	if s.high == 0 && s.low == s.o.Max {
		f.Why = fmt.Sprintf("it held at the highest rate that was tried, %s", s.o.Max)
	}
}
