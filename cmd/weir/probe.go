package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"weir/eventlog"
	"weir/report"
	"weir/rig"
)

const probeExamples = `  weir probe http://127.0.0.1:8000                 five requests to /v1/chat/completions
  weir probe https://api.openai.com --model gpt-4.1-nano --api-key-env OPENAI_API_KEY
  weir probe http://dify.local/v1/chat-messages --dialect dify --api-key-env DIFY_API_KEY
  weir probe https://chat.example.com/v1 --direct origin=http://10.0.0.7:8000/v1   compare hop by hop
  weir probe http://127.0.0.1:8080/v1/chat/completions --ws   over a gateway's WebSocket
  weir probe URL --stream both                      the same prompt streamed and whole
  weir probe URL --dialect article --useful decision,reason,next_step
  weir probe URL --mark greeted='text contains "Hello"' -o json`

func newProbeCmd() *cobra.Command {
	var f probeFlags
	cmd := &cobra.Command{
		Use:   "probe URL",
		Short: "Watch real streams of a service and say when, how evenly and whether the answer came",
		Long: `Sends N requests, one at a time, and observes each stream: when the user began
to see something, how evenly it came, whether it all came, and where the time
went. The first request opens a connection (cold), the rest reuse it (warm);
the two are never averaged together.

Exit codes: 0 fine, 2 usage, 3 a request did not complete, 6 no stream at all
(unreachable, TLS, 401, a page or nothing instead of a stream).`,
		Example: probeExamples,
		Args:    exactArgs(1, "one URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runProbe(cmd, args[0], f)
		},
	}
	f.define(cmd)
	return cmd
}

func runProbe(cmd *cobra.Command, target string, f probeFlags) error {
	ctx := cmd.Context()
	if over := httpOf(target); over != target {
		f.ws, target = true, over
	}
	if f.ws {
		target = strings.TrimSuffix(target, "/weir/ws") // the socket is named, and its gateway meant
	}
	plan, choices, err := f.plan(ctx, target)
	if err != nil {
		return err
	}
	log, err := openLog(f.log, plan.Run, f.keepText)
	if err != nil {
		return err
	}
	if log != nil {
		plan.Sink = log
	}
	seen, err := observe(ctx, cmd.ErrOrStderr(), plan, f.quiet)
	if log != nil {
		if cerr := log.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		return err
	}
	s := report.Session{
		Weir: version, Requests: seen.Requests, Findings: seen.Findings,
		Choices: choices, Unseen: seen.Unseen, Partial: seen.Partial,
	}
	if log != nil {
		s.Logs = strings.Join(log.Paths(), " ")
	}
	if err := writeSession(cmd.OutOrStdout(), f.output, s); err != nil {
		return err
	}
	return verdict(seen)
}

func observe(ctx context.Context, errs io.Writer, plan rig.Plan, quiet bool) (*rig.Observation, error) {
	p := newProgress(errs, quiet)
	defer p.Stop()
	plan.Progress = func(done, total int) { p.Set("probe, %d of %d requests done", done, total) }
	return rig.Observe(ctx, plan)
}

// writeSession writes a session in the format asked for, for the width and
// colour of where it goes.
func writeSession(out io.Writer, format string, s report.Session) error {
	f, err := report.Lookup(format)
	if err != nil {
		return usagef("--output: %w", err)
	}
	s.View = report.View{Color: useColor(out), Width: columns(out)}
	return f.Write(out, s)
}

func verdict(seen *rig.Observation) error {
	switch {
	case seen.NoStream():
		return exitWith(exitNoStream, nil)
	case !seen.AllComplete():
		return exitWith(exitGate, nil)
	}
	return nil
}

func openLog(dir, run string, keepText bool) (*eventlog.Writer, error) {
	if dir == "" {
		return nil, nil
	}
	w, err := eventlog.NewWriter(dir, run, eventlog.Options{KeepText: keepText})
	if err != nil {
		return nil, fmt.Errorf("--log: %w", err)
	}
	return w, nil
}
