package rig

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/judge"
	gen "weir/load"
	"weir/stream"
	"weir/table"
)

// MergeShards makes one run of the shards of one: rows together, phases added
// up, the worst of the instruments' health, gates judged anew over all rows. It
// refuses parts that are not shards of one plan, seed and target, and one that
// is given twice. A shard that is not there is a warning.
func MergeShards(parts []Part) (Part, error) {
	switch len(parts) {
	case 0:
		return Part{}, errors.New("no run to merge")
	case 1:
		return parts[0], nil
	}
	if err := sameRun(parts); err != nil {
		return Part{}, err
	}
	all := Part{RunFile: parts[0].RunFile}
	all.Shard, all.Warnings, all.Logs, all.Phases = "", nil, nil, nil
	var ids []string
	for _, p := range parts {
		ids = append(ids, p.ID)
		all.add(p)
	}
	all.ID, all.RunFile.Rows = strings.Join(ids, "+"), len(all.Rows)
	slices.SortStableFunc(all.Rows, func(a, b table.Row) int { return a.Start.Compare(b.Start) })
	all.Warnings = append(all.Warnings, missingShards(parts)...)
	health, err := mergeHealth(parts)
	if err != nil {
		return Part{}, err
	}
	all.Health = object(health)
	return all, all.judgeAnew(parts, health.Verdict)
}

