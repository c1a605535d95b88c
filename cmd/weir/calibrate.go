package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"weir/rig"
)

func newCalibrateCmd() *cobra.Command {
	var o rig.CalibrateOptions
	var format string
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "State the instrument's own error, against a server whose truth is known",
		Long: `Runs weir mock in a process of its own and observes it as weir probe would.
The mock writes down when each event left; what the probe said is held against
that. The error of a stamp is its distance from the moments before and after
the write, 0 between them; bias is against the moment before; the error of a gap
is against the gap of the moments before. Loopback covers no loss, reordering or
network card.

Exit code 5 where an event was lost or mistaken, or an injected fault was not
found.`,
		Example: `  weir calibrate
  weir calibrate --streams 600 --rate 50 --duration 10s -o json
  GOMAXPROCS=1 weir calibrate --streams 600 --baseline`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "text" && format != "json" {
				return usagef("output format %q: want text or json", format)
			}
			if err := o.Validate(); err != nil {
				return usagef("calibrate: %w", err)
			}
			c, err := rig.Calibrate(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := writeCalibration(cmd.OutOrStdout(), c, format); err != nil {
				return err
			}
			if !c.Fit() {
				return exitWith(exitUnfit, nil)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Streams, "streams", 100, "streams at once")
	f.Float64Var(&o.Rate, "rate", 50, "output events per second of each stream")
	f.DurationVar(&o.Duration, "duration", 0, "length of each stream (10s)")
	f.BoolVar(&o.Baseline, "baseline", false, "also measure a bare epoll read loop over the same load (Linux)")
	f.StringVarP(&format, "output", "o", "text", "output: text or json")
	return cmd
}

func writeCalibration(w io.Writer, c *rig.Calibration, format string) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(c)
	}
	_, err := io.WriteString(w, calibrationText(c))
	return err
}

func calibrationText(c *rig.Calibration) string {
	s := fmt.Sprintf("%d streams × %g events/s for %g s, on loopback\n", c.Streams, c.Rate, c.DurationS)
	s += fmt.Sprintf("%d events, %d lost, %d misclassified; kernel stamps on %d of %d streams\n",
		c.Events, c.Lost, c.Misclassified, c.KernelStreams, c.Streams)
	for _, r := range c.Refused {
		s += fmt.Sprintf("  %d streams without: %s\n", r.Streams, r.Why)
	}
	s += "\n"
	s += fmt.Sprintf("%-28s %9s %9s %9s %9s\n", "error in µs", "bias", "p50", "p99", "max")
	s += errorsText("kernel stamps", c.Kernel) + errorsText("application stamps", c.App)
	if c.ReadLag != nil {
		s += fmt.Sprintf("%-28s %9s %9.1f %9.1f %9.1f\n", "read lag", "", c.ReadLag.P50, c.ReadLag.P99, c.ReadLag.Max)
	}
	s += fmt.Sprintf("\ncost: %s µs CPU per event, %s MB per stream with its record\n", orNA(c.CPUPerEvent), orNA(c.MBPerStream))
	if b := c.Baseline; b != nil {
		s += fmt.Sprintf("bare epoll loop: %.2f µs CPU per event; ratio %s at GOMAXPROCS=%d\n", b.CPUPerEvent, orNA(b.Ratio), b.Procs)
	}
	s += fmt.Sprintf("injected and found: stall %s, truncation %s, buffering %s\n",
		yesNo(c.Found.Stall), yesNo(c.Found.Truncation), yesNo(c.Found.Buffering))
	return s + "loopback covers no loss, reordering or network card\n"
}

func errorsText(name string, e *rig.Errors) (s string) {
	if e == nil {
		return fmt.Sprintf("%-28s %9s\n", name, "n/a")
	}
	for _, row := range []struct {
		of string
		x  *rig.Spread
	}{{"ttft", e.TTFT}, {"gap", e.Gap}, {"every event", e.Stamp}} {
		if row.x != nil {
			s += fmt.Sprintf("%-28s %9.1f %9.1f %9.1f %9.1f\n", name+", "+row.of, row.x.Bias, row.x.P50, row.x.P99, row.x.Max)
		}
	}
	return s
}

func orNA(x *float64) string {
	if x == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.2f", *x)
}

func yesNo(ok bool) string {
	if ok {
		return "yes"
	}
	return "NO"
}
