package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/judge"
	"weir/report"
	"weir/rig"
)

// againstFlags say what the plan's runs are compared with. Side A is the plan
// as it is, or the baseline; side B is what they change.
type againstFlags struct {
	compareFlags
	url, model, plan string
	labels           []string
	baseline         string
	repeats          int
	rest             time.Duration
}

func (f *againstFlags) define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.url, "against", "", "compare with runs of the plan on this `URL` (side B; varies target)")
	fl.StringVar(&f.model, "against-model", "", "side B asks for this `MODEL` (varies model)")
	fl.StringVar(&f.plan, "against-plan", "", "side B is this plan `FILE` (varies prompt, unless --vary says otherwise)")
	fl.StringArrayVar(&f.labels, "against-label", nil, "label `k=v` of side B, repeatable (varies build)")
	fl.StringVar(&f.baseline, "baseline", "", "side A is every run of this `TAG`, and the plan's runs are side B")
	fl.IntVar(&f.repeats, "repeats", rig.DefaultRepeats, "runs a side")
	fl.DurationVar(&f.rest, "rest", time.Second, "between runs to compare, for the service to recover")
	f.compareFlags.define(cmd)
}

// given reports whether runs are to be compared.
func (f *againstFlags) given(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"against", "against-model", "against-plan", "against-label", "baseline", "repeats", "vary", "margin", "rest"},
		cmd.Flags().Changed)
}

// check refuses flags that do not go together.
func (f *againstFlags) check(bench benchFlags) error {
	b := f.url != "" || f.model != "" || f.plan != ""
	switch {
	case f.baseline != "" && b:
		return usagef("--baseline brings side A and --against side B: give one of them")
	case f.baseline != "" && bench.db == "":
		return usagef("--baseline %s: earlier runs are kept in the file of --db, which is empty", clip(f.baseline, 40))
	case f.baseline == "" && !b && len(f.labels) > 0:
		return usagef("--against-label says what build answers at --against URL: give that too")
	case f.baseline == "" && !b:
		return usagef("compare with what? give --against URL (target), --against-model NAME (model), --against-plan FILE (prompt), both builds at two URLs with --against URL --vary target,build, or --baseline TAG")
	case f.repeats < 1:
		return usagef("--repeats %d: give the runs a side, such as %d", f.repeats, rig.DefaultRepeats)
	case f.rest < 0:
		return usagef("--rest is negative")
	case bench.shard != "":
		return usagef("--shard: a shard is a part of a run, and whole runs are compared")
	}
	if names, err := os.ReadDir(bench.dir); bench.dir != "" && err == nil && len(names) > 0 {
		return usagef("--output %s: is not empty; name another directory", bench.dir)
	}
	return nil
}

// sides are the plans of both sides, and what differs between them if the user
// did not say.
func (f *againstFlags) sides(plan *rig.LoadPlan, bench benchFlags) (o rig.InterleaveOptions, err error) {
	if o.Compare, err = f.options(); err != nil {
		return o, err
	}
	o.Repeats, o.Rest = f.repeats, max(f.rest, 1)
	o.A, o.B = rig.Arm{Name: "A", Plan: plan}, rig.Arm{Name: "B", Plan: plan}
	var vary []string
	if f.plan != "" {
		if o.B.Plan, err = bench.plan(f.plan); err != nil { // with the labels of the flags
			return o, fmt.Errorf("--against-plan: %w", err)
		}
		o.A.Name, o.B.Name = filepath.Base(plan.File()), filepath.Base(f.plan)
		vary = append(vary, rig.VaryPrompt)
	}
	if f.url != "" {
		if o.B.Plan, err = o.B.Plan.At(f.url); err != nil {
			return o, usagef("--against: %w", err)
		}
		vary = append(vary, rig.VaryTarget)
	}
	if f.model != "" {
		if o.B.Plan, err = o.B.Plan.WithModel(f.model); err != nil {
			return o, usagef("--against-model: %w", err)
		}
		vary = append(vary, rig.VaryModel)
	}
	if len(f.labels) > 0 {
		labels, err := pairs("against-label", f.labels)
		if err != nil {
			return o, err
		}
		o.B.Plan = o.B.Plan.WithLabels(labels)
		vary = append(vary, rig.VaryBuild)
	}
	if len(f.vary) == 0 {
		o.Compare.Vary = vary
	}
	return o, nil
}