// sameRun refuses what is not parts of one run.
func sameRun(parts []Part) error {
	seen := map[string]string{}
	a := parts[0]
	first, _ := gen.ParseShard(a.Shard)
	for _, p := range parts {
		shard, err := gen.ParseShard(p.Shard)
		switch {
		case p.Shard == "" || err != nil:
			return fmt.Errorf("run %s is no shard: only runs made with --shard are parts of one; to hold runs against each other: weir compare", p.ID)
		case shard.N != first.N:
			return fmt.Errorf("run %s is shard %s, run %s shard %s: they are not parts of one", a.ID, a.Shard, p.ID, p.Shard)
		case p.Plan != a.Plan:
			return fmt.Errorf("runs %s and %s have different plans: they are not parts of one", a.ID, p.ID)
		case p.Seed != a.Seed:
			return fmt.Errorf("runs %s and %s have the seeds %d and %d: they are not parts of one", a.ID, p.ID, a.Seed, p.Seed)
		case p.Target != a.Target:
			return fmt.Errorf("runs %s and %s put their load on %s and %s: they are not parts of one", a.ID, p.ID, a.Target, p.Target)
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

// add takes the rows, phases and words of a part.
func (p *Part) add(x Part) {
	p.Rows = append(p.Rows, x.Rows...)
	p.Partial = p.Partial || x.Partial
	p.Deadline = max(p.Deadline, x.Deadline)
	p.Logs = append(p.Logs, x.Logs...)
	for _, w := range x.Warnings {
		p.Warnings = append(p.Warnings, "shard "+x.Shard+": "+w)
	}
	if x.Start.Before(p.Start) {
		p.Start = x.Start
	}
	for _, phase := range x.Phases {
		p.addPhase(phase)
	}
}

// addPhase adds a part's phase to that of its name. Machines begin within what
// their clocks and people bear: the whole lasted as long as the longest.
func (p *Part) addPhase(x gen.PhaseResult) {
	i := slices.IndexFunc(p.Phases, func(y gen.PhaseResult) bool { return x.Name == y.Name })
	if i < 0 {
		p.Phases = append(p.Phases, x)
		return
	}
	y := &p.Phases[i]
	if x.Start.Before(y.Start) {
		y.Start = x.Start
	}
	y.Seconds = max(y.Seconds, x.Seconds)
	y.Planned, y.Sent, y.Warmups = y.Planned+x.Planned, y.Sent+x.Sent, y.Warmups+x.Warmups
	y.Dropped, y.OwnDrops, y.Queued = y.Dropped+x.Dropped, y.OwnDrops+x.OwnDrops, y.Queued+x.Queued
	y.PeakInFlight += x.PeakInFlight
	y.PlannedRate, y.AchievedRate = y.PlannedRate+x.PlannedRate, y.AchievedRate+x.AchievedRate
}

// mergeHealth is as fit as the least fit part: of each figure it has the worst,
// of each count the sum.
func mergeHealth(parts []Part) (gen.Health, error) {
	all := gen.Health{Verdict: gen.Valid, Reasons: []string{}}
	say := func(verdict, shard, why string) {
		if verdict == gen.Invalid || all.Verdict == gen.Valid {
			all.Verdict = verdict
		}
		if why != "" {
			all.Reasons = append(all.Reasons, "shard "+shard+": "+why)
		}
	}
	for _, p := range parts {
		if len(p.Health) == 0 {
			say(gen.Invalid, p.Shard, "it does not say whether its instrument was fit; it did not end")
			continue
		}
		var h gen.Health
		if err := json.Unmarshal(p.Health, &h); err != nil {
			return all, fmt.Errorf("run %s: health: %w", p.ID, err)
		}
		say(h.Verdict, p.Shard, "")
		for _, why := range h.Reasons {
			say(h.Verdict, p.Shard, why)
		}
		all.Drops, all.OwnDrops, all.Lost = all.Drops+h.Drops, all.OwnDrops+h.OwnDrops, all.Lost+h.Lost
		all.Events, all.PeakInFlight, all.Limits = all.Events+h.Events, all.PeakInFlight+h.PeakInFlight, h.Limits
		takeWorst(&all, h)
	}
	return all, nil
}

func takeWorst(all *gen.Health, h gen.Health) {
	type figure struct{ of, with *stream.Maybe[float64] }
	for _, x := range []figure{
		{&all.LatenessP50, &h.LatenessP50}, {&all.LatenessP95, &h.LatenessP95}, {&all.LatenessP99, &h.LatenessP99},
		{&all.LatenessMax, &h.LatenessMax}, {&all.MedianTTFT, &h.MedianTTFT}, {&all.LagMaxShare, &h.LagMaxShare},
		{&all.LagShareApp, &h.LagShareApp}, {&all.LagShareKern, &h.LagShareKern}, {&all.SchedP99, &h.SchedP99},
		{&all.GCPauseMax, &h.GCPauseMax}, {&all.CPUShare, &h.CPUShare},
	} {
		if v, ok := x.with.Get(); ok && v >= x.of.Or(v) {
			*x.of = *x.with
		}
	}
	for _, x := range []figure{
		{&all.AchievedRatio, &h.AchievedRatio}, {&all.FDHeadroom, &h.FDHeadroom}, {&all.PortHeadroom, &h.PortHeadroom},
	} {
		if v, ok := x.with.Get(); ok && v <= x.of.Or(v) {
			*x.of = *x.with
		}
	}
}

// judgeAnew gives the verdict on the whole: gates by all rows, rules by what
// each part saw.
func (p *Part) judgeAnew(parts []Part, health string) error {
	h, err := ReadHeld(p.Run)
	if err != nil {
		return err
	}
	in := h.input()
	in.Rows, in.Span, in.Health = p.Rows, p.span(), health
	for _, x := range parts {
		v, err := judged(x.Verdict)
		if err != nil {
			return fmt.Errorf("run %s: %w", x.ID, err)
		}
		in.Rules = mergeRules(in.Rules, v.Rules)
	}
	p.Verdict = object(judge.Judge(in))
	return nil
}

// mergeRules adds the results of the same rules up.
func mergeRules(all, more []judge.RuleResult) []judge.RuleResult {
	for _, r := range more {
		i := slices.IndexFunc(all, func(x judge.RuleResult) bool {
			return x.Name == r.Name && x.Scenario == r.Scenario && x.Rule == r.Rule
		})
		if i < 0 {
			all = append(all, r)
			continue
		}
		x := &all[i]
		x.Checked, x.Applied, x.Censored = x.Checked+r.Checked, x.Applied+r.Applied, x.Censored+r.Censored
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
