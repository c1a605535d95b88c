package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"weir/eventlog"
	"weir/report"
	"weir/rig"
	"weir/stream"
)

const traceExamples = `  weir trace 7f3a9c2e-1                          in the directory events
  weir trace 7f3a9c2e-1 --log client/events --log gateway/events
  weir trace 7f3a9c2e-1 --log run.jsonl.zst --log gw.jsonl -o json`

func newTraceCmd() *cobra.Command {
	var logs []string
	var output string
	cmd := &cobra.Command{
		Use:   "trace REQUEST_ID",
		Short: "Show one stream on its way: client, gateway, service, on one time line",
		Long: `Finds a request in the event logs of those it passed (client, gateways) and puts
their accounts on one time line. Their clocks are not compared: a gateway's
account is placed inside its client's by what must be so (a request cannot come
before it was sent, an output cannot arrive before the gateway had it), and the
uncertainty that is left is shown. Where that time line has an end, what the
service called the request stands beside it.

The id is the x-request-id of the answer, and in every log line and record.
Exit codes: 1 where no log has the request, 2 for a file that is no log.`,
		Example: traceExamples,
		Args:    exactArgs(1, "the id of one request"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return usagef("--output %q: must be one of text, json", output)
			}
			return runTrace(cmd, args[0], logs, output)
		},
	}
	cmd.Flags().StringArrayVar(&logs, "log", nil, "event log, or directory with some, `FILE|DIR` (several times; default: events)")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`text|json`")
	return cmd
}

func runTrace(cmd *cobra.Command, id string, logs []string, output string) error {
	if len(logs) == 0 {
		if _, err := os.Stat("events"); err != nil {
			return usagef("there is no directory events here: name the logs with --log")
		}
		logs = []string{"events"}
	}
	files, err := logFiles(logs)
	if err != nil {
		return usagef("%w", err)
	}
	id, _, _ = strings.Cut(id, "#")
	var records []*stream.Record
	for _, f := range files {
		found, err := recordsOf(f, id, cmd.ErrOrStderr())
		if err != nil {
			return usagef("%w", err)
		}
		records = append(records, found...)
	}
	if len(records) == 0 {
		return exitWith(exitFailed, fmt.Errorf("no request %s in %s", report.Clean(id), plural(len(files), "log")))
	}
	hops := rig.Trace(id, rig.Sides(records)[id])
	out := cmd.OutOrStdout()
	if output == "json" {
		return report.WriteHopsJSON(out, hops)
	}
	return report.WriteHops(out, hops, report.View{Color: useColor(out), Width: columns(out)})
}

// logFile is an event log to look into.
type logFile struct {
	name  string
	named bool // by the user: it must be a log
}

// logFiles are the logs that were named, and those in directories that were.
func logFiles(named []string) ([]logFile, error) {
	var files []logFile
	for _, name := range named {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, logFile{name, true})
			continue
		}
		before := len(files)
		err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && (strings.HasSuffix(path, ".jsonl") || strings.HasSuffix(path, ".jsonl.zst")) {
				files = append(files, logFile{path, false})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s has no event logs in it (.jsonl, .jsonl.zst)", name)
		}
	}
	return files, nil
}

// recordsOf are a log's records of a request.
func recordsOf(file logFile, id string, errs io.Writer) ([]*stream.Record, error) {
	f, err := os.Open(file.name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read: closing can lose nothing
	var found []*stream.Record
	log, err := eventlog.Scan(f, file.name, func(r *stream.Record) error {
		if base, _, _ := strings.Cut(r.RequestID, "#"); base == id {
			found = append(found, r)
		}
		return nil
	})
	if log != nil && len(found) > 0 {
		for _, w := range log.Warnings {
			fmt.Fprintln(errs, "weir:", report.Clean(w))
		}
	}
	if err != nil && !file.named {
		fmt.Fprintln(errs, "weir:", report.Clean(err.Error()))
		err = nil
	}
	return found, err
}