// runAgainst makes runs to be compared, and compares them.
func runAgainst(cmd *cobra.Command, file string, bench benchFlags, f againstFlags) error {
	if err := f.check(bench); err != nil {
		return err
	}
	ctx, errs := cmd.Context(), cmd.ErrOrStderr()
	plan, err := bench.plan(file)
	if err != nil {
		return err
	}
	o, err := f.sides(plan, bench)
	if err != nil {
		return err
	}
	if f.baseline != "" {
		if o.Baseline, err = keptRuns(cmd, bench.db, []string{f.baseline}, true); err != nil {
			return err
		}
		o.A.Name, o.B.Name = f.baseline, "now"
	}
	var done func() error
	if o.Bench, done, err = bench.options(ctx, errs, plan); err != nil {
		return err
	}
	o.A.Model, o.B.Model = o.Bench.Model, o.Bench.Model
	if o.B.Model == "" { // else both ask for the same: a target may list others first
		o.B.Model = chooseModel(ctx, errs, o.B.Plan, bench.quiet)
	}
	if err := o.Validate(); err != nil {
		return errors.Join(usagef("%w", err), done())
	}
	found, err := watchInterleave(ctx, errs, o, bench.quiet)
	if err := errors.Join(err, done()); err != nil {
		return err
	}
	return showInterleaved(cmd, found, bench)
}

// watchInterleave says what is going to be done and what it can find, and does
// it while telling how far it is.
func watchInterleave(ctx context.Context, errs io.Writer, o rig.InterleaveOptions, quiet bool) (*rig.Interleaved, error) {
	ahead, err := o.Forecast()
	if err != nil {
		return nil, err
	}
	if ahead.Warning != "" { // said also where quiet: it decides what the time is spent on
		fmt.Fprintln(errs, "weir: beforehand:", ahead.Warning)
	}
	p := newProgress(errs, quiet)
	defer p.Stop()
	untell := func() {}
	defer func() { untell() }()
	if !quiet {
		p.Say("%s, one of each side discarded, take %s; %d a side can decide on %s; judged: %s",
			counted(ahead.Runs, "run"), aboutTime(ahead), o.Repeats, canDecide(o.Repeats), figureNames(ahead))
		o.Step = func(s rig.Step) {
			p.Say("run %d of %d: %s", s.I, s.Of, s.Name)
			untell()
			untell = tell(p, s.Live)
		}
	}
	return rig.Interleave(ctx, o)
}

// canDecide is how many figures so many runs a side can convict in.
func canDecide(repeats int) string {
	if n := judge.MaxFigures(repeats); n > 0 {
		return "up to " + counted(n, "figure")
	}
	return "no figure"
}

func aboutTime(f rig.Forecast) string {
	d := f.Duration.Round(time.Second)
	if f.Duration < 10*time.Second {
		d = time.Duration(math.Ceil(f.Duration.Seconds()*10)) * 100 * time.Millisecond
	}
	return cmp.Or(map[bool]string{true: "at least "}[f.AtLeast], "about ") + d.String()
}

func figureNames(f rig.Forecast) string {
	const most = 6
	var names []string
	for _, x := range f.Figures[:min(len(f.Figures), most)] {
		names = append(names, x.String())
	}
	if more := len(f.Figures) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// showInterleaved writes the comparison, and gives the exit code.
func showInterleaved(cmd *cobra.Command, found *rig.Interleaved, bench benchFlags) error {
	errs := cmd.ErrOrStderr()
	if found.NoStream != "" {
		fmt.Fprintf(errs, "weir: side %s gave no stream at all: there is nothing to compare\n", found.NoStream)
		return exitWith(exitNoStream, nil)
	}
	if found.Comparison == nil {
		for _, w := range found.Warnings {
			fmt.Fprintln(errs, "weir:", report.Clean(w))
		}
		if found.Partial {
			return exitWith(exitFailed, errors.New("interrupted before there was anything to compare"))
		}
		return exitWith(exitUnfit, nil)
	}
	name := "text"
	if bench.json {
		name = "json"
	}
	format, err := report.LookupComparison(name)
	if err != nil {
		return err
	}
	if err := errors.Join(keepComparison(bench.dir, found), writeComparison(cmd, *found.Comparison, format)); err != nil {
		return err
	}
	return interleavedVerdict(found)
}

// interleavedVerdict is the exit code that a session asks for: one that did not
// become what was asked for, and found nothing, must not look like a pass.
func interleavedVerdict(found *rig.Interleaved) error {
	c := found.Comparison
	switch {
	case c.Regressed():
		return exitWith(exitRegression, nil)
	case found.Partial:
		return exitWith(exitFailed, fmt.Errorf("interrupted: only %s of A and %d of B were compared", counted(c.A.N, "run"), c.B.N))
	case found.Unfit > 0 && !c.Convicts:
		return exitWith(exitUnfit, fmt.Errorf("the instrument was not fit in %s, and the others are too few to find a difference", counted(found.Unfit, "run")))
	}
	return nil
}

// keepComparison writes comparison.json beside the runs.
func keepComparison(dir string, found *rig.Interleaved) error {
	if dir == "" {
		return nil
	}
	format, err := report.LookupComparison("json")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := format.Write(&b, *found.Comparison, report.View{}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "comparison.json"), b.Bytes(), 0o644)
}
