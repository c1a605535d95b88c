package load

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The kinds of arrivals.
const (
	KindConstant = "constant" // evenly spaced
	KindPoisson  = "poisson"  // independent arrivals: exponential times between
	KindGamma    = "gamma"    // bursty (cv > 1) or regular (cv < 1) arrivals
	KindRamp     = "ramp"     // the rate rises or falls evenly
	KindSteps    = "steps"    // one rate after the other, each for an equal time
	KindSpike    = "spike"    // a rate, and for a while another
	KindTrace    = "trace"    // the times of a file
	KindClosed   = "closed"   // so many at a time, the next when one ends: hides queueing
	KindSingle   = "single"   // one at a time, the next when it ends: the service unloaded
)

// Arrivals lists the kinds of arrivals.
var Arrivals = []string{KindConstant, KindPoisson, KindGamma, KindRamp, KindSteps, KindSpike, KindTrace, KindClosed, KindSingle}

// What to do with an arrival at the limit in flight.
const (
	Drop  = "drop"  // do not send it; it is a result, part of every denominator
	Queue = "queue" // send it when another ends; the wait is part of its latency
)

// Spike is another rate for a while.
type Spike struct {
	Rate Rate          `yaml:"rate"`
	At   time.Duration `yaml:"at"`  // after the start of the phase's duration
	For  time.Duration `yaml:"for"` // how long
}

// Phase is one stretch of load. Warm-up comes before the duration, at its
// opening rate, and is left out of figures.
type Phase struct {
	Name        string        `yaml:"name"`
	Arrivals    string        `yaml:"arrivals"` // "" = poisson
	Rate        Rate          `yaml:"rate"`
	CV          float64       `yaml:"cv"` // coefficient of variation of the times between arrivals
	From        Rate          `yaml:"from"`
	To          Rate          `yaml:"to"`
	Steps       []Rate        `yaml:"steps"`
	Spike       Spike         `yaml:"spike"`
	File        string        `yaml:"file"`
	Timestamps  string        `yaml:"timestamps"` // trace: unit of numbers: s (default of CSV) or ms (default of JSONL)
	Concurrency int           `yaml:"concurrency"`
	Requests    int           `yaml:"requests"` // closed, single: end after so many; 0 = by duration alone
	Duration    time.Duration `yaml:"duration"`
	Warmup      time.Duration `yaml:"warmup"`
	MaxInFlight int           `yaml:"max_in_flight"` // 0 = no limit but the machine's
	OnFull      string        `yaml:"on_full"`       // "" = drop

	trace []traced // read by Load
}

// maxDuration bounds a phase: what runs longer is watched, not tested.
const maxDuration = 7 * 24 * time.Hour

// Kind is the phase's kind of arrivals.
func (p Phase) Kind() string {
	if p.Arrivals == "" {
		return KindPoisson
	}
	return p.Arrivals
}

// Open reports whether the phase's arrivals follow a schedule, whatever the
// service does.
func (p Phase) Open() bool { return p.Kind() != KindClosed && p.Kind() != KindSingle }

// Span is warm-up and duration together: how long arrivals are due.
func (p Phase) Span() time.Duration { return p.Warmup + p.length() }

// length is the duration; that of a trace is by default its own.
func (p Phase) length() time.Duration {
	if n := len(p.trace); p.Duration == 0 && n > 0 {
		return p.trace[n-1].at + 1
	}
	return p.Duration
}

