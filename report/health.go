package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Health is whether the instrument was fit, as the generator of the load
// states it (METRICS §9). The zero value says nothing.
type Health struct {
	Verdict string // valid, suspect, invalid; "" = not stated
	Reasons []string
	Figures []HealthFigure
	Limits  map[string]float64
	Raw     json.RawMessage // as stated
}

// HealthFigure is one figure of Health.
type HealthFigure struct {
	Key, Name, Unit string
	Value           *float64 // nil = unknown
}

// healthFigures are the figures in the order in which they are shown. A key
// that is not here is shown after them under its own name.
var healthFigures = []struct{ key, name, unit string }{
	{"lateness_p50_ms", "lateness p50", "ms"},
	{"lateness_p95_ms", "lateness p95", "ms"},
	{"lateness_p99_ms", "lateness p99", "ms"},
	{"lateness_max_ms", "lateness max", "ms"},
	{"achieved_ratio", "achieved of planned", "share"},
	{"drops", "dropped at the limit", "count"},
	{"own_drops", "own drops", "count"},
	{"lost", "records lost", "count"},
	{"events", "events", "count"},
	{"lag_max_share", "events read late", "share"},
	{"lag_max_share_app", "read late, application stamps", "share"},
	{"lag_max_share_kernel", "read late, kernel stamps", "share"},
	{"sched_latency_p99_ms", "scheduler p99", "ms"},
	{"gc_pause_max_ms", "GC pause max", "ms"},
	{"cpu_share", "CPU", "share"},
	{"fd_headroom", "descriptors free", "share"},
	{"port_headroom", "ports free", "share"},
	{"peak_in_flight", "most in flight", "count"},
	{"median_ttft_ms", "median ttft", "ms"},
}

// ParseHealth reads what a generator of load states of itself: an object with
// verdict, reasons, limits and figures, unknown ones null. Empty or null is
// the zero Health.
func ParseHealth(raw json.RawMessage) (Health, error) {
	if s := strings.TrimSpace(string(raw)); s == "" || s == "null" {
		return Health{}, nil
	}
	h := Health{Raw: raw}
	var known struct {
		Verdict string
		Reasons []string
		Limits  map[string]float64
	}
	fields := map[string]any{}
	if err := json.Unmarshal(raw, &known); err != nil {
		return Health{}, fmt.Errorf("health of the instrument: %w", err)
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return Health{}, fmt.Errorf("health of the instrument: %w", err)
	}
	h.Verdict, h.Reasons, h.Limits = known.Verdict, known.Reasons, known.Limits
	for _, f := range healthFigures {
		if v, ok := fields[f.key]; ok {
			h.add(f.key, f.name, f.unit, v)
			delete(fields, f.key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		h.add(key, strings.ReplaceAll(key, "_", " "), unitOf(key), fields[key])
	}
	return h, nil
}

// add keeps a figure; what is neither a number nor null is none.
func (h *Health) add(key, name, unit string, v any) {
	switch v := v.(type) {
	case float64:
		h.Figures = append(h.Figures, HealthFigure{key, name, unit, &v})
	case nil:
		h.Figures = append(h.Figures, HealthFigure{key, name, unit, nil})
	}
}

// unitOf is the unit that a key ends in.
func unitOf(key string) string {
	switch {
	case strings.HasSuffix(key, "_ms"):
		return "ms"
	case strings.HasSuffix(key, "_share"), strings.HasSuffix(key, "_ratio"), strings.HasSuffix(key, "_headroom"):
		return "share"
	}
	return "count"
}

// brief is the figures that a glance needs, those that are known.
func (h Health) brief() []string {
	var out []string
	for _, f := range h.Figures {
		switch f.Key {
		case "lateness_p99_ms", "achieved_ratio", "sched_latency_p99_ms", "lag_max_share", "gc_pause_max_ms", "cpu_share", "peak_in_flight":
			if f.Value != nil {
				out = append(out, f.Name+" "+Figure(*f.Value, f.Unit))
			}
		case "own_drops", "lost":
			if f.Value != nil && *f.Value > 0 {
				out = append(out, f.Name+" "+Figure(*f.Value, f.Unit))
			}
		}
	}
	return out
}
