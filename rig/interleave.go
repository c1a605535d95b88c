package rig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/judge"
	gen "weir/load"
	"weir/table"
)

// Arm is one side of a comparison that is yet to be run.
type Arm struct {
	Name  string
	Plan  *LoadPlan
	Model string // asked for where plan and scenario name none
}

// InterleaveOptions say how runs are made to be compared.
type InterleaveOptions struct {
	// A is left empty where Baseline, runs that are there already, is side A.
	A, B     Arm
	Baseline []Part

	Bench   BenchOptions  // of every run; ID is the session's name, Dir gets a directory a run
	Repeats int           // runs a side; 0 = DefaultRepeats
	Rest    time.Duration // between runs, for the service to recover; 0 = 1 s
	Compare judge.CompareOptions

	Step func(Step) // told before each run; nil = nobody
}

// DefaultRepeats can decide on up to 23 figures.
const DefaultRepeats = 6

// Step is one run that is about to begin.
type Step struct {
	Name    string // warm-up of a, a1, b1 …
	I, Of   int    // from 1, warm-ups included
	Discard bool   // a warm-up: nothing of it is kept
	Live    *gen.Live
}

// Interleaved is what a session of runs came to.
type Interleaved struct {
	ID         string
	A, B       []Part
	Comparison *judge.Comparison // nil where a side has no run that can be compared
	Warnings   []string          // also among those of Comparison
	Partial    bool              // it was interrupted
	Unfit      int               // runs left out because the instrument was not fit
	NoStream   string            // the side that gave no stream at all, "" = both did
}

func (o InterleaveOptions) withDefaults() InterleaveOptions {
	if o.Repeats == 0 {
		o.Repeats = DefaultRepeats
	}
	if o.Rest == 0 {
		o.Rest = time.Second
	}
	if o.Bench.ID == "" {
		o.Bench.ID = RunName("compare", time.Now())
	}
	o.Bench.Kind = "compare"
	return o
}

// Forecast is what can be said of a session before it begins.
type Forecast struct {
	Runs     int           // discarded warm-ups included
	Duration time.Duration // of arrivals and rests; answers in flight come on top
	AtLeast  bool          // Duration is a lower bound
	Figures  []judge.Figure
	Warning  string // what so few runs cannot find; "" = they can convict
}

// Forecast says how long a session will take and what it will be able to find.
func (o InterleaveOptions) Forecast() (f Forecast, err error) {
	o = o.withDefaults()
	var run table.Run
	if len(o.Baseline) > 0 {
		run = o.Baseline[0].Run
	} else {
		run.Held = o.A.Plan.held()
	}
	h, err := ReadHeld(run)
	if err != nil {
		return f, err
	}
	if f.Figures, _ = h.family(); len(f.Figures) == 0 {
		f.Figures = judge.Headline
	}
	runsOfA := o.Repeats
	if len(o.Baseline) > 0 {
		runsOfA = len(o.Baseline)
	}
	f.Warning = judge.ForewarnSides(runsOfA, o.Repeats, len(f.Figures))
	for _, arm := range o.arms() {
		d, more := arm.Plan.length()
		f.Runs += o.Repeats + 1
		f.Duration += time.Duration(o.Repeats+1) * d
		f.AtLeast = f.AtLeast || more
	}
	f.Duration += time.Duration(f.Runs-1) * o.Rest
	return f, nil
}

// arms are the sides that are run.
func (o InterleaveOptions) arms() []Arm {
	if len(o.Baseline) > 0 {
		return []Arm{o.B}
	}
	return []Arm{o.A, o.B}
}

// Validate says beforehand what would make the runs unlike: to find out after
// an hour of load would be late.
func (o InterleaveOptions) Validate() error {
	o = o.withDefaults()
	switch {
	case o.Repeats < 1 || o.Repeats > 1000:
		return fmt.Errorf("%d repeats: give the runs a side, such as %d", o.Repeats, DefaultRepeats)
	case o.Bench.Shard != gen.Shard{}:
		return errors.New("a shard is a part of a run, and only whole runs are compared here")
	}
	b, err := o.config(o.B)
	if err != nil {
		return err
	}
	if len(o.Baseline) == 0 {
		a, err := o.config(o.A)
		if err != nil {
			return err
		}
		return o.alike("side A", a, b)
	}
	for _, p := range o.Baseline {
		switch {
		case p.Partial:
			return fmt.Errorf("run %s of the baseline was cut short: take its tag away, or remove it", p.ID)
		case p.Fitness() == gen.Invalid:
			return fmt.Errorf("run %s of the baseline is invalid, its instrument was not fit: take its tag away, or remove it", p.ID)
		}
		if err := o.alike("run "+p.ID+" of A", p.Config, b); err != nil {
			return err
		}
	}
	return nil
}

// alike holds what a run of A says of itself against what those of B will say.
// A protocol that is still to be found out is no difference.
func (o InterleaveOptions) alike(name string, a, b map[string]string) error {
	var e judge.UnlikeError
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if a[key] == b[key] || slices.Contains(o.Compare.Vary, key) || key == "dialect" && (a[key] == "" || b[key] == "") {
			continue
		}
		e.Differences = append(e.Differences, judge.Difference{Key: key, RunA: name, RunB: "side B", A: a[key], B: b[key]})
	}
	if len(e.Differences) > 0 {
		return &e
	}
	return nil
}

