package metric

import (
	"slices"
	"strings"

	"weir/stat"
)

// Version is the version of the definitions (METRICS). A result that is
// measured under another version is not comparable by name alone.
const Version = 1

// Direction says which way a metric gets better.
type Direction uint8

// The directions.
const (
	Neither Direction = iota // a fact, not a quality
	Lower
	Higher
)

// Basis says over which records a metric is summarised (METRICS §8).
type Basis uint8

// The bases.
const (
	Latency Basis = iota // every request that was due and sent, or dropped at the plan's limit
	Rhythm               // every stream that spoke, whatever its outcome
	Rate                 // answers that ended; the share left out is said beside
	Fact                 // every record that knows it
)

// Metric is one named number of a record.
type Metric struct {
	Name     string // ttft, gap_p95, rate_e2e, stage.prefill
	Unit     string // ms, tok/s, char/s, tokens, chars, bytes, events, count, share, index
	JSON     string // key in JSON and tables: the name with its unit, ttft_ms
	Better   Direction
	Basis    Basis
	Optional bool   // applies to some answers only: a summary without a reached value is left out
	Doc      string // one sentence: the definition
	of       func(*view) Value
}

// All is every metric with a fixed name, in the order in which tables show
// them. Those whose name comes from the stream are described by Lookup.
var All = slices.Concat(
	markMetrics, phaseMetrics, tokenMetrics, rateMetrics, gapMetrics, stallMetrics,
	batchMetrics, readerMetrics, serviceMetrics, attemptMetrics, toolMetrics, instrumentMetrics,
)

// Prefixes of the metrics whose name comes from the stream.
const (
	StagePrefix = "stage."
	MarkPrefix  = "mark."
	ToolPrefix  = "tool."
)

// prefixes lists them in the order in which tables show their metrics.
var prefixes = []string{StagePrefix, MarkPrefix, ToolPrefix}

// Dynamic reports whether a metric's name comes from the stream.
func Dynamic(name string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return len(name) > len(p) && strings.HasPrefix(name, p) })
}

// Lookup finds a metric by its name or its JSON key, dynamic ones included:
// stage.<name>, mark.<name> and tool.<name>.
func Lookup(name string) (Metric, bool) {
	for _, m := range All {
		if m.Name == name || m.JSON == name {
			return m, true
		}
	}
	return dynamic(name)
}

func dynamic(name string) (Metric, bool) {
	if s, ok := strings.CutPrefix(name, StagePrefix); ok && s != "" {
		return Metric{
			Name: name, Unit: "ms", JSON: "stage_" + s + "_ms", Better: Lower, Basis: Fact, Optional: true,
			Doc: "duration of the stage " + s + ", as the service states it",
		}, true
	}
	if s, ok := strings.CutPrefix(name, MarkPrefix); ok && s != "" {
		return Metric{
			Name: name, Unit: "ms", JSON: "mark_" + s + "_ms", Better: Lower, Basis: Latency,
			Doc: "first event at which the mark " + s + " held, since t0",
		}, true
	}
	if s, ok := strings.CutPrefix(name, ToolPrefix); ok && s != "" {
		return Metric{
			Name: name, Unit: "count", JSON: "tool_" + s + "_calls", Better: Lower, Basis: Fact, Optional: true,
			Doc: "calls of the tool " + s + " that the answer made",
		}, true
	}
	return Metric{}, false
}

// State says what is known of a value; see package stat.
type State = stat.State

// The states of a value.
const (
	Missing = stat.Missing
	Reached = stat.Reached
	Over    = stat.Over
	Never   = stat.Never
)

// Value is a metric's value, or what is known of it. Its zero is Missing.
type Value = stat.Sample
