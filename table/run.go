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
