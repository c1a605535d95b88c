package gateway

import "time"

// turns are the addresses of a request: which one is asked next, and which
// said when they want to be asked again.
type turns struct {
	urls []URL
	at   int         // the one that is asked
	from []time.Time // when each may be asked again
	said []*failure  // what it answered who says that
}

func newTurns(u *upstream) *turns {
	n := len(u.URLs)
	first := int((u.turn.Add(1) - 1) % uint32(n)) //nolint:gosec // a configuration has no billions of addresses
	return &turns{urls: u.URLs, at: first, from: make([]time.Time, n), said: make([]*failure, n)}
}

// url is the address that is asked.
func (t *turns) url() URL { return t.urls[t.at] }

// failed notes what the address said of being asked again.
func (t *turns) failed(f *failure, now time.Time) {
	t.from[t.at], t.said[t.at] = time.Time{}, nil
	if f.after > 0 {
		t.from[t.at], t.said[t.at] = now.Add(f.after), f
	}
}

// next goes to the address that is next to be asked after a pause: one that may
// be asked then, else the one that may be the soonest. It returns how long to
// wait for it, and what an address that makes the pause longer answered.
func (t *turns) next(now time.Time, pause time.Duration) (wait time.Duration, longer *failure) {
	best := -1
	for k := range t.urls {
		i := (t.at + 1 + k) % len(t.urls)
		if !t.from[i].After(now.Add(pause)) {
			t.at = i
			return pause, nil
		}
		if best < 0 || t.from[i].Before(t.from[best]) {
			best = i
		}
	}
	t.at = best
	return t.from[best].Sub(now), t.said[best]
}
