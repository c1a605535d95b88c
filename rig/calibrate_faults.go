package rig

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"weir/diagnose"
	"weir/dialect"
	"weir/metric"
	"weir/probe"
	"weir/report"
	"weir/stream"
)

// fault is one known fault: how the mock is told to have it, and how an
// instrument that sees well shows it.
type fault struct {
	behaviour string
	repeat    int
	shows     func([]*stream.Record) bool
	found     func(*report.FaultsFound) *bool
}

// faults are injected after the load, apart from it.
var faults = []fault{
	{"ttft=50ms&gap=10ms&n=20&stall_after=10&stall=1500ms", 1, showsStall, func(f *report.FaultsFound) *bool { return &f.Stall }},
	{"ttft=50ms&gap=10ms&n=20&truncate_after=10", 1, showsTruncation, func(f *report.FaultsFound) *bool { return &f.Truncation }},
	{"ttft=50ms&gap=2ms&n=300&flush_bytes=4096", 3, showsBuffering, func(f *report.FaultsFound) *bool { return &f.Buffering }},
}

// showsStall: one stall, of the length that was told.
func showsStall(rs []*stream.Record) bool {
	v := metric.Measure(rs[0])
	n, ok := v.Get("stall_count").Get()
	longest, known := v.Get("gap_max").Get()
	return ok && known && n == 1 && longest > 1400 && longest < 2500
}

func showsTruncation(rs []*stream.Record) bool { return rs[0].Outcome == stream.Truncated }

func showsBuffering(rs []*stream.Record) bool {
	for _, f := range diagnose.Diagnose(rs) {
		if strings.Contains(f.Code, "buffer") {
			return true
		}
	}
	return false
}

// injectFaults asks for each fault and says which were recognised.
func injectFaults(ctx context.Context, base string) (report.FaultsFound, error) {
	c, err := probe.New(probe.Options{})
	if err != nil {
		return report.FaultsFound{}, err
	}
	defer c.Close()
	var wg sync.WaitGroup
	found, errs := make([]bool, len(faults)), make([]error, len(faults))
	for i, f := range faults {
		wg.Go(func() { found[i], errs[i] = f.inject(ctx, c, base) })
	}
	wg.Wait()
	var out report.FaultsFound
	for i, f := range faults {
		if errs[i] != nil {
			return out, fmt.Errorf("injecting %s: %w", f.behaviour, errs[i])
		}
		*f.found(&out) = found[i]
	}
	return out, nil
}

func (f fault) inject(ctx context.Context, c *probe.Client, base string) (bool, error) {
	var all []*stream.Record
	for i := range f.repeat {
		records, err := c.Do(ctx, dialect.Ask{URL: base + "/v1/chat/completions?" + f.behaviour, Model: "mock"}, probe.Meta{Index: i})
		if err != nil {
			return false, err
		}
		all = append(all, records...)
	}
	return f.shows(all), nil
}
