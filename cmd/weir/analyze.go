package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"weir/diagnose"
	"weir/eventlog"
	"weir/metric"
	"weir/report"
	"weir/rig"
	"weir/stream"
)

const analyzeExamples = `  weir analyze events/2026-03-01/probe-20260301-100000-7.jsonl
  weir analyze run.jsonl.zst other.jsonl -o json
  zstdcat run.jsonl.zst | weir analyze -
  weir analyze client.jsonl gateway.jsonl            also what the way between them took`

func newAnalyzeCmd() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "analyze FILE...",
		Short: "Measure saved event logs again",
		Long: `Reads event logs (.jsonl, .jsonl.zst, "-" for standard input), also those of
other programs that have request_id, event_type and client_time_ms, and
measures them under the present definitions, whose version it names. Records of
several targets are reported one target after the other; in JSON each is an
object on a line of its own.
Where the logs of clients and of a gateway are given together, their requests
are joined by request id: how many both have, and network_and_relay, the part of
the time to the first output that passed between them.

Exit codes: 0 also where a crash cut the last line (said on stderr), 2 for a
file that is no log.`,
		Example: analyzeExamples,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("weir analyze takes the event logs to read; see: weir analyze --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runAnalyze(cmd, args, output) },
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`text|json`")
	return cmd
}

func runAnalyze(cmd *cobra.Command, files []string, output string) error {
	format, err := report.Lookup(output)
	if err != nil {
		return usagef("--output: %w", err)
	}
	var requests [][]*stream.Record
	var all []*stream.Record
	for _, name := range files {
		log, err := readLog(cmd.InOrStdin(), name)
		if err != nil {
			return usagef("%w", err)
		}
		for _, w := range log.Warnings {
			fmt.Fprintln(cmd.ErrOrStderr(), "weir:", report.Clean(w))
		}
		all = append(all, log.Records...)
		for _, q := range metric.Requests(log.Records) { // by file: others may use the same ids
			requests = append(requests, q.Answers)
		}
	}
	out := cmd.OutOrStdout()
	for i, s := range sessionsOf(requests) {
		s.Weir, s.Sources = version, files
		s.View = report.View{Color: useColor(out), Width: columns(out)}
		if i > 0 && format.Name == "text" {
			fmt.Fprintln(out)
		}
		if err := format.Write(out, s); err != nil {
			return err
		}
	}
	return writeJoin(out, all, format.Name)
}

// writeJoin tells what clients and a gateway say of the same requests, where
// the logs are of both.
func writeJoin(out io.Writer, records []*stream.Record, format string) error {
	j, ok := rig.JoinHops(records)
	if !ok {
		return nil
	}
	if format == "json" {
		return report.WriteHopsJoinJSON(out, j.Report())
	}
	fmt.Fprintln(out)
	return report.WriteHopsJoin(out, j.Report(), report.View{Color: useColor(out), Width: columns(out)})
}

func readLog(in io.Reader, name string) (*eventlog.Log, error) {
	if name == "-" {
		return eventlog.Read(in, "standard input")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read: closing can lose nothing
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory: name the .jsonl files in it", name)
	}
	return eventlog.Read(f, name)
}

// sessionsOf parts the requests by target: different ones are never
// summarised together. The paths of one run stay beside its main path.
func sessionsOf(requests [][]*stream.Record) []report.Session {
	main := map[string]string{} // by run: the target of its main path
	for _, q := range requests {
		if r := q[0]; r.Hop == "" && main[r.Run] == "" {
			main[r.Run] = r.Target
		}
	}
	var out []report.Session
	for _, q := range requests {
		target := q[0].Target
		if q[0].Hop != "" && main[q[0].Run] != "" {
			target = main[q[0].Run]
		}
		i := slices.IndexFunc(out, func(s report.Session) bool { return s.Target == target })
		if i < 0 {
			i = len(out)
			out = append(out, report.Session{Target: target})
		}
		out[i].Requests = append(out[i].Requests, q)
	}
	for i := range out {
		out[i].Findings = diagnose.Diagnose(slices.Concat(out[i].Requests...))
	}
	return out
}
