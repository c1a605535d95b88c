package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/judge"
	"weir/report"
	"weir/rig"
)

const compareExamples = `  weir compare before -- after                      all runs of the tag before against all of after
  weir compare --vary target direct -- proxied      which may differ in their target, and in nothing else
  weir compare a1 a2 a3 a4 a5 a6 -- b1 b2 b3 b4 b5 b6
  weir compare --baseline v1 --vary build last      earlier runs of a tag as side A
  weir compare out/a* -- out/b* -o markdown         run directories, for a pull request`

const compareLong = `Compares two sides of runs: the unit is the run, because the requests of one run
are not independent. ` + runRefs + `
Here a tag and the beginning of an id stand for all their runs.

What may differ between the sides is declared with --vary; everything else
(load, prompts, model, target …) must match. What is judged are the figures that
A's gates limit, or ttft p50 and p95, gap p95 and the share of complete answers
where there are none. To convict, 4 runs a side are needed for one figure, 5 for
up to 6, 6 for up to 23; fewer are compared and never convict.

To make runs that can be compared: weir bench PLAN --against URL.

Exit codes: 0 no regression was found, 2 usage, or runs that are unlike, invalid
or cut short, 4 B is slower (worse) in a figure that is judged.`

// compareFlags are the choices of a comparison.
type compareFlags struct {
	vary   []string
	margin float64
}

func (f *compareFlags) define(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.vary, "vary", nil, "what may differ between the sides: `prompt|model|target|build`, comma-separated")
	cmd.Flags().Float64Var(&f.margin, "margin", 0.05, "part of A's figure that a difference must exceed to matter")
}

// options are the choices for package judge.
func (f *compareFlags) options() (judge.CompareOptions, error) {
	if !(f.margin > 0 && f.margin < 1) {
		return judge.CompareOptions{}, usagef("--margin %v is no part of 1; 0.05 is 5 %%", f.margin)
	}
	for _, key := range f.vary {
		if !slices.Contains(rig.VaryKeys, key) {
			return judge.CompareOptions{}, usagef("--vary: there is no %q; there are %s", clip(key, 40), strings.Join(rig.VaryKeys, ", "))
		}
	}
	return judge.CompareOptions{Vary: f.vary, Margin: f.margin}, nil
}

func newCompareCmd() *cobra.Command {
	var f compareFlags
	var db, output, baseline string
	cmd := &cobra.Command{
		Use:     "compare A... -- B...",
		Short:   "Say whether the runs of B are slower than those of A, faster, the same, or not to be told apart",
		Long:    compareLong,
		Example: compareExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, at, err := flagsAfterDash(cmd, args)
			if err != nil {
				return err
			}
			format, err := oneOf(report.ComparisonFormats, output, func(f report.ComparisonFormat) string { return f.Name })
			if err != nil {
				return err
			}
			a, b, err := sides(args, at, baseline)
			if err != nil {
				return err
			}
			c, err := compareRuns(cmd, db, a, b, f)
			if err != nil {
				return err
			}
			if err := writeComparison(cmd, c, format); err != nil {
				return err
			}
			return comparisonVerdict(c)
		},
	}
	dbFlag(cmd, &db)
	f.define(cmd)
	cmd.Flags().StringVar(&baseline, "baseline", "", "side A is every run of this `TAG`")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`text|json|markdown`")
	return cmd
}

// flagsAfterDash reads the flags that follow the runs of side B, where cobra
// takes none any more. at is where side B begins, -1 without a --.
func flagsAfterDash(cmd *cobra.Command, args []string) (runs []string, at int, err error) {
	at = cmd.ArgsLenAtDash()
	if at < 0 {
		return args, at, nil
	}
	a := slices.Clone(args[:at])
	if err := cmd.ParseFlags(args[at:]); err != nil {
		return nil, 0, usagef("%w; see: %s --help", err, cmd.CommandPath())
	}
	return append(a, cmd.Flags().Args()...), at, nil
}

// sides parts the runs at the --.
func sides(args []string, at int, baseline string) (a, b []string, err error) {
	switch {
	case baseline != "" && at > 0:
		return nil, nil, usagef("--baseline %s is side A: give only the runs of side B", clip(baseline, 40))
	case baseline != "" && len(args) > 0:
		return []string{baseline}, args, nil
	case at > 0 && len(args) > at:
		return args[:at], args[at:], nil
	case at < 0 && len(args) == 2 && baseline == "":
		return args[:1], args[1:], nil
	}
	return nil, nil, usagef("weir compare takes the runs of side A, --, and the runs of side B; see: weir compare --help")
}

func compareRuns(cmd *cobra.Command, db string, a, b []string, f compareFlags) (c judge.Comparison, err error) {
	o, err := f.options()
	if err != nil {
		return c, err
	}
	var parts [2][]rig.Part
	for i, refs := range [][]string{a, b} {
		if parts[i], err = keptRuns(cmd, db, refs, true); err != nil {
			return c, err
		}
	}
	c, err = rig.CompareRuns(parts[0], parts[1], [2]string{sideName(a, "A"), sideName(b, "B")}, o)
	if err != nil { // the runs are there and cannot be compared: a mistake of whoever named them
		return c, usagef("%w", err)
	}
	return c, nil
}

// sideName is what a side was called: its one name, else its letter.
func sideName(refs []string, letter string) string {
	if len(refs) == 1 {
		return refs[0]
	}
	return letter
}

// writeComparison writes a comparison, and where this is a step of GitHub
// Actions tells it so.
func writeComparison(cmd *cobra.Command, c judge.Comparison, format report.ComparisonFormat) error {
	out := cmd.OutOrStdout()
	err := format.Write(out, c, viewOf(cmd))
	if format.Name != "text" {
		out = io.Discard // annotations would stand in the document
	}
	if err := errors.Join(err, report.GitHubComparison(out, os.Getenv, c)); err != nil {
		return fmt.Errorf("comparison: %w", err)
	}
	return nil
}

// comparisonVerdict is the exit code that a comparison asks for.
func comparisonVerdict(c judge.Comparison) error {
	if c.Regressed() {
		return exitWith(exitRegression, nil)
	}
	return nil
}
