package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"weir/judge"
	"weir/load"
	"weir/report"
	"weir/rig"
	"weir/store/sqlite"
)

const benchExamples = `  weir bench plan.yaml                      run the plan, print the verdict and figures
  weir bench plan.yaml -o out --json        keep everything in out/, one JSON object on stdout
  weir bench plan.yaml --against URL        6 runs of each target, interleaved: is URL slower?
  weir bench plan.yaml --shard 2/3 -o b     the second of three machines: every third arrival
  weir bench --help-plan                    every key of a plan
  weir bench --schema > plan.schema.json    the same as a JSON Schema, for editors`

// benchFlags are the flags of weir bench, as the user wrote them.
type benchFlags struct {
	dir      string
	json     bool
	shard    string
	seed     uint64
	labels   []string
	tags     []string
	db       string
	zstd     bool
	quiet    bool
	helpPlan bool
	schema   bool
}

func newBenchCmd() *cobra.Command {
	var f benchFlags
	var against againstFlags
	cmd := &cobra.Command{
		Use:   "bench PLAN.yaml",
		Short: "Put a service under the load its users would, and decide by its gates",
		Long: `Sends what the plan says when the plan says it, whatever the service does: a
slow answer never delays the next question. Latency counts from when a request
was due. Gates and rules decide; the instrument states whether it was fit.

With --against, --against-model, --against-plan or --baseline it makes runs to
be compared, as weir compare does: the verdict is then the comparison's, and not
that of the gates, whose figures are those compared. Runs are interleaved, the
order within each pair drawn by the seed, after one discarded run of each side;
each prompt begins with a nonce, so that no side profits from the other's prompt
cache, unless the plan says cache: warm.

Exit codes: 0 every gate passed, 2 usage or plan, 3 a gate failed or was
undecided, 4 side B is slower (worse), 5 the instrument was not fit, 6 the
target gave no stream at all.
Ctrl-C ends the run; what was measured is kept and reported as partial.`,
		Example: benchExamples,
		Args:    f.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			if against.given(cmd) && !f.helpPlan && !f.schema {
				return runAgainst(cmd, args[0], f, against)
			}
			return runBench(cmd, args, f)
		},
	}
	fl := cmd.Flags()
	f.define(cmd)
	against.define(cmd)
	fl.BoolVar(&f.helpPlan, "help-plan", false, "every key of a plan, and what it takes")
	fl.BoolVar(&f.schema, "schema", false, "the JSON Schema of a plan")
	return cmd
}

func (f *benchFlags) define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&f.dir, "output", "o", "", "run `DIR` to make: run.json, rows.jsonl, events/, report.html")
	fl.BoolVar(&f.json, "json", false, "one JSON object on stdout instead of text")
	fl.StringVar(&f.shard, "shard", "", "be machine `i/n` of several that share the schedule")
	fl.Uint64Var(&f.seed, "seed", 0, "of arrivals, scenarios and prompts (default: the plan's)")
	fl.StringArrayVar(&f.labels, "label", nil, "label `k=v` kept with the run and its records, repeatable")
	fl.StringArrayVar(&f.tags, "tag", nil, "tag of the run, repeatable")
	fl.StringVar(&f.db, "db", sqlite.DefaultFile, "SQLite `FILE` that keeps the runs; \"\" for none")
	fl.BoolVar(&f.zstd, "zstd", false, "compress the event log")
	fl.BoolVar(&f.quiet, "quiet", false, "no progress on stderr")
}

func (f *benchFlags) args(cmd *cobra.Command, args []string) error {
	if f.helpPlan || f.schema {
		return nil
	}
	return exactArgs(1, "one plan file")(cmd, args)
}

func runBench(cmd *cobra.Command, args []string, f benchFlags) error {
	switch {
	case f.helpPlan:
		_, err := io.WriteString(cmd.OutOrStdout(), rig.PlanHelp())
		return err
	case f.schema:
		b, err := rig.PlanSchema()
		if err == nil {
			_, err = cmd.OutOrStdout().Write(b)
		}
		return err
	}
	ctx := cmd.Context()
	plan, err := f.plan(args[0])
	if err != nil {
		return err
	}
	o, done, err := f.options(ctx, cmd.ErrOrStderr(), plan)
	if err != nil {
		return err
	}
	seen := report.NewCollector(0)
	o.See = seen.Add
	b, err := watchBench(ctx, cmd.ErrOrStderr(), plan, o, f.quiet)
	err = errors.Join(err, done())
	if b == nil {
		return err
	}
	// What was measured is shown even where it could not all be kept.
	if err := errors.Join(err, f.show(cmd, plan, b, seen)); err != nil {
		return err
	}
	return benchVerdict(b)
}

// show writes the result to stdout, and its page into the run directory.
func (f *benchFlags) show(cmd *cobra.Command, plan *rig.LoadPlan, b *rig.Bench, seen *report.Collector) error {
	r, err := b.Report(plan)
	if err != nil {
		return err
	}
	r.Series = seen.Series()
	return errors.Join(f.print(cmd.OutOrStdout(), r), f.page(cmd.ErrOrStderr(), r))
}

