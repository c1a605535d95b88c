package telemetry

import "sync"

// Other is the label of everything beyond a label's allowed values.
const Other = "other"

// Unknown is the label of what nobody stated.
const Unknown = "unknown"

// names admits values of a label up to a number, so that no series can be
// made without end.
type names struct {
	limit int
	fixed bool // only what is in it from the start

	mu   sync.RWMutex
	seen map[string]bool
}

func newNames(limit int, listed ...string) *names {
	n := &names{limit: limit, fixed: len(listed) > 0, seen: map[string]bool{}}
	for _, s := range listed {
		n.seen[s] = true
	}
	return n
}

// label is the value to count under. sure says that the value did not come
// from a caller alone, so that it may take one of the free places.
func (n *names) label(value string, sure bool) string {
	if value == "" {
		return Unknown
	}
	n.mu.RLock()
	known := n.seen[value]
	n.mu.RUnlock()
	if known {
		return value
	}
	if n.fixed || !sure {
		return Other
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.seen[value] && len(n.seen) >= n.limit {
		return Other
	}
	n.seen[value] = true
	return value
}
