package load

import (
	"strings"

	"weir/stream"
)

// MergeHealth is the health of several machines that shared a load: the worst
// of each figure, the sum of each count. names say whose each is.
func MergeHealth(names []string, parts []Health) Health {
	if len(parts) == 1 {
		return parts[0]
	}
	all := Health{Verdict: Valid, Reasons: []string{}}
	for i, h := range parts {
		all.worst(h)
		all.Drops += h.Drops
		all.OwnDrops += h.OwnDrops
		all.Lost += h.Lost
		all.Events += h.Events
		all.PeakInFlight += h.PeakInFlight
		for _, reason := range h.Reasons {
			all.Reasons = append(all.Reasons, strings.TrimSpace("shard "+names[i])+": "+reason)
		}
		if h.Verdict == Invalid || all.Verdict == Valid && h.Verdict != "" {
			all.Verdict = h.Verdict
		}
		all.Limits = h.Limits
	}
	return all
}

func (h *Health) worst(o Health) {
	for _, x := range []struct{ of, with *stream.Maybe[float64] }{
		{&h.LatenessP50, &o.LatenessP50}, {&h.LatenessP95, &o.LatenessP95}, {&h.LatenessP99, &o.LatenessP99},
		{&h.LatenessMax, &o.LatenessMax}, {&h.MedianTTFT, &o.MedianTTFT}, {&h.LagMaxShare, &o.LagMaxShare},
		{&h.LagShareApp, &o.LagShareApp}, {&h.LagShareKern, &o.LagShareKern}, {&h.SchedP99, &o.SchedP99},
		{&h.GCPauseMax, &o.GCPauseMax}, {&h.CPUShare, &o.CPUShare},
	} {
		if v, ok := x.with.Get(); ok && v > x.of.Or(v-1) {
			*x.of = *x.with
		}
	}
	for _, x := range []struct{ of, with *stream.Maybe[float64] }{
		{&h.AchievedRatio, &o.AchievedRatio}, {&h.FDHeadroom, &o.FDHeadroom}, {&h.PortHeadroom, &o.PortHeadroom},
	} {
		if v, ok := x.with.Get(); ok && v < x.of.Or(v+1) {
			*x.of = *x.with
		}
	}
}
