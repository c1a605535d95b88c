package diagnose

import "weir/stream"

// Severities of a finding, most severe first.
const (
	Problem = "problem" // the answer is wrong, incomplete or late in a way its figures show
	Warning = "warning" // worth a look
	Info    = "info"    // a fact that explains figures
)

// Finding is one statement about a session.
type Finding struct {
	Code       string   `json:"code"`
	Severity   string   `json:"severity"`
	Evidence   []Figure `json:"evidence"`
	Means      []string `json:"means"`                 // what may cause it; one only if the figures exclude the others
	Check      string   `json:"check"`                 // what to look at next
	Text       string   `json:"text"`                  // one sentence for a reader
	RequestIDs []string `json:"request_ids,omitempty"` // records that show it
}

// Figure is one number of the evidence.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Diagnose looks at the records of one session, other hops included
// (Record.Hop), and returns what it finds, most severe first.
func Diagnose(records []*stream.Record) []Finding {
	s := newSession(records)
	var out []Finding
	for _, rule := range rules {
		out = append(out, rule(s)...)
	}
	return ordered(out)
}
