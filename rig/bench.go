package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"time"

	"weir/judge"
	gen "weir/load"
	"weir/metric"
	"weir/probe"
	"weir/store"
	"weir/stream"
	"weir/table"
)

// BenchOptions say how a plan is run and what is kept of it. The zero value
// keeps nothing but the result.
type BenchOptions struct {
	ID    string // of the run; "" = by kind, time and process
	Kind  string // "" = bench
	Weir  string // version of the program
	Tags  []string
	Dir   string // run directory; "" = none
	Seed  uint64 // 0 = the plan's
	Shard gen.Shard
	Model string // asked for where plan and scenario name none
	Nonce string // put before every prompt; "" = as the plan's cache says
	Zstd  bool   // compress the event log

	Live   *gen.Live
	Store  store.Store          // nil = none
	Notice func(message string) // told of trouble as it happens; nil = nobody
	See    func(*stream.Record) // takes each record before it is let go, one at a time; nil = nobody
}

// Bench is what a run of a plan came to.
type Bench struct {
	Run      table.Run
	Load     *gen.Result
	Rows     []table.Row // warm-up and what failed by our own fault included
	Verdict  judge.Verdict
	Warnings []string
	Logs     []string // paths of the event log
}

// RunBench puts a plan's load on its target, keeps what came of it, and
// decides. The error says that weir could not do its job; the bench is then
// what there is, or nil.
func RunBench(ctx context.Context, p *LoadPlan, o BenchOptions) (*Bench, error) {
	c, err := p.Config()
	if err != nil {
		return nil, err
	}
	o = o.withDefaults(p)
	o.configure(&c)
	b := &Bench{Run: o.describe(p, c)}
	k, err := newKeeper(p, o, b)
	if err != nil {
		return nil, err
	}
	c.Done = k.done
	b.Load, err = gen.Run(ctx, c)
	// What was measured is kept even where the run was interrupted.
	kept := context.WithoutCancel(ctx)
	k.close()
	if b.Load == nil {
		return nil, err
	}
	b.conclude(p, k)
	return b, errors.Join(err, k.save(kept))
}

func (o BenchOptions) withDefaults(p *LoadPlan) BenchOptions {
	if o.Kind == "" {
		o.Kind = "bench"
	}
	if o.ID == "" {
		o.ID = RunName(o.Kind, time.Now())
	}
	if o.Seed == 0 {
		o.Seed = p.Seed
	}
	if o.Nonce == "" && p.Cache == "cold" {
		o.Nonce = o.ID
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	return o
}

// configure puts the options into the load.
func (o BenchOptions) configure(c *gen.Config) {
	c.Run, c.Seed, c.Shard, c.Live, c.Nonce = o.ID, o.Seed, o.Shard, o.Live, o.Nonce
	for i := range c.Scenarios {
		if c.Scenarios[i].Request.Model == "" {
			c.Scenarios[i].Request.Model = o.Model
		}
	}
}

// describe says what the run is, before anything is known of it.
func (o BenchOptions) describe(p *LoadPlan, c gen.Config) table.Run {
	r := table.Run{
		ID: o.ID, Kind: o.Kind, Start: time.Now().UTC(), Target: probe.SafeURL(p.Target.URL), Model: p.Target.Model,
		Labels: p.Labels, Tags: o.Tags, Plan: p.Text(), Seed: o.Seed, Shard: o.Shard.String(), Weir: o.Weir,
		Definitions: metric.Version, Environment: environment(), Partial: true,
	}
	if r.Model == "" {
		r.Model = o.Model
	}
	if c.Dialect != nil {
		r.Dialect = c.Dialect.Name()
	}
	return r
}

// environment is the machine the load came from, as far as it bears on it.
func environment() map[string]string {
	return map[string]string{
		"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		"cpus": strconv.Itoa(runtime.NumCPU()), "gomaxprocs": strconv.Itoa(runtime.GOMAXPROCS(0)),
	}
}

// conclude decides what the run came to.
func (b *Bench) conclude(p *LoadPlan, k *keeper) {
	b.Load.Health.Lost = k.lost
	b.Load.Health.Judge()
	b.Warnings = append(slices.Clone(b.Load.Warnings), k.troubles...)
	for _, s := range slices.Sorted(maps.Keys(b.Load.Unseen)) {
		for _, m := range b.Load.Unseen[s] {
			b.Warnings = append(b.Warnings, fmt.Sprintf("mark %s of scenario %s was never seen in the whole run", m, s))
		}
	}
	in := judge.Input{
		Rows: b.Rows, Gates: p.Gates, ScenarioGates: p.scenarioGates(), Rules: k.rules(),
		Health: b.Load.Health.Verdict, AllowUndecided: p.AllowUndecided, Span: b.span(),
	}
	if p.Prices != nil {
		in.Prices = *p.Prices
	}
	b.Verdict = judge.Judge(in)
	b.Warnings = append(b.Warnings, b.Verdict.Warnings...)
	b.Run.Partial, b.Run.Rows = b.Load.Partial, len(b.Rows)
	b.Run.Health, b.Run.Verdict = object(b.Load.Health), object(b.Verdict)
	if b.Run.Dialect == "" && len(b.Rows) > 0 {
		b.Run.Dialect = b.Rows[0].Dialect
	}
	b.Run.Config, b.Run.Held = p.alike(b.Run, k.o.Nonce != ""), p.held()
	b.Run.Phases, b.Run.Warnings, b.Run.Deadline = object(b.Load.Phases), b.Warnings, p.deadline()
}

// object is a value that is known to be writable as JSON.
func object(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

// span is how long each phase was measured, in seconds.
func (b *Bench) span() map[string]float64 {
	out := map[string]float64{}
	for _, p := range b.Load.Phases {
		out[p.Name] = p.Seconds
	}
	return out
}

func (p *LoadPlan) scenarioGates() map[string]judge.Gates {
	out := map[string]judge.Gates{}
	for _, s := range p.Scenarios {
		if len(s.Gates) > 0 {
			out[s.Name] = s.Gates
		}
	}
	return out
}

// NoStream reports whether the target gave no stream at all: no request got
// further than an error, a page or nothing.
func (b *Bench) NoStream() bool {
	sent := false
	for i := range b.Rows {
		r := &b.Rows[i]
		if gen.OwnReason(r.Reason) || r.Outcome == "dropped" || r.Outcome == "cancelled" {
			continue
		}
		sent = true
		empty := r.Outcome == "truncated" && r.Reason == "empty"
		if r.Outcome != "error_early" && !empty || r.Reason == "in_band" && !r.Whole {
			return false
		}
	}
	return sent
}