// Validate says what is wrong with a phase, and what would be right.
func (p Phase) Validate() error {
	if !slices.Contains(Arrivals, p.Kind()) {
		return fmt.Errorf("arrivals %q is not known; allowed: %s", p.Arrivals, strings.Join(Arrivals, ", "))
	}
	for _, check := range []func() error{p.checkKeys, p.checkTimes, p.checkKind, p.checkLimit} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// phaseKeys says which kinds take a key.
var phaseKeys = []struct {
	name  string
	set   func(Phase) bool
	kinds []string
}{
	{"rate", func(p Phase) bool { return p.Rate != 0 }, []string{KindConstant, KindPoisson, KindGamma, KindSpike}},
	{"cv", func(p Phase) bool { return p.CV != 0 }, []string{KindGamma, KindRamp, KindSteps, KindSpike}},
	{"from", func(p Phase) bool { return p.From != 0 }, []string{KindRamp}},
	{"to", func(p Phase) bool { return p.To != 0 }, []string{KindRamp}},
	{"steps", func(p Phase) bool { return len(p.Steps) > 0 }, []string{KindSteps}},
	{"spike", func(p Phase) bool { return p.Spike != Spike{} }, []string{KindSpike}},
	{"file", func(p Phase) bool { return p.File != "" }, []string{KindTrace}},
	{"timestamps", func(p Phase) bool { return p.Timestamps != "" }, []string{KindTrace}},
	{"concurrency", func(p Phase) bool { return p.Concurrency != 0 }, []string{KindClosed}},
	{"requests", func(p Phase) bool { return p.Requests != 0 }, []string{KindClosed, KindSingle}},
	{"max_in_flight", func(p Phase) bool { return p.MaxInFlight != 0 }, []string{KindConstant, KindPoisson, KindGamma, KindRamp, KindSteps, KindSpike, KindTrace}},
	{"on_full", func(p Phase) bool { return p.OnFull != "" }, []string{KindConstant, KindPoisson, KindGamma, KindRamp, KindSteps, KindSpike, KindTrace}},
}

// checkKeys refuses a key that the phase's kind would ignore.
func (p Phase) checkKeys() error {
	for _, k := range phaseKeys {
		if k.set(p) && !slices.Contains(k.kinds, p.Kind()) {
			return fmt.Errorf("arrivals %s takes no %s; it is for %s", p.Kind(), k.name, strings.Join(k.kinds, ", "))
		}
	}
	return nil
}

func (p Phase) checkTimes() error {
	switch {
	case p.Duration < 0 || p.Warmup < 0:
		return errors.New("a duration is negative")
	case p.Duration > maxDuration || p.Warmup > maxDuration:
		return fmt.Errorf("a phase lasts at most %s", maxDuration)
	case p.Duration == 0 && p.Kind() != KindTrace && p.Requests == 0:
		return errors.New("duration is missing: write how long arrivals last, such as duration: 30s")
	case p.Kind() == KindTrace && p.Warmup != 0:
		return errors.New("arrivals trace takes no warmup: its times are the file's")
	}
	return nil
}

// checkKind wants what the phase's kind cannot do without.
func (p Phase) checkKind() error {
	switch p.Kind() {
	case KindConstant, KindPoisson, KindGamma:
		return p.wantRate()
	case KindRamp:
		if p.From <= 0 && p.To <= 0 {
			return errors.New("a ramp needs from and to, one of them above 0, such as from: 1/s, to: 20/s")
		}
	case KindSteps:
		if len(p.Steps) == 0 || slices.Max(p.Steps) <= 0 {
			return errors.New("steps needs a list of rates, such as steps: [5/s, 10/s]")
		}
	case KindSpike:
		return p.checkSpike()
	case KindTrace:
		return p.checkTrace()
	case KindClosed:
		if p.Concurrency < 1 || p.Concurrency > 1_000_000 {
			return fmt.Errorf("concurrency %d: a closed phase needs at least 1 request at a time", p.Concurrency)
		}
	}
	if p.Requests < 0 {
		return errors.New("requests is negative")
	}
	return p.checkCV(0)
}

func (p Phase) wantRate() error {
	if p.Rate <= 0 {
		return fmt.Errorf("rate is missing: arrivals %s needs one above 0, such as rate: 20/s", p.Kind())
	}
	if p.Kind() == KindGamma {
		return p.checkCV(minCV)
	}
	return nil
}

// Bounds of cv: below, arrivals are as good as even; above, a run of any
// length would be one burst.
const (
	minCV = 0.01
	maxCV = 20
)

func (p Phase) checkCV(least float64) error {
	if p.CV < least || p.CV > maxCV || p.CV != 0 && p.CV < minCV {
		return fmt.Errorf("cv %g: give one from %g to %d; 1 is as poisson, above is burstier", p.CV, minCV, maxCV)
	}
	return nil
}

func (p Phase) checkSpike() error {
	s := p.Spike
	switch {
	case p.Rate <= 0 && s.Rate <= 0:
		return errors.New("a spike needs a rate before and after it, such as rate: 5/s, and its own")
	case s.For <= 0 || s.At < 0:
		return errors.New("a spike needs when and how long, such as spike: {rate: 50/s, at: 10s, for: 5s}")
	case s.At+s.For > p.Duration:
		return fmt.Errorf("the spike ends after %s, the phase after %s", s.At+s.For, p.Duration)
	}
	return p.checkCV(0)
}

func (p Phase) checkTrace() error {
	if p.File == "" {
		return errors.New("a trace needs a file of times, such as file: trace.jsonl")
	}
	if !slices.Contains([]string{"", "s", "ms"}, p.Timestamps) {
		return fmt.Errorf("timestamps %q: numbers in a trace are s or ms", p.Timestamps)
	}
	return nil
}

func (p Phase) checkLimit() error {
	if p.MaxInFlight < 0 {
		return errors.New("max_in_flight is negative: give the most streams at once, or 0 for no limit")
	}
	if !slices.Contains([]string{"", Drop, Queue}, p.OnFull) {
		return fmt.Errorf("on_full %q is not known; allowed: drop, queue", p.OnFull)
	}
	if p.OnFull == Queue && p.MaxInFlight == 0 {
		return errors.New("on_full: queue needs max_in_flight: without a limit nothing ever waits")
	}
	return nil
}
