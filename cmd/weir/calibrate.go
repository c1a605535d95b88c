package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"weir/report"
	"weir/rig"
)

func newCalibrateCmd() *cobra.Command {
	var o rig.CalibrateOptions
	var format string
	var quiet bool
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
		Args: exactArgs(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "text" && format != "json" {
				return usagef("output format %q: want text or json", format)
			}
			if o.Streams == 0 || o.Rate == 0 || o.Duration == 0 {
				return usagef("calibrate: --streams, --rate and --duration must be above 0")
			}
			if err := o.Validate(); err != nil {
				return usagef("calibrate: %w", err)
			}
			c, err := runCalibrate(cmd, o, quiet)
			if err != nil && cmd.Context().Err() != nil {
				return errors.New("calibrate: interrupted before there was a result")
			}
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if format == "json" {
				err = report.WriteCalibrationJSON(out, c)
			} else {
				err = report.WriteCalibration(out, c, report.View{Color: useColor(out), Width: columns(out)})
			}
			if err != nil {
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
	f.DurationVar(&o.Duration, "duration", 10*time.Second, "length of each stream")
	f.BoolVar(&o.Baseline, "baseline", false, "also measure a bare epoll read loop over the same load (Linux)")
	f.StringVarP(&format, "output", "o", "text", "`text|json`")
	f.BoolVar(&quiet, "quiet", false, "no progress on stderr")
	return cmd
}

func runCalibrate(cmd *cobra.Command, o rig.CalibrateOptions, quiet bool) (*report.Calibration, error) {
	p := newProgress(cmd.ErrOrStderr(), quiet)
	defer p.Stop()
	o.Progress = func(what string) { p.Set("%s", what) }
	return rig.Calibrate(cmd.Context(), o)
}
