package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"weir/report"
	"weir/rig"
)

const reportExamples = `  weir report last                              the newest run of weir.db, as text
  weir report out -o html --to report.html      a run directory, as one page
  weir report out -o junit --to junit.xml       for a CI server
  weir report a b c                             three shards of one plan, as one run
  weir report last -o benchfmt | benchstat -    Go benchmark lines`

const reportLong = `Writes a run that was kept. ` + runRefs + `

Several runs are merged: they must be the shards (--shard 1/3 …) of one plan and
seed. Gates are then judged over all their rows, rules by what each of them saw.
The page has its pictures where the run directory with its event log is given.

In a step of GitHub Actions text and markdown also go into the step's summary,
and with text, or --to, what failed becomes annotations.

The exit code is 0 whatever the verdict: the run had its own.`

func newReportCmd() *cobra.Command {
	var db, output, to string
	cmd := &cobra.Command{
		Use:     "report RUN|DIR...",
		Short:   "Write a run that was kept as text, JSON, CSV, JUnit, Markdown, benchmark lines or a page",
		Long:    reportLong,
		Example: reportExamples,
		Args:    minArgs(1, "a run, or the shards of one"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := oneOf(report.RunFormats, output, func(f report.RunFormat) string { return f.Name })
			if err != nil {
				return err
			}
			if format.Name == "html" && !report.HasAssets() {
				return usagef("--output html: %w", report.ErrNoAssets)
			}
			r, err := reportOf(cmd, db, args, format.Name == "html")
			if err != nil {
				return err
			}
			return writeReport(cmd, r, format, to)
		},
	}
	dbFlag(cmd, &db)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`text|json|csv|junit|markdown|benchfmt|html`")
	cmd.Flags().StringVar(&to, "to", "", "write to this `FILE` instead of stdout")
	return cmd
}

// reportOf reads and merges the runs that refs name.
func reportOf(cmd *cobra.Command, db string, refs []string, pictures bool) (r report.Run, err error) {
	parts, err := keptRuns(cmd, db, refs, false)
	if err != nil {
		return r, err
	}
	whole, err := rig.MergeShards(parts)
	if err != nil {
		return r, usagef("%w", err)
	}
	if r, err = whole.Report(whole.Rows); err != nil || !pictures {
		return r, err
	}
	series, notes := seriesIn(refs, parts)
	r.Series = series
	r.Warnings = append(slices.Clone(r.Warnings), notes...)
	return r, nil
}

// writeReport writes a run to stdout or a file, and tells GitHub Actions.
func writeReport(cmd *cobra.Command, r report.Run, format report.RunFormat, to string) error {
	r.View = viewOf(cmd)
	if to != "" {
		r.View.Color = false
	}
	err := writeTo(cmd.OutOrStdout(), to, func(w io.Writer) error { return format.Write(w, r) })
	if err != nil || format.Name != "text" && format.Name != "markdown" {
		return err
	}
	return report.GitHub(annotations(cmd, format.Name, to), os.Getenv, r)
}

// annotations is where workflow commands may go: stdout, unless a document
// stands there.
func annotations(cmd *cobra.Command, format, to string) io.Writer {
	if format == "text" || to != "" {
		return cmd.OutOrStdout()
	}
	return io.Discard
}

// writeTo writes to stdout, or a file: whole, or not at all.
func writeTo(stdout io.Writer, to string, write func(io.Writer) error) error {
	if to == "" {
		return write(stdout)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	part := filepath.Join(filepath.Dir(to), "."+filepath.Base(to)+".part")
	if err := os.WriteFile(part, b.Bytes(), 0o644); err != nil {
		_ = os.Remove(part) // the failed write says more
		return err
	}
	if err := os.Rename(part, to); err != nil {
		_ = os.Remove(part)
		return err
	}
	return nil
}
