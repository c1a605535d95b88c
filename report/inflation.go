package report

import (
	"weir/stat"
	"weir/table"
)

// inflated is one figure alone and under load.
type inflated struct {
	Scenario string
	Phase    string // the concurrent one
	Metric   string
	Unit     string
	Alone    stat.Point // p50 of the requests sent one at a time
	AloneN   int
	Loaded   stat.Point // p50 under load
	LoadedN  int
	Factor   *float64 // loaded ÷ alone; nil unless both are exact
}

// inflatedMetrics are what is compared.
var inflatedMetrics = []string{"ttft", "first_text", "useful", "complete", "gap_p95", "rate_e2e"}

// inflation sets the phase that sent one request at a time beside each that
// did not. It is empty where there is no such phase.
func (r Run) inflation() ([]inflated, error) {
	list, err := r.buckets()
	if err != nil {
		return nil, err
	}
	var out []inflated
	for _, alone := range list {
		if !r.single(alone.phase) {
			continue
		}
		for _, b := range list {
			if b.scenario == alone.scenario && !r.single(b.phase) {
				out = append(out, inflate(alone, b)...)
			}
		}
	}
	return out, nil
}

func inflate(alone, loaded bucket) []inflated {
	var out []inflated
	for _, name := range inflatedMetrics {
		a, b := table.Summarize(alone.Group, name), table.Summarize(loaded.Group, name)
		if len(a) == 0 || len(b) == 0 || a[0].Reached == 0 {
			continue
		}
		x := inflated{Scenario: loaded.scenario, Phase: loaded.phase, Metric: name, Unit: a[0].Metric.Unit,
			Alone: a[0].P50.Point, AloneN: a[0].N, Loaded: b[0].P50.Point, LoadedN: b[0].N}
		one, ok1 := x.Alone.Get()
		two, ok2 := x.Loaded.Get()
		if ok1 && ok2 && one > 0 {
			f := two / one
			x.Factor = &f
		}
		out = append(out, x)
	}
	return out
}
