package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"weir/judge"
	"weir/load"
	"weir/rig"
)

// capacityFlags are the flags of weir capacity, as the user wrote them.
type capacityFlags struct {
	benchFlags
	from, most string
	factor     float64
	precision  float64
	hold, rest time.Duration
}

func newCapacityCmd() *cobra.Command {
	var f capacityFlags
	cmd := &cobra.Command{
		Use:   "capacity PLAN.yaml",
		Short: "Find the highest rate at which every gate of a plan still holds",
		Long: `Runs the plan's scenarios at one rate after the other: each step twice the one
before until a gate fails, then between the highest that held and the lowest
that did not. A rate is held long enough that its gates can be decided. The
arrivals are those of the plan's first phase.

Goodput is the requests a second that met every limit, each by itself.

Exit codes: 0 a rate holds, 2 usage or plan, 3 none does, 5 the instrument was
not fit even at the first, 6 the target gave no stream at all.`,
		Example: `  weir capacity plan.yaml
  weir capacity plan.yaml -o out --json
  weir capacity plan.yaml --from 1/s --max 200/s --hold 1m --precision 0.05`,
		Args: exactArgs(1, "one plan file"),
		RunE: func(cmd *cobra.Command, args []string) error { return runCapacity(cmd, args[0], f) },
	}
	f.define(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.from, "from", "", "first `RATE`, such as 1/s (default: that of the plan's first phase)")
	fl.StringVar(&f.most, "max", "", "never above this `RATE` (default: 64 times the first)")
	fl.Float64Var(&f.factor, "factor", 2, "from one step to the next")
	fl.Float64Var(&f.precision, "precision", 0.1, "end when the rates differ by less, as a part")
	fl.DurationVar(&f.hold, "hold", 0, "measure each rate so long (default: the duration of the plan's first phase)")
	fl.DurationVar(&f.rest, "rest", time.Second, "between rates, for the service to recover")
	return cmd
}

func (f *capacityFlags) search() (o rig.CapacityOptions, err error) {
	o = rig.CapacityOptions{Factor: f.factor, Precision: f.precision, Hold: f.hold, Rest: f.rest}
	for _, r := range []struct {
		flag, text string
		into       *load.Rate
	}{{"--from", f.from, &o.From}, {"--max", f.most, &o.Max}} {
		if r.text == "" {
			continue
		}
		if *r.into, err = load.ParseRate(r.text); err != nil {
			return o, usagef("%s: %w", r.flag, err)
		}
	}
	return o, nil
}

func runCapacity(cmd *cobra.Command, file string, f capacityFlags) error {
	ctx, errs := cmd.Context(), cmd.ErrOrStderr()
	plan, err := f.plan(file)
	if err != nil {
		return err
	}
	o, err := f.search()
	if err != nil {
		return err
	}
	if err := o.Validate(plan); err != nil {
		return usagef("%s: %w", file, err)
	}
	bench, done, err := f.options(ctx, errs, plan)
	if err != nil {
		return err
	}
	o.Bench = bench
	found, err := watchCapacity(ctx, errs, plan, o, f.quiet)
	if err = errors.Join(err, done()); err != nil {
		return err
	}
	if err := f.keep(found); err != nil {
		return err
	}
	if f.json {
		err = writeCapacityJSON(cmd.OutOrStdout(), found)
	} else {
		err = writeCapacity(cmd.OutOrStdout(), found)
	}
	if err != nil {
		return err
	}
	return capacityVerdict(found)
}

// watchCapacity searches while telling on stderr how far it is.
func watchCapacity(ctx context.Context, errs io.Writer, plan *rig.LoadPlan, o rig.CapacityOptions, quiet bool) (*rig.Capacity, error) {
	p := newProgress(errs, quiet)
	defer p.Stop()
	defer tell(p, o.Bench.Live)()
	o.Point = func(x rig.CapacityPoint) {
		if !quiet {
			p.Say("%s", pointLine(x))
		}
	}
	return rig.FindCapacity(ctx, plan, o)
}

// keep writes capacity.json into the directory of the search.
func (f *capacityFlags) keep(found *rig.Capacity) error {
	if f.dir == "" {
		return nil
	}
	text, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.dir, "capacity.json"), append(text, '\n'), 0o644)
}

func writeCapacityJSON(w io.Writer, found *rig.Capacity) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(found)
}

func capacityVerdict(found *rig.Capacity) error {
	switch {
	case found.NoStream:
		return exitWith(exitNoStream, nil)
	case found.Verdict == judge.Invalid:
		return exitWith(exitUnfit, nil)
	case found.Verdict != judge.Pass:
		return exitWith(exitGate, nil)
	}
	return nil
}

// pointLine is a rate of a search in a line.
func pointLine(x rig.CapacityPoint) string {
	line := fmt.Sprintf("%.4g/s: %s", x.Rate, x.Verdict)
	if len(x.Why) > 0 {
		line += ", " + x.Why[0]
	}
	return line
}

// Say writes a line that stays.
func (p *progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn && p.tty {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	fmt.Fprintf(p.w, "weir: "+format+"\n", args...)
}
