package rig

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
)

// Baseline is the least a reader of the same load costs: a bare epoll loop on
// one thread that receives and looks for line ends, and nothing else.
type Baseline struct {
	CPUPerEvent float64  `json:"cpu_us_per_event"`
	Ratio       *float64 `json:"ratio"` // the probe's cost against it
	Procs       int      `json:"gomaxprocs"`
}

func (o CalibrateOptions) baseline(ctx context.Context, base string) (*Baseline, error) {
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
	return &Baseline{CPUPerEvent: *spent.cpuPer(events), Procs: runtime.GOMAXPROCS(0)}, nil
}

// endEvents is how many events of a stream are not output: role, finish,
// usage, sentinel.
const endEvents = 4

func (b *Baseline) against(cpu *float64) *Baseline {
	if b != nil && cpu != nil && b.CPUPerEvent > 0 {
		b.Ratio = some(*cpu / b.CPUPerEvent)
	}
	return b
}