// plan reads the plan and adds what the flags say.
func (f *benchFlags) plan(file string) (*rig.LoadPlan, error) {
	plan, err := rig.ReadPlan(file)
	if err != nil {
		return nil, usagef("%w", err)
	}
	labels, err := pairs("label", f.labels)
	if err != nil {
		return nil, err
	}
	if plan.Labels == nil {
		plan.Labels = map[string]string{}
	}
	for k, v := range labels {
		plan.Labels[k] = v
	}
	return plan, nil
}

// options opens what the flags name. done closes it.
func (f *benchFlags) options(ctx context.Context, errs io.Writer, plan *rig.LoadPlan) (o rig.BenchOptions, done func() error, err error) {
	o = rig.BenchOptions{Weir: version, Dir: f.dir, Seed: f.seed, Tags: f.tags, Zstd: f.zstd, Live: load.NewLive()}
	done = func() error { return nil }
	if f.shard != "" {
		if o.Shard, err = load.ParseShard(f.shard); err != nil {
			return o, done, usagef("--shard: %w", err)
		}
	}
	if f.dir != "" {
		if _, err := os.Stat(filepath.Join(f.dir, "run.json")); err == nil {
			return o, done, usagef("--output %s: holds a run already; name another directory", f.dir)
		}
	}
	o.Notice = func(s string) { fmt.Fprintln(errs, "weir:", s) }
	o.Model = chooseModel(ctx, errs, plan, f.quiet)
	if f.db == "" {
		return o, done, nil
	}
	s, err := sqlite.Open(ctx, sqlite.Options{Path: f.db})
	if err != nil {
		return o, done, fmt.Errorf("--db: %w", err)
	}
	o.Store = s
	return o, s.Close, nil
}

// chooseModel asks the service for a model where the plan names none.
func chooseModel(ctx context.Context, errs io.Writer, plan *rig.LoadPlan, quiet bool) string {
	c, err := plan.Config()
	if err != nil || !plan.WantsModel() {
		return ""
	}
	model, why := rig.FirstModel(ctx, c.Target, c.APIKey, c.Header,
		&tls.Config{RootCAs: pool(c.Probe.CACert), InsecureSkipVerify: c.Probe.Insecure})
	if model == "" {
		model = "default"
	}
	if !quiet {
		fmt.Fprintf(errs, "weir: model %s (%s)\n", model, why)
	}
	return model
}

// watchBench runs the plan while telling on stderr how far it is.
func watchBench(ctx context.Context, errs io.Writer, plan *rig.LoadPlan, o rig.BenchOptions, quiet bool) (*rig.Bench, error) {
	if !quiet && canShow(errs) {
		s := showLive(errs, o.Live)
		defer s.Stop()
		o.Notice = s.Say
		return rig.RunBench(ctx, plan, o)
	}
	p := newProgress(errs, quiet)
	defer p.Stop()
	defer tell(p, o.Live)()
	return rig.RunBench(ctx, plan, o)
}

// tell keeps p's line at what a load is doing, until the returned function is
// called.
func tell(p *progress, live *load.Live) (stop func()) {
	quit := make(chan struct{})
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.Set("%s", liveLine(live.Snapshot()))
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit) }
}

// liveLine is a load at a moment, in a line.
func liveLine(s load.Snapshot) string {
	line := fmt.Sprintf("%s %d/%d s, %d due, %d in flight, %d done", s.Phase,
		int(s.PhaseElapsed.Seconds()), int(s.PhaseSpan.Seconds()), s.Due, s.InFlight, s.Done)
	if n := s.Dropped + s.OwnDrops; n > 0 {
		line += fmt.Sprintf(", %d dropped", n)
	}
	if v, ok := s.TTFT.P95.Get(); ok {
		line += fmt.Sprintf(", ttft p95 %.0f ms", v)
	}
	if v, ok := s.Lateness.P99.Get(); ok {
		line += fmt.Sprintf(", lateness p99 %.1f ms", v)
	}
	return line
}

// print writes the result to stdout, and where this is a step of GitHub Actions
// tells it so.
func (f *benchFlags) print(out io.Writer, r report.Run) error {
	name := "text"
	if f.json {
		name = "json"
	}
	format, err := report.LookupRun(name)
	if err != nil {
		return err
	}
	r.View = report.View{Color: useColor(out), Width: columns(out)}
	if err := format.Write(out, r); err != nil {
		return err
	}
	if f.json { // annotations would stand in the object
		out = io.Discard
	}
	return report.GitHub(out, os.Getenv, r)
}

// page writes report.html into the run directory.
func (f *benchFlags) page(errs io.Writer, r report.Run) error {
	if f.dir == "" {
		return nil
	}
	if !report.HasAssets() {
		fmt.Fprintf(errs, "weir: no report.html: %v\n", report.ErrNoAssets)
		return nil
	}
	file, err := os.Create(filepath.Join(f.dir, "report.html"))
	if err != nil {
		return err
	}
	if err := errors.Join(report.WriteRunHTML(file, r), file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name())) // half a page would look like a whole one
	}
	return nil
}

// benchVerdict is the exit code that a run asks for.
func benchVerdict(b *rig.Bench) error {
	switch {
	case b.NoStream():
		return exitWith(exitNoStream, nil)
	case b.Verdict.Verdict == judge.Invalid:
		return exitWith(exitUnfit, nil)
	case b.Verdict.Verdict != judge.Pass:
		return exitWith(exitGate, nil)
	}
	return nil
}
