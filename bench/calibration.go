package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// load is a calibration to run.
type load struct {
	streams int
	rate    int // events per second of each stream
	procs   int // GOMAXPROCS; 0: as it is
}

// loads are those of the project's targets, and the last shows what one
// processor costs: wake-ups, not parsing, are most of it.
var loads = []load{{100, 50, 0}, {600, 50, 0}, {600, 50, 1}}

// calibration is the part of weir calibrate -o json that is written down. A
// figure it could not know is null, here nil.
type calibration struct {
	load
	unfit bool

	Events        int        `json:"events"`
	Lost          int        `json:"events_lost"`
	Misclassified int        `json:"events_misclassified"`
	KernelStreams int        `json:"kernel_streams"`
	Kernel        *errorsOf  `json:"kernel"`
	App           *errorsOf  `json:"app"`
	ReadLag       *quantiles `json:"read_lag_us"`
	CPUPerEvent   *float64   `json:"cpu_us_per_event"`
	MBPerStream   *float64   `json:"mb_per_stream"`
	Baseline      *struct {
		CPUPerEvent float64  `json:"cpu_us_per_event"`
		Ratio       *float64 `json:"ratio"`
	} `json:"baseline"`
}

// errorsOf are a stamp's errors in µs.
type errorsOf struct {
	TTFT  *quantiles `json:"ttft_error_us"`
	Gap   *quantiles `json:"gap_error_us"`
	Stamp *quantiles `json:"stamp_error_us"`
}

type quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// calibrations runs weir under each load.
func calibrations(ctx context.Context, weir string, d time.Duration) (all []calibration, err error) {
	for _, l := range loads {
		c, err := l.calibrate(ctx, weir, d)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// unfitCode is weir's exit code for an instrument that was not fit; its
// figures are written all the same.
const unfitCode = 5

func (l load) calibrate(ctx context.Context, weir string, d time.Duration) (c calibration, err error) {
	cmd := exec.CommandContext(ctx, weir, "calibrate", "--baseline", "--streams", strconv.Itoa(l.streams),
		"--rate", strconv.Itoa(l.rate), "--duration", d.String(), "-o", "json")
	cmd.Env = os.Environ()
	if l.procs > 0 {
		cmd.Env = append(cmd.Env, "GOMAXPROCS="+strconv.Itoa(l.procs))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	fmt.Fprintf(os.Stderr, "weir calibrate: %d streams × %d events/s for %s\n", l.streams, l.rate, d)
	var exit *exec.ExitError
	switch err := cmd.Run(); {
	case errors.As(err, &exit) && exit.ExitCode() == unfitCode:
		c.unfit = true
	case err != nil:
		return c, fmt.Errorf("weir calibrate with %d streams: %w", l.streams, err)
	}
	if err := json.Unmarshal(out.Bytes(), &c); err != nil {
		return c, fmt.Errorf("weir calibrate -o json: %w", err)
	}
	c.load = l
	return c, nil
}
