package gateway

import (
	"errors"
	"fmt"
	"time"

	"weir/pace"
)

// Pacing says whether the text of a route's streams leaves evenly where the
// service sends it in bursts.
type Pacing struct {
	Enabled  bool          `yaml:"enabled"`
	MaxDelay time.Duration `yaml:"max_delay"` // the most that is added to any byte
}

// OutputRate is how fast output goes to a client.
type OutputRate struct {
	TokensPerSecond float64 `yaml:"tokens_per_second"` // 0 = no limit
	Burst           int     `yaml:"burst"`             // tokens that may go at once; 0 = those of a second
}

func defaultPacing() Pacing { return Pacing{MaxDelay: pace.DefaultMaxDelay} }

// The bounds of pacing.max_delay: less is no more than a screen's frame, more is
// a stall of the gateway's own.
const (
	leastDelay = 10 * time.Millisecond
	mostDelay  = 2 * time.Second
)

// Validate implements config.Validator.
func (p *Pacing) Validate() error {
	if p.MaxDelay < leastDelay || p.MaxDelay > mostDelay {
		return fmt.Errorf("max_delay is %s; it must be from %s to %s", p.MaxDelay, leastDelay, mostDelay)
	}
	return nil
}

// Validate implements config.Validator.
func (r *OutputRate) Validate() error {
	switch {
	case !(r.TokensPerSecond >= 0 && r.TokensPerSecond <= 1e9):
		return errors.New("tokens_per_second must be from 0 (no limit) to 1e9")
	case r.Burst < 0 || r.Burst > 1e9:
		return fmt.Errorf("burst is %d; it must be from 0 (the tokens of a second) to 1e9", r.Burst)
	case r.Burst > 0 && r.TokensPerSecond == 0:
		return errors.New("burst without tokens_per_second limits nothing; give both, or neither")
	}
	return nil
}
