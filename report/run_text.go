package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"weir/judge"
	"weir/table"
)

// WriteRunText writes the run for a person: the verdict first, then what made
// it, then the figures.
func WriteRunText(w io.Writer, r Run) error {
	p := newPage(r.View)
	word, why := r.verdictLine()
	p.para(0, span{word + "  ", verdictStyle(word)}, span{why, plainly})
	p.blank()
	r.facts(p)
	r.gates(p)
	r.rules(p)
	r.phaseTable(p)
	list, err := r.buckets()
	if err != nil {
		return err
	}
	for _, b := range list {
		b.table(p)
	}
	if err := r.inflationTable(p); err != nil {
		return err
	}
	rows := r.rows()
	outcomeTable(p, rows)
	silenceTable(p, judge.Silence(rows, r.Deadline))
	r.runFooter(p)
	return p.writeTo(w)
}

func verdictStyle(word string) style {
	switch strings.ToLower(word) {
	case "pass", "valid", "ok", judge.Faster, judge.Same:
		return green
	case "fail", "invalid", judge.Slower:
		return red
	case "undecided", "suspect":
		return yellow
	}
	return bold
}

// facts says what was run, where, and whether the instrument was fit.
func (r Run) facts(p *page) {
	p.para(0, span{}, span{cmp.Or(r.target(), "a target that nothing names"), bold})
	p.flow(r.runFacts())
	if r.Info.Partial {
		p.line(span{"interrupted: what was measured until then", yellow})
	}
	if r.Health.Verdict == "" {
		p.line(span{"instrument ", dim}, span{"not stated", yellow})
		return
	}
	p.para(0, span{"instrument ", dim}, span{r.Health.Verdict + prefixed(": ", strings.Join(r.Health.Reasons, "; ")), verdictStyle(r.Health.Verdict)})
	if brief := r.Health.brief(); len(brief) > 0 {
		p.para(0, span{"           ", dim}, span{strings.Join(brief, ", "), dim})
	}
}

// runFacts are the facts of a run, each in a few words.
func (r Run) runFacts() []string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(prefixed("run ", r.Info.ID))
	if t := r.start(); !t.IsZero() {
		add(t.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	add(r.fact(r.Info.Dialect, func(x *table.Row) string { return x.Dialect }))
	add(prefixed("model ", r.fact(r.Info.Model, func(x *table.Row) string { return x.Model })))
	add(labelText(r.Info.Labels))
	add(prefixed("shard ", r.Info.Shard))
	add(fmt.Sprintf("seed %d", r.Info.Seed))
	rows := r.rows()
	text := count(len(rows), "request")
	if left := len(r.Rows) - len(rows); left > 0 {
		text += fmt.Sprintf(" (%d of warm-up or not the service's left out)", left)
	}
	add(text)
	return parts
}

func labelText(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return strings.Join(out, " ")
}

// gates writes a line a gate: what failed first.
func (r Run) gates(p *page) {
	if len(r.Judged.Gates) == 0 {
		return
	}
	p.heading("Gates", "intervals are 95 % within the run; latencies count from when the request was due")
	rows := [][]span{{{"", dim}, {"where", dim}, {"gate", dim}, {"actual", dim}, {"interval", dim}, {"n", dim}}}
	for _, g := range r.orderedGates() {
		rows = append(rows, []span{
			{gateWord(g.Verdict), verdictStyle(g.Verdict)}, {cut(Clean(gatePlace(g)), 30), plainly}, {cut(Clean(gateText(g)), 36), plainly},
			{gateActual(g), bold}, {gateInterval(g), dim}, {fmt.Sprint(g.N), dim},
		})
	}
	p.table(2, []bool{false, false, false, true, true, true}, rows)
	for _, g := range r.failing() {
		if why := gateWhy(g); why != "" {
			p.para(2, span{gateText(g) + ": ", dim}, span{why, plainly})
		}
	}
}

// orderedGates is the gates that did not pass, worst first, then the others.
func (r Run) orderedGates() []judge.GateResult {
	out := r.failing()
	for _, g := range r.Judged.Gates {
		if g.Verdict == "pass" {
			out = append(out, g)
		}
	}
	return out
}

func gateWord(verdict string) string {
	if verdict == "pass" {
		return "ok"
	}
	return strings.ToUpper(verdict)
}

// rules writes every rule with the requests that broke it.
func (r Run) rules(p *page) {
	if len(r.Judged.Rules) == 0 {
		return
	}
	p.heading("Rules", "checked on every stream")
	for _, x := range r.Judged.Rules {
		verdict := cmp.Or(x.Verdict, "pass")
		p.line(span{"  " + pad(gateWord(verdict), 10), verdictStyle(verdict)}, span{x.Name, plainly},
			span{"  " + ruleCount(x), dim})
		if len(x.RequestIDs) > 0 {
			p.para(12, span{}, span{someOf(x.RequestIDs, 5), plainly})
		}
		if len(x.Unseen) > 0 {
			p.para(12, span{"never seen: ", yellow}, span{strings.Join(x.Unseen, ", "), plainly})
		}
	}
}

func ruleCount(x judge.RuleResult) string {
	where := ""
	if x.Scenario != "" {
		where = x.Scenario + ": "
	}
	return fmt.Sprintf("%s%s in %s", where, count(x.Violations, "violation"), count(x.Checked, "stream"))
}

// someOf lists the first of many.
func someOf(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

func (r Run) runFooter(p *page) {
	warnings := r.warnings()
	if len(warnings) > 0 {
		p.blank()
	}
	for _, w := range warnings {
		p.para(0, span{"warning: ", yellow}, span{w, plainly})
	}
	if r.Logs != "" {
		p.blank()
		p.line(span{"log   ", dim}, span{r.Logs, plainly})
	}
}
