package table

import (
	"encoding/json"
	"time"
)

// Run is what rows belong to: one execution of one plan, with what is needed
// to say later what was measured, by which instrument, and how fit it was.
type Run struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`  // bench | capacity | probe …
	Start   time.Time `json:"start"` // UTC
	Target  string    `json:"target"`
	Dialect string    `json:"dialect,omitempty"`
	Model   string    `json:"model,omitempty"`

	Labels map[string]string `json:"labels,omitempty"` // the plan's, of every request
	Tags   []string          `json:"tags,omitempty"`   // people's, given later

	Plan  string `json:"plan,omitempty"` // its text as it was run, without secrets
	Seed  uint64 `json:"seed"`
	Shard string `json:"shard,omitempty"` // "i/n" where the run is a part of a larger one

	Weir        string            `json:"weir"`                  // version of the program
	Definitions int               `json:"definitions"`           // metric.Version
	Environment map[string]string `json:"environment,omitempty"` // of the generator

	// Config is what must match between runs that are compared, variables of the
	// plan resolved, long values as their digest.
	Config map[string]string `json:"config,omitempty"`
	// Held is what the run was held to: an object with gates, prices and marks,
	// so that it can be judged again together with others of its plan.
	Held json.RawMessage `json:"held,omitempty"`

	Phases   json.RawMessage `json:"phases,omitempty"` // what each phase of the load did: a list of objects
	Warnings []string        `json:"warnings,omitempty"`
	Deadline float64         `json:"deadline_ms,omitempty"` // the longest that a request might take

	Health  json.RawMessage `json:"health,omitempty"`  // of the instrument: an object with "verdict"
	Verdict json.RawMessage `json:"verdict,omitempty"` // on the target: an object with "verdict"
	Partial bool            `json:"partial"`           // it ended early, or has not ended
	Rows    int             `json:"rows"`              // how many a store holds; stores count by themselves
}

// Decision is the verdict on the target in a word (pass, fail, undecided,
// invalid), or "" where there is none.
func (r Run) Decision() string { return verdictIn(r.Verdict) }

// Fitness is the verdict on the instrument in a word (valid, suspect,
// invalid), or "" where there is none.
func (r Run) Fitness() string { return verdictIn(r.Health) }

func verdictIn(object json.RawMessage) string {
	var o struct {
		Verdict string `json:"verdict"`
	}
	if len(object) == 0 || json.Unmarshal(object, &o) != nil {
		return ""
	}
	return o.Verdict
}
