package judge

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/metric"
	"weir/stream"
)

// Gates are limits by the name of what they limit: {ttft: [p95 < 2s],
// complete: [share >= 99%]}. A name is
//
//   - a metric of metric.All, stage.NAME, or a mark of the scenario, with any
//     of Stats. ttft, first_text, useful and complete are from when the request
//     was due. The share of a metric is that of the answers that reached it, of
//     those it applies to: fields_complete: [share >= 95%] asks it of a mark.
//   - an outcome, broken_share or silent_share_10s, with share (complete has
//     both: its share is that of the outcome, its quantiles are of the time).
//   - of the whole run, without a stat: rate (requests that ended well, a
//     second), system_tps (output tokens of all streams, a second: the
//     system's, no user's), tokens_per_request, cost_per_request,
//     tool_calls_per_request.
//
// A gate passes where its number is known to keep the limit. It is undecided
// where the requests are too few for the quantile's interval, or where there
// are none; it fails where the number exceeds the limit, never came, or is only
// known to exceed something less. A maximum and a mean have no interval: they
// are taken as what they are, of the answers that were seen.
type Gates map[string][]Condition

// Names are what gates may name beside what is always there.
type Names struct {
	Marks  []string // of the scenario; for gates over all, of any of them
	Phases []string // nil = not checked
	Priced bool     // there is a price table
}

// subject is what a gate's name stands for.
type subject struct {
	figure Figure // with Metric by its own name, and Stat
	shown  string // the name in results
	unit   string
	better metric.Direction
	part   bool // a share: decided at any n above 0
	whole  bool // a figure of the whole run
}

// Check says everything that is wrong with the gates, each at its place.
func (g Gates) Check(n Names) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(g)) {
		if len(g[name]) == 0 {
			faults = append(faults, fmt.Errorf("gate %s has no condition; write %s: [p95 < 2s], or leave it out", name, name))
		}
		for _, c := range g[name] {
			if err := c.check(name, n); err != nil {
				faults = append(faults, c.fault(name, "%w", err))
			}
		}
	}
	return errors.Join(faults...)
}

func (c Condition) check(name string, n Names) error {
	s, err := n.resolve(name, c.Stat)
	if err != nil {
		return err
	}
	if n.Phases != nil && c.Phase != "" && !slices.Contains(n.Phases, c.Phase) {
		return fmt.Errorf("there is no phase %q; there are %s", clip(c.Phase), strings.Join(n.Phases, ", "))
	}
	_, err = c.in(s.unit)
	return err
}

// Warnings are the gates that look the wrong way round: they pass only where
// what they limit is worse. Gates that Check refuses have none.
func (g Gates) Warnings(n Names) []string {
	out := []string{}
	for _, name := range slices.Sorted(maps.Keys(g)) {
		for _, c := range g[name] {
			s, err := n.resolve(name, c.Stat)
			if err != nil || s.better == metric.Neither || (s.better == metric.Lower) == (c.Op[0] == '<') {
				continue
			}
			out = append(out, fmt.Sprintf("gate %s %q passes only where it is worse: %s of %s is better", name, c, betterWord(s.better), s.shown))
		}
	}
	return out
}

func betterWord(d metric.Direction) string {
	if d == metric.Lower {
		return "less"
	}
	return "more"
}

// resolve finds what a gate's name stands for with this stat.
func (n Names) resolve(name, stat string) (subject, error) {
	if k, ok := wholeRunFigures[name]; ok {
		return n.wholeRun(name, stat, k)
	}
	if isShareName(name) && (stat == "share" || stat == "" || name != string(stream.Complete)) {
		return shareOf(name, stat)
	}
	m, ok := metric.Lookup(name)
	if !ok {
		m, ok = metric.Lookup(metric.MarkPrefix + name)
		ok = ok && slices.Contains(n.Marks, name)
	}
	if !ok {
		return subject{}, n.unknown(name)
	}
	if mark, is := strings.CutPrefix(m.Name, metric.MarkPrefix); is && !slices.Contains(n.Marks, mark) {
		return subject{}, fmt.Errorf("there is no mark %q; %s", clip(mark), n.marks())
	}
	if (m.Name == metric.Useful || m.Name == metric.Useful+"_sent") && !slices.Contains(n.Marks, metric.Useful) {
		return subject{}, fmt.Errorf("%s needs a mark of the name useful; %s", m.Name, n.marks())
	}
	s := subject{figure: Figure{Metric: m.Name, Stat: stat}, shown: strings.TrimPrefix(m.Name, metric.MarkPrefix), unit: m.Unit, better: m.Better}
	switch stat {
	case "":
		return subject{}, fmt.Errorf("%s needs a stat: one of %s, such as p95", s.shown, strings.Join(Stats, ", "))
	case "share":
		s.unit, s.better, s.part = "share", metric.Higher, true
	}
	return s, nil
}

func (n Names) wholeRun(name, stat string, k figureKind) (subject, error) {
	switch {
	case stat != "":
		return subject{}, fmt.Errorf("%s is one number of the whole run and has no %s; write it without, such as \"< 3\" or value >= 10", name, stat)
	case name == costPerRequest && !n.Priced:
		return subject{}, fmt.Errorf("%s needs a price table, such as prices: {input: 2, output: 8}", name)
	}
	return subject{figure: Figure{Metric: name}, shown: name, unit: k.unit, better: k.better, whole: true}, nil
}

func isShareName(name string) bool { return rowShares[name] != nil || isOutcomeName(name) }

func shareOf(name, stat string) (subject, error) {
	if stat != "share" && stat != "" {
		return subject{}, fmt.Errorf("%s is a share and has no %s; write share <= 1%%", name, stat)
	}
	s := subject{figure: Figure{Metric: name, Stat: "share"}, shown: name, unit: "share", better: metric.Lower, part: true}
	if name == string(stream.Complete) {
		s.better = metric.Higher
	}
	return s, nil
}

// unknown lists everything a gate may name.
func (n Names) unknown(name string) error {
	var metrics, outcomes []string
	for _, m := range metric.All {
		metrics = append(metrics, m.Name)
	}
	for _, o := range stream.Outcomes() {
		outcomes = append(outcomes, string(o))
	}
	return fmt.Errorf("there is nothing called %q; %s; the metrics are %s, %sNAME; the shares are %s, %s; of the whole run there are %s",
		clip(name), n.marks(), strings.Join(metrics, ", "), metric.StagePrefix, strings.Join(outcomes, ", "),
		strings.Join(slices.Sorted(maps.Keys(rowShares)), ", "), strings.Join(slices.Sorted(maps.Keys(wholeRunFigures)), ", "))
}

func (n Names) marks() string {
	if len(n.Marks) == 0 {
		return "no marks are defined (marks: {NAME: EXPRESSION})"
	}
	return "the marks are " + strings.Join(n.Marks, ", ")
}
