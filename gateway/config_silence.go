package gateway

import (
	"fmt"
	"math"
	"time"

	"weir/config"
)

// UnmarshalConfig implements config.Unmarshaler: a tier that is not set makes
// room for those that are. Only act is never brought forward, as it may end
// streams.
func (s *Silence) UnmarshalConfig(n config.Node) error {
	const unset = math.MinInt64
	type plain Silence
	p := plain{unset, unset, unset}
	if err := n.Decode(&p); err != nil {
		return err
	}
	d := DefaultRoute().Silence
	if p.Act == unset {
		p.Act = max(d.Act, p.Log)
	}
	if p.Tell == unset {
		p.Tell = max(d.Tell, p.Act, p.Log)
	}
	if p.Log == unset {
		p.Log = d.Log
		for _, later := range []time.Duration{p.Act, p.Tell} {
			if later > 0 {
				p.Log = min(p.Log, later)
			}
		}
	}
	*s = Silence(p)
	return nil
}

// check finds tiers that fall.
func (s *Silence) check() error {
	var before time.Duration
	var name string
	for _, tier := range []struct {
		name string
		at   time.Duration
	}{{"log", s.Log}, {"act", s.Act}, {"tell", s.Tell}} {
		if tier.at == 0 {
			continue
		}
		if tier.at < before {
			return fmt.Errorf("silence: %s is %s, below %s of %s; log, act and tell must not fall in this order (0 switches one off)",
				tier.name, tier.at, name, before)
		}
		before, name = tier.at, tier.name
	}
	return nil
}
