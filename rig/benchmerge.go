package rig

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"weir/judge"
	gen "weir/load"
	"weir/table"
)

// Part is a run that was read back, with its rows.
type Part struct {
	RunFile
	Rows []table.Row
}

// MergeShards makes one run of the shards of one: rows together, phases added
// up, the worst of the instruments' health, and gates judged anew over all
// rows. It refuses parts that are not shards of the same plan and seed, and one
// that is given twice. A shard that is missing is a warning.
func MergeShards(parts []Part) (Part, error) {
	if len(parts) == 0 {
		return Part{}, fmt.Errorf("no run to merge")
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	if err := sameRun(parts); err != nil {
		return Part{}, err
	}
	all := Part{RunFile: parts[0].RunFile}
	all.Shard, all.RunFile.Rows, all.Warnings, all.Logs, all.Phases = "", 0, nil, nil, nil
	var ids []string
	for _, p := range parts {
		ids = append(ids, p.ID)
		all.Rows = append(all.Rows, p.Rows...)
		all.Partial = all.Partial || p.Partial
		all.Logs = append(all.Logs, p.Logs...)
		for _, w := range p.Warnings {
			all.Warnings = append(all.Warnings, "shard "+p.Shard+": "+w)
		}
		if p.Start.Before(all.Start) {
			all.Start = p.Start
		}
	}
	all.ID, all.RunFile.Rows = strings.Join(ids, "+"), len(all.Rows)
	slices.SortStableFunc(all.Rows, func(a, b table.Row) int { return a.Start.Compare(b.Start) })
	all.Warnings = append(all.Warnings, missingShards(parts)...)
	all.Phases = mergePhases(parts)
	return all, all.judgeAnew(parts)
}

// sameRun refuses what is not parts of one run.
func sameRun(parts []Part) error {
	seen := map[string]string{}
	for _, p := range parts {
		a := parts[0]
		shard, err := gen.ParseShard(p.Shard)
		first, _ := gen.ParseShard(a.Shard)
		switch {
		case p.Shard == "" || err != nil:
			return fmt.Errorf("run %s is no shard: only runs made with --shard are parts of one", p.ID)
		case shard.N != first.N:
			return fmt.Errorf("run %s is shard %s, run %s shard %s: they are not parts of one", a.ID, a.Shard, p.ID, p.Shard)
		case p.Plan != a.Plan:
			return fmt.Errorf("runs %s and %s have different plans: they are not parts of one", a.ID, p.ID)
		case p.Seed != a.Seed:
			return fmt.Errorf("runs %s and %s have the seeds %d and %d: they are not parts of one", a.ID, p.ID, a.Seed, p.Seed)
		case p.Definitions != a.Definitions:
			return fmt.Errorf("runs %s and %s were measured under the definitions %d and %d", a.ID, p.ID, a.Definitions, p.Definitions)
		case seen[p.Shard] != "":
			return fmt.Errorf("shard %s is given twice, by %s and %s", p.Shard, seen[p.Shard], p.ID)
		}
		seen[p.Shard] = p.ID
	}
	return nil
}

func missingShards(parts []Part) []string {
	first, err := gen.ParseShard(parts[0].Shard)
	if err != nil || len(parts) == first.N {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d shards are here: rates and counts are of these alone", len(parts), first.N)}
}

// mergePhases adds the phases up by their names, in the order of the plan.
func mergePhases(parts []Part) []gen.PhaseResult {
	var out []gen.PhaseResult
	for _, part := range parts {
		for _, p := range part.Phases {
			i := slices.IndexFunc(out, func(x gen.PhaseResult) bool { return x.Name == p.Name })
			if i < 0 {
				out = append(out, p)
				continue
			}
			x := &out[i]
			x.Planned += p.Planned
			x.Sent += p.Sent
			x.Dropped += p.Dropped
			x.OwnDrops += p.OwnDrops
			x.Queued += p.Queued
			x.Warmups += p.Warmups
			x.PeakInFlight += p.PeakInFlight
			x.PlannedRate += p.PlannedRate
			x.AchievedRate += p.AchievedRate
			x.Seconds = max(x.Seconds, p.Seconds)
			if p.Start.Before(x.Start) {
				x.Start = p.Start
			}
		}
	}
	return out
}

// judgeAnew gives the whole its health and its verdict.
func (p *Part) judgeAnew(parts []Part) error {
	var names []string
	var healths []gen.Health
	in := judge.Input{Rows: p.Rows, ScenarioGates: map[string]judge.Gates{}, Span: map[string]float64{}, AllowUndecided: p.AllowUndecided}
	for _, part := range parts {
		var h gen.Health
		if err := json.Unmarshal(part.Health, &h); err != nil {
			return fmt.Errorf("run %s: health: %w", part.ID, err)
		}
		v, err := judged(part.Verdict)
		if err != nil {
			return fmt.Errorf("run %s: %w", part.ID, err)
		}
		names, healths = append(names, part.Shard), append(healths, h)
		in.Rules = mergeRules(in.Rules, v.Rules)
		if in.Gates == nil {
			in.Gates, in.ScenarioGates = gatesOf(v.Gates)
		}
	}
	for _, ph := range p.Phases {
		in.Span[ph.Name] = ph.Seconds
	}
	if p.Prices != nil {
		in.Prices = *p.Prices
	}
	health := gen.MergeHealth(names, healths)
	in.Health = health.Verdict
	p.Health, p.Verdict = object(health), object(judge.Judge(in))
	return nil
}

// gatesOf makes gates of what was judged by them.
func gatesOf(results []judge.GateResult) (judge.Gates, map[string]judge.Gates) {
	all, own := judge.Gates{}, map[string]judge.Gates{}
	for _, r := range results {
		if r.Limit == nil {
			continue
		}
		g := all
		if r.Scenario != "" {
			if own[r.Scenario] == nil {
				own[r.Scenario] = judge.Gates{}
			}
			g = own[r.Scenario]
		}
		c := judge.Condition{Stat: r.Stat, Op: r.Op, Value: *r.Limit, Phase: r.Phase}
		if r.Unit == "ms" {
			c.Unit = r.Unit // a time needs its unit; others are taken as they are
		}
		g[r.Metric] = append(g[r.Metric], c)
	}
	return all, own
}

// mergeRules adds the results of the same rules up.
func mergeRules(all, more []judge.RuleResult) []judge.RuleResult {
	for _, r := range more {
		i := slices.IndexFunc(all, func(x judge.RuleResult) bool { return x.Name == r.Name && x.Scenario == r.Scenario })
		if i < 0 {
			all = append(all, r)
			continue
		}
		x := &all[i]
		x.Checked += r.Checked
		x.Applied += r.Applied
		x.Censored += r.Censored
		x.Violations += r.Violations
		x.RequestIDs = append(x.RequestIDs, r.RequestIDs...)
		x.RequestIDs = x.RequestIDs[:min(len(x.RequestIDs), judge.MaxRequestIDs)]
		x.Unseen = slices.DeleteFunc(x.Unseen, func(name string) bool { return !slices.Contains(r.Unseen, name) })
		switch {
		case x.Violations > 0:
			x.Verdict = judge.Fail
		case x.Checked > 0:
			x.Verdict = judge.Pass
		}
	}
	return all
}
