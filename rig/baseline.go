package rig

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"

	"weir/report"
	"weir/stream"
)

// baseline runs a bare read loop over the load.
func (o CalibrateOptions) baseline(ctx context.Context, base string) (*report.Baseline, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	paths := make([]string, o.Streams)
	for i := range paths {
		paths[i] = o.streamURL("", i)
	}
	meter := startMeter()
	lines, err := bareLoop(ctx, u.Host, paths)
	spent := meter.stop()
	if err != nil {
		return nil, err
	}
	// The load's frames are SSE of one data line: a line with text and a blank
	// one each, and two line ends of chunked framing. The count of the truth log
	// is the same load's; what the loop counted only proves that it came.
	events := o.Streams * (o.outputs() + endEvents)
	if lines < 2*events {
		return nil, fmt.Errorf("the baseline read %d line ends of at least %d: its figure would be of another load", lines, 2*events)
	}
	cpu, ok := spent.cpuPer(events).Get()
	if !ok {
		return nil, errors.New("the CPU time of this process is not known here")
	}
	return &report.Baseline{CPUPerEvent: cpu, Procs: runtime.GOMAXPROCS(0)}, nil
}

// endEvents is how many events of a stream are not output: role, finish,
// usage, sentinel.
const endEvents = 4

// against adds the ratio of the probe's cost; b may be nil.
func against(b *report.Baseline, cost stream.Maybe[float64]) *report.Baseline {
	if cpu, ok := cost.Get(); ok && b != nil && b.CPUPerEvent > 0 {
		b.Ratio = stream.Some(round3(cpu / b.CPUPerEvent))
	}
	return b
}
