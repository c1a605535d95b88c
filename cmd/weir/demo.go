package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/eventlog"
	"weir/report"
	"weir/rig"
)

func newDemoCmd() *cobra.Command {
	var dir string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Five streams: what a naive client says of them, and what is true",
		Long: `Starts a mock model service on this machine and reads five of its streams, each
with weir and, at the same moment, with a client that knows only HTTP. Every
figure is measured; nothing is installed, nothing leaves this machine.`,
		Example: `  weir demo
  weir demo --log weir-demo`,
		Args: exactArgs(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd, dir, quiet) },
	}
	cmd.Flags().StringVar(&dir, "log", "", "`DIR` to write the event log to (default: a new directory for temporary files)")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress on stderr")
	return cmd
}

func runDemo(cmd *cobra.Command, dir string, quiet bool) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "weir-demo-"); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	start := time.Now()
	log, err := eventlog.NewWriter(dir, "demo", eventlog.Options{})
	if err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr(), quiet)
	p.Set("reading five streams")
	rows, err := rig.Demo(cmd.Context(), log)
	p.Stop()
	if closed := log.Close(); err == nil {
		err = closed
	}
	if err != nil && cmd.Context().Err() != nil {
		return errors.New("demo: interrupted before there was a result")
	}
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	return report.WriteDemo(out, report.Demo{
		Rows: rows, Took: time.Since(start), Logs: strings.Join(log.Paths(), " "),
		View: report.View{Color: useColor(out), Width: columns(out)},
	})
}
