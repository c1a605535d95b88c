package rig

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"weir/dialect"
	"weir/probe"
	"weir/report"
	"weir/stream"
)

// CalibrateOptions say how the instrument is held against the mock's truth.
// The zero value works.
type CalibrateOptions struct {
	Streams  int           // at once; 0 = 100
	Rate     float64       // output events per second of each stream; 0 = 50
	Duration time.Duration // of each stream's output; 0 = 10 s
	Baseline bool          // also run a bare read loop over the same load (Linux)
	Weir     string        // the program whose "mock" subcommand serves; "" = this one

	Progress func(what string) // is told what begins; nil = nobody
}

func (o CalibrateOptions) withDefaults() CalibrateOptions {
	if o.Streams == 0 {
		o.Streams = 100
	}
	if o.Rate == 0 {
		o.Rate = 50
	}
	if o.Duration == 0 {
		o.Duration = 10 * time.Second
	}
	return o
}

// Validate says what is wrong with the options.
func (o CalibrateOptions) Validate() error {
	o = o.withDefaults()
	switch {
	case o.Streams < 1 || o.Streams > 50_000:
		return fmt.Errorf("%d streams: want 1 to 50000", o.Streams)
	case !(o.Rate >= 0.1 && o.Rate <= 10_000):
		return fmt.Errorf("a rate of %g events/s: want 0.1 to 10000", o.Rate)
	case o.Duration < 100*time.Millisecond || o.Duration > time.Hour:
		return fmt.Errorf("a duration of %s: want 100ms to 1h", o.Duration)
	case o.outputs() > 10_000_000:
		return errors.New("more than ten million events a stream: lower the rate or the duration")
	}
	return nil
}

// outputs is how many output events each stream has, at least two.
func (o CalibrateOptions) outputs() int {
	return max(2, int(o.Rate*o.Duration.Seconds()))
}

// Calibrate runs the mock in a process of its own and the probe in this one,
// and compares what the probe said with what the mock did. The error says that
// it could not; a bad instrument is a result.
func Calibrate(ctx context.Context, o CalibrateOptions) (*report.Calibration, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	m, err := startTruth(ctx, o.Weir)
	if err != nil {
		return nil, err
	}
	defer m.kill()
	o.tell("observing %d streams", o.Streams)
	load, err := o.observeLoad(ctx, m.url)
	if err != nil {
		return nil, err
	}
	o.tell("injecting known faults")
	found, err := injectFaults(ctx, m.url)
	if err != nil {
		return nil, err
	}
	var base *report.Baseline
	if o.Baseline {
		o.tell("reading the same load with a bare loop")
		if base, err = o.baseline(ctx, m.url); err != nil {
			return nil, err
		}
	}
	o.tell("comparing with the truth")
	truth, err := m.end()
	if err != nil {
		return nil, err
	}
	c := compare(load.records, truth)
	c.Streams, c.Rate, c.DurationS = o.Streams, o.Rate, o.Duration.Seconds()
	c.Found, c.MBPerStream = found, load.cost.mbPer(o.Streams)
	c.CPUPerEvent = load.cost.cpuPer(c.Events)
	c.Baseline = against(base, c.CPUPerEvent)
	return c, nil
}

func (o CalibrateOptions) tell(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

// load is what the probe saw of the whole load, and what that cost.
type load struct {
	records []*stream.Record
	cost    cost
}

// streamURL is the mock's URL for stream i. Seeds spread the phases of the
// streams over 200 ms, as they would be by chance.
func (o CalibrateOptions) streamURL(base string, i int) string {
	return fmt.Sprintf("%s/v1/chat/completions?seed=%d&ttft=uniform:200ms:400ms&gap=%s&n=%d",
		base, i+1, time.Duration(float64(time.Second)/o.Rate), o.outputs())
}

func (o CalibrateOptions) observeLoad(ctx context.Context, base string) (*load, error) {
	c, err := probe.New(probe.Options{Timeout: o.Duration + time.Minute})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	l, errs := &load{records: make([]*stream.Record, o.Streams)}, make([]error, o.Streams)
	meter := startMeter()
	var wg sync.WaitGroup
	for i := range o.Streams {
		wg.Go(func() {
			records, err := c.Do(ctx, dialect.Ask{URL: o.streamURL(base, i), Model: "mock"}, probe.Meta{Index: i})
			if errs[i] = err; err == nil {
				l.records[i] = records[0]
			}
		})
	}
	wg.Wait()
	l.cost = meter.stop()
	if err := errors.Join(ctx.Err(), errors.Join(errs...)); err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	return l, nil
}
