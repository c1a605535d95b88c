package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"weir/dialect"
	"weir/probe"
	"weir/stream"
)

// Labels that every record of a load carries beside the plan's own. The
// scenario's stands under "scenario".
const (
	PhaseLabel    = "phase"
	ScenarioLabel = "scenario"
	ArrivalsLabel = "arrivals" // the phase's kind of arrivals
	WarmupLabel   = "warmup"   // "true" on what is left out of figures; else not there
)

// DefaultDrain is how long streams may go on after the last phase.
const DefaultDrain = 30 * time.Second

// Config is a load to run.
type Config struct {
	Phases    []Phase
	Scenarios []Scenario
	Target    string
	Dialect   dialect.Dialect // nil: found by probe
	Probe     probe.Options   // NewMarker and OnEvent are the load's own
	Labels    map[string]string
	Run       string
	Seed      uint64
	Shard     Shard
	Drain     time.Duration // 0 = DefaultDrain
	Precise   bool          // Linux: a thread of its own for the pacer, to about 0.1 ms
	Base      string        // directory of the plan, for the files it names
	APIKey    string
	Header    http.Header
	Nonce     string             // put before every prompt with the request's number; "" = prompts as they are
	Limits    map[string]float64 // of Health, by the names in Limits; others by default

	// Done takes each request that finished or was dropped, with the records of
	// its answers, which it may keep. It is called from many goroutines.
	Done func(Request, []*stream.Record)
	Live *Live // counters for a live view; nil = none
}

// Validate says what is wrong with a load, and what would be right. Files are
// not read.
func (c Config) Validate() error {
	switch {
	case len(c.Phases) == 0:
		return errors.New("load: give at least one phase, such as {name: steady, rate: 5/s, duration: 30s}")
	case len(c.Scenarios) == 0:
		return errors.New("scenarios: give at least one, such as {name: plain, request: {prompt: \"…\"}}")
	case c.Drain < 0:
		return errors.New("drain is negative")
	}
	seen := map[string]bool{}
	for i, p := range c.Phases {
		if err := p.Validate(); err != nil {
			return fmt.Errorf("load phase %d %s: %w", i+1, p.Name, err)
		}
		if seen[p.Name] {
			return fmt.Errorf("load: two phases are called %q; names tell them apart in every table", p.Name)
		}
		seen[p.Name] = true
	}
	seen = map[string]bool{}
	for _, s := range c.Scenarios {
		if err := s.Validate(); err != nil {
			return fmt.Errorf("scenario %s: %w", s.Name, err)
		}
		if seen[s.Name] {
			return fmt.Errorf("scenarios: two are called %q; names tell them apart in every table", s.Name)
		}
		seen[s.Name] = true
	}
	if err := CheckLimits(c.Limits); err != nil {
		return err
	}
	return c.Shard.validate()
}

// Result is what a load did; what came of each request went to Config.Done.
type Result struct {
	Start    time.Time     `json:"start"`
	Phases   []PhaseResult `json:"phases"`
	Health   Health        `json:"health"`
	Partial  bool          `json:"partial"` // interrupted before its end
	Warnings []string      `json:"warnings,omitempty"`

	// Unseen lists, by scenario, the marks that no answer reached.
	Unseen map[string][]string `json:"unseen_marks,omitempty"`
}

// PhaseResult is what one phase did. Counts are of this shard and leave the
// warm-up out, which is counted apart.
type PhaseResult struct {
	Name         string    `json:"name"`
	Arrivals     string    `json:"arrivals"`
	Start        time.Time `json:"start"`          // of the warm-up
	Seconds      float64   `json:"seconds"`        // measured, warm-up left out
	Planned      int       `json:"planned"`        // arrivals that were due
	Sent         int       `json:"sent"`           // requests made
	Dropped      int       `json:"dropped"`        // at max_in_flight
	OwnDrops     int       `json:"own_drops"`      // for want of descriptors: ours
	Queued       int       `json:"queued"`         // that had to wait at max_in_flight
	Warmups      int       `json:"warmup_planned"` // arrivals of the warm-up
	PeakInFlight int       `json:"peak_in_flight"`
	PlannedRate  float64   `json:"planned_rate_per_s"`
	AchievedRate float64   `json:"achieved_rate_per_s"` // arrivals released in time

	onTime int // released before the phase ended
}

// doer makes one request; probe.Client does.
type doer interface {
	Do(ctx context.Context, a dialect.Ask, m probe.Meta) ([]*stream.Record, error)
}

// stop is why streams were ended by us.
type stop struct{ reason, text string }

func (s *stop) Error() string { return s.text }

// The ways we end a stream, as its record's reason.
const (
	ReasonEndOfRun    = "end_of_run"
	ReasonEndOfPhase  = "end_of_phase"
	ReasonInterrupted = "interrupted"
	ReasonCancelAfter = "cancel_after"
	ReasonInFlight    = "in_flight_limit" // dropped
	ReasonDescriptors = "no_descriptor"   // ours: dropped, or error_early
	ReasonPort        = "no_local_port"   // ours: error_early
)

// Own reports whether a record says something of this machine, not of the
// service: it is left out of every set, and makes the run invalid.
func Own(r *stream.Record) bool { return OwnReason(r.Reason) }

// OwnReason is Own for a reason alone.
func OwnReason(reason string) bool { return reason == ReasonDescriptors || reason == ReasonPort }
