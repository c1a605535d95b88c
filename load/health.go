package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/stream"
)

// The verdicts on the instrument.
const (
	Valid   = "valid"
	Suspect = "suspect" // figures stand, with doubt
	Invalid = "invalid" // figures say something of this machine
)

// Health says whether the instrument was fit (METRICS §9). What is not known
// is missing, and finds no fault.
type Health struct {
	Verdict string   `json:"verdict"`
	Reasons []string `json:"reasons"`

	// Lateness is the pacer's and the scheduler's: from due to a goroutine that
	// runs. The wait for a place in flight is a result and not in it.
	LatenessP50   stream.Maybe[float64] `json:"lateness_p50_ms"`
	LatenessP95   stream.Maybe[float64] `json:"lateness_p95_ms"`
	LatenessP99   stream.Maybe[float64] `json:"lateness_p99_ms"`
	LatenessMax   stream.Maybe[float64] `json:"lateness_max_ms"`
	MedianTTFT    stream.Maybe[float64] `json:"median_ttft_ms"`
	AchievedRatio stream.Maybe[float64] `json:"achieved_ratio"` // arrivals released in time ÷ planned
	Drops         int                   `json:"drops"`          // at the plan's limit: a result
	OwnDrops      int                   `json:"own_drops"`      // for want of descriptors or ports: ours
	Lost          int                   `json:"lost"`           // records that could not be kept
	Events        int                   `json:"events"`
	LagMaxShare   stream.Maybe[float64] `json:"lag_max_share"`        // events whose oldest byte may have waited too long
	LagShareApp   stream.Maybe[float64] `json:"lag_max_share_app"`    // of streams with application stamps
	LagShareKern  stream.Maybe[float64] `json:"lag_max_share_kernel"` // of streams with kernel stamps
	SchedP99      stream.Maybe[float64] `json:"sched_latency_p99_ms"` // a goroutine's wait for a processor
	GCPauseMax    stream.Maybe[float64] `json:"gc_pause_max_ms"`
	CPUShare      stream.Maybe[float64] `json:"cpu_share"` // of the processors this process may use
	FDHeadroom    stream.Maybe[float64] `json:"fd_headroom"`
	PortHeadroom  stream.Maybe[float64] `json:"port_headroom"`
	PeakInFlight  int                   `json:"peak_in_flight"`

	Limits map[string]float64 `json:"limits"` // in use
}

// Limit is one limit of Health: a choice, which a plan may change.
type Limit struct {
	Name    string
	Default float64
	Doc     string
}

// Limits are the limits of Health.
var Limits = []Limit{
	{"lag_over_ms", 10, "a read whose oldest byte may have waited longer than this lags"},
	{"lag_share_suspect", 0.02, "suspect: share of events from lagging reads above this"},
	{"lag_share_invalid_app", 0.10, "invalid: the same, of streams with application stamps"},
	{"lag_share_invalid_kernel", 0.25, "invalid: the same, of streams with kernel stamps"},
	{"lateness_p99_suspect_ms", 20, "suspect: lateness p99 above this"},
	{"lateness_p95_invalid_ms", 50, "invalid: lateness p95 above this and above the next"},
	{"lateness_p95_invalid_ttft", 0.10, "invalid: lateness p95 above this part of the median ttft"},
	{"sched_p99_suspect_ms", 20, "suspect: p99 of a goroutine's wait for a processor above this"},
	{"achieved_suspect", 0.98, "suspect: arrivals released in time ÷ planned below this"},
	{"achieved_invalid", 0.95, "invalid: the same below this"},
}

type limits map[string]float64

// CheckLimits says which of the given limits there are not.
func CheckLimits(given map[string]float64) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		v := given[name]
		if !slices.ContainsFunc(Limits, func(l Limit) bool { return l.Name == name }) {
			return fmt.Errorf("health limit %q is not known; there are %s", name, strings.Join(limitNames(), ", "))
		}
		if v < 0 {
			return fmt.Errorf("health limit %s is negative", name)
		}
	}
	return nil
}

func limitNames() []string {
	var names []string
	for _, l := range Limits {
		names = append(names, l.Name)
	}
	return names
}

func withDefaults(given map[string]float64) limits {
	all := limits{}
	for _, l := range Limits {
		all[l.Name] = l.Default
	}
	maps.Copy(all, given)
	return all
}

// Judge decides the verdict from the figures, by the limits that stand in
// Limits. It may be called again after a figure was added, such as Lost.
func (h *Health) Judge() {
	h.Limits = withDefaults(h.Limits)
	h.Verdict, h.Reasons = Valid, []string{}
	h.judgeLosses()
	h.judgePacing()
	h.judgeReading()
}

func (h *Health) say(verdict, format string, args ...any) {
	h.Reasons = append(h.Reasons, fmt.Sprintf(format, args...))
	if verdict == Invalid || h.Verdict == Valid {
		h.Verdict = verdict
	}
}

func (h *Health) judgeLosses() {
	if h.OwnDrops > 0 {
		h.say(Invalid, "%d requests failed for want of this machine's descriptors or ports", h.OwnDrops)
	}
	if h.Lost > 0 {
		h.say(Invalid, "%d records could not be kept", h.Lost)
	}
}

func (h *Health) judgePacing() {
	l := limits(h.Limits)
	p95, known := h.LatenessP95.Get()
	bar := max(l["lateness_p95_invalid_ms"], l["lateness_p95_invalid_ttft"]*h.MedianTTFT.Or(0))
	p99 := h.LatenessP99.Or(0)
	switch {
	case known && p95 > bar:
		h.say(Invalid, "requests were sent late: lateness p95 %.1f ms, limit %.1f ms", p95, bar)
	case p99 > l["lateness_p99_suspect_ms"]:
		h.say(Suspect, "requests were sent late: lateness p99 %.1f ms, limit %.1f ms", p99, l["lateness_p99_suspect_ms"])
	}
	switch ratio := h.AchievedRatio.Or(1); {
	case ratio < l["achieved_invalid"]:
		h.say(Invalid, "only %.1f%% of the planned arrivals were released in time, limit %.0f%%", 100*ratio, 100*l["achieved_invalid"])
	case ratio < l["achieved_suspect"]:
		h.say(Suspect, "only %.1f%% of the planned arrivals were released in time, limit %.0f%%", 100*ratio, 100*l["achieved_suspect"])
	}
	if s := h.SchedP99.Or(0); s > l["sched_p99_suspect_ms"] {
		h.say(Suspect, "goroutines waited for a processor: p99 %.1f ms, limit %.1f ms", s, l["sched_p99_suspect_ms"])
	}
}

func (h *Health) judgeReading() {
	l := limits(h.Limits)
	over := l["lag_over_ms"]
	app, kernel := h.LagShareApp.Or(0), h.LagShareKern.Or(0)
	switch {
	case app > l["lag_share_invalid_app"]:
		h.say(Invalid, "%.1f%% of events with application stamps may have waited for us over %.0f ms, limit %.0f%%", 100*app, over, 100*l["lag_share_invalid_app"])
	case kernel > l["lag_share_invalid_kernel"]:
		h.say(Invalid, "%.1f%% of events with kernel stamps may have waited for us over %.0f ms, limit %.0f%%", 100*kernel, over, 100*l["lag_share_invalid_kernel"])
	case h.LagMaxShare.Or(0) > l["lag_share_suspect"]:
		h.say(Suspect, "%.1f%% of events may have waited for us over %.0f ms, limit %.0f%%", 100*h.LagMaxShare.Or(0), over, 100*l["lag_share_suspect"])
	}
}