// config is what the runs of an arm will say of themselves.
func (o InterleaveOptions) config(arm Arm) (map[string]string, error) {
	c, err := arm.Plan.Config()
	if err != nil {
		return nil, err
	}
	run := o.run(arm, "").withDefaults(arm.Plan)
	return arm.Plan.alike(run.describe(arm.Plan, c), run.Nonce != ""), nil
}

// run are the options of one run of an arm. Every run has the same seed: the
// same load on both sides is no difference between them. Its nonce is its own,
// so that no run profits from another's prompts, unless the plan says warm or
// the runs of a baseline did otherwise.
func (o InterleaveOptions) run(arm Arm, name string) BenchOptions {
	r := o.Bench
	r.Model = arm.Model
	r.ID += "-" + name
	cold := arm.Plan.Cache != "warm"
	if len(o.Baseline) > 0 {
		cold = o.Baseline[0].Config["cache"] == "cold"
	}
	if cold {
		r.Nonce = r.ID
	}
	if r.Dir != "" {
		r.Dir = filepath.Join(r.Dir, name)
	}
	return r
}

// Interleave makes one discarded run of each side and then the pairs, each AB
// or BA by the seed, and compares them. A run that was cut short, or whose
// instrument was not fit, is kept and not compared, which is said. The error
// says that weir could not do its job.
func Interleave(ctx context.Context, o InterleaveOptions) (*Interleaved, error) {
	o = o.withDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &session{o: o, out: &Interleaved{ID: o.Bench.ID}}
	for _, side := range o.order() {
		more, err := s.run(ctx, side)
		if err != nil {
			return s.out, err
		}
		if !more {
			break
		}
	}
	if s.out.NoStream != "" {
		return s.out, nil
	}
	return s.out, s.compare()
}

// order is the sides in the order in which they are run, warm-ups first.
func (o InterleaveOptions) order() []string {
	if len(o.Baseline) > 0 {
		return slices.Repeat([]string{"b"}, o.Repeats+1)
	}
	seed := o.Bench.Seed
	if seed == 0 {
		seed = o.A.Plan.Seed
	}
	chance := rand.New(rand.NewPCG(seed, 0x696e7465726c6561))
	var out []string
	for range o.Repeats + 1 {
		if chance.IntN(2) == 0 {
			out = append(out, "a", "b")
		} else {
			out = append(out, "b", "a")
		}
	}
	return out
}

// session is a session while it goes on.
type session struct {
	o    InterleaveOptions
	out  *Interleaved
	done int
	of   [2]int // runs begun of each side, the discarded one included
}

// run makes the next run of a side; false where the session must end.
func (s *session) run(ctx context.Context, side string) (bool, error) {
	if !s.rest(ctx) {
		return s.interrupted(""), nil
	}
	i, arm, into := 0, s.o.A, &s.out.A
	if side == "b" {
		i, arm, into = 1, s.o.B, &s.out.B
	}
	discard := s.of[i] == 0
	name := fmt.Sprintf("%s%d", side, s.of[i])
	s.of[i]++
	s.done++
	o := s.o.run(arm, name)
	if discard {
		name = "warm-up of " + side
		o.Dir, o.Store = "", nil
	}
	if s.o.Step != nil {
		o.Live = gen.NewLive()
		s.o.Step(Step{Name: name, I: s.done, Of: len(s.o.arms()) * (s.o.Repeats + 1), Discard: discard, Live: o.Live})
	}
	b, err := RunBench(ctx, arm.Plan, o)
	switch {
	case err != nil:
		return false, fmt.Errorf("run %s: %w", name, err)
	case b.Run.Partial:
		return s.interrupted(o.ID), nil
	case b.NoStream():
		s.out.NoStream = strings.ToUpper(side)
		return false, nil
	case discard:
	case b.Load.Health.Verdict == gen.Invalid:
		s.out.Unfit++
		s.warn("run %s is left out: the instrument was not fit: %s", o.ID, strings.Join(b.Load.Health.Reasons, "; "))
	default:
		*into = append(*into, b.part(arm.Plan))
	}
	return true, nil
}

// rest waits before the next run, not before the first; false where the session
// was interrupted.
func (s *session) rest(ctx context.Context) bool {
	if s.done > 0 {
		pause(ctx, s.o.Rest)
	}
	return ctx.Err() == nil
}

func (s *session) warn(format string, args ...any) {
	s.out.Warnings = append(s.out.Warnings, fmt.Sprintf(format, args...))
}

// interrupted ends the session; what was cut short is not compared.
func (s *session) interrupted(id string) bool {
	s.out.Partial = true
	text := "the session was interrupted: only the runs that were whole are compared"
	if id != "" {
		text += "; " + id + " was cut short and is not"
	}
	s.warn("%s", text)
	return false
}

// compare compares what there is.
func (s *session) compare() error {
	a, names := s.out.A, [2]string{s.o.A.Name, s.o.B.Name}
	if len(s.o.Baseline) > 0 {
		a = s.o.Baseline
		s.out.A = a
	}
	if len(a) == 0 || len(s.out.B) == 0 {
		s.warn("nothing can be compared: %d runs of A and %d of B are whole, of a fit instrument", len(a), len(s.out.B))
		return nil
	}
	c, err := CompareRuns(a, s.out.B, names, s.o.Compare)
	if err != nil {
		return err
	}
	c.Warnings = append(c.Warnings, s.out.Warnings...)
	s.out.Comparison = &c
	return nil
}
