package rig

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/mock"
	"weir/probe"
)

// TestMain lets the test's own program serve as "weir mock" does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "mock" {
		os.Exit(serveTruth(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

func serveTruth(args []string) int {
	fs := flag.NewFlagSet("mock", flag.ExitOnError)
	listen, truth := fs.String("listen", "", ""), fs.String("truth", "", "")
	fs.Bool("until-eof", false, "")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	f, err := os.Create(*truth)
	if err != nil {
		return 1
	}
	s, err := mock.Start(mock.Options{Listen: *listen, Truth: f})
	if err != nil {
		return 1
	}
	fmt.Println("listening on " + s.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	if s.Close() != nil || f.Close() != nil {
		return 1
	}
	return 0
}

// TestCalibrateEndToEnd runs the whole procedure with a light load. It asserts
// what holds on a loaded machine: nothing lost, nothing mistaken.
func TestCalibrateEndToEnd(t *testing.T) {
	t.Parallel()
	c, err := Calibrate(t.Context(), CalibrateOptions{Streams: 8, Rate: 50, Duration: 600 * time.Millisecond, Baseline: hasEpoll})
	if err != nil {
		t.Fatal(err)
	}
	if want := 8 * (30 + endEvents); c.Events != want || c.Lost != 0 || c.Misclassified != 0 {
		t.Errorf("%d events, %d lost, %d misclassified; want %d, 0, 0", c.Events, c.Lost, c.Misclassified, want)
	}
	if !c.Found.Stall || !c.Found.Truncation || !c.Found.Buffering {
		t.Errorf("injected faults found: %+v", c.Found)
	}
	if c.App == nil || c.App.Gap == nil || c.App.TTFT == nil || !c.MBPerStream.Known() {
		t.Errorf("missing figures: %+v", c)
	}
	if hasEpoll && (c.Baseline == nil || c.Baseline.Ratio.Or(0) <= 0) {
		t.Errorf("baseline %+v", c.Baseline)
	}
}

func TestCalibrateSaysThatTheMockDidNotStart(t *testing.T) {
	if _, err := Calibrate(t.Context(), CalibrateOptions{Weir: "/nonexistent/weir"}); err == nil {
		t.Error("no error for a program that does not exist")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Calibrate(ctx, CalibrateOptions{}); err == nil {
		t.Error("no error for a calibration that was interrupted")
	}
}

// TestFaultsAreNotSeenInHealthyStreams: an instrument that always cries would
// "find" every injected fault.
func TestFaultsAreNotSeenInHealthyStreams(t *testing.T) {
	t.Parallel()
	s, err := mock.Start(mock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	c, err := probe.New(probe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, f := range faults {
		healthy := fault{"ttft=50ms&gap=10ms&n=40", 3, f.shows, f.found}
		if seen, err := healthy.inject(t.Context(), c, s.URL()); err != nil || seen {
			t.Errorf("%s: seen %v in a healthy stream, error %v", f.behaviour, seen, err)
		}
	}
}
