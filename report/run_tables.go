package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/judge"
	"weir/metric"
	"weir/stat"
	"weir/table"
)

// runMetrics are the rows of a scenario's table, the user's marks apart.
var runMetrics = []string{
	"ttft", "ttft_sent", "first_text", "useful", "useful_sent", "complete", "complete_sent",
	"gap_p50", "gap_p95", "gap_max", "stall_rate", "rate_e2e", "rate_decode", "tokens",
}

// lines are the bucket's summaries: the headline, then the user's marks. What
// says the same as the row before it is left out.
func (b bucket) lines() []table.Line {
	var out []table.Line
	for _, l := range table.Summarize(b.Group, append(append([]string{}, runMetrics...), b.marks()...)...) {
		unscheduled := strings.HasSuffix(l.Metric.Name, "_sent") && b.from(strings.TrimSuffix(l.Metric.Name, "_sent")) == "sent"
		if l.N == 0 || unscheduled || l.Metric.Optional && l.Reached == 0 {
			continue
		}
		if n := len(out); n > 0 && l.Metric.Name == out[n-1].Metric.Name+"_sent" && l.Metric.Name != "ttft_sent" && sameCells(l, out[n-1]) {
			continue
		}
		out = append(out, l)
	}
	return out
}

// sameCells reports whether two lines read the same.
func sameCells(a, b table.Line) bool {
	read := func(l table.Line) string {
		u := l.Metric.Unit
		return fmt.Sprint(l.N, point(l.P50.Point, u), point(l.P90.Point, u), point(l.P95.Point, u), point(l.P99.Point, u), point(l.Max, u))
	}
	return read(a) == read(b)
}

func (b bucket) marks() []string {
	seen := map[string]bool{}
	var out []string
	for i := range b.Rows {
		for _, n := range b.Rows[i].Values.Names() {
			if strings.HasPrefix(n, metric.MarkPrefix) && !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}

// table writes the bucket's figures.
func (b bucket) table(p *page) {
	p.heading(b.name(), count(len(b.Rows), "request")+prefixed(": ", b.connections()))
	p.para(2, span{}, span{outcomeShares(b.Rows), plainly})
	rows := [][]span{{{"", dim}, {"from", dim}, {"n", dim}, {"p50", dim}, {"p90", dim}, {"p95", dim}, {"p99", dim}, {"max", dim}}}
	for _, l := range b.lines() {
		u := l.Metric.Unit
		mid := span{point(l.P50.Point, u), bold}
		if l.N < stat.MinMedian {
			mid = span{listed(l), plainly}
		}
		rows = append(rows, []span{
			{words(l.Metric.Name), plainly}, {b.from(l.Metric.Name), dim}, {fmt.Sprint(l.N), dim}, mid,
			{point(l.P90.Point, u), plainly}, {point(l.P95.Point, u), plainly}, {point(l.P99.Point, u), plainly}, {point(l.Max, u), dim},
		})
	}
	p.table(2, []bool{false, false, true, true, true, true, true, true}, rows)
	b.beside(p)
}

// beside is what a reader must know with the headline: the same of complete
// answers only, where others are in it.
func (b bucket) beside(p *page) {
	for _, name := range []string{"ttft", "useful"} {
		all, complete := table.Summarize(b.Group, name), table.CompleteOnly(b.Group, name)
		if len(all) == 0 || len(complete) == 0 || complete[0].N == 0 || all[0].N == complete[0].N {
			continue
		}
		p.para(2, span{}, span{fmt.Sprintf("%s over the %s only: p50 %s, p95 %s", words(name), count(complete[0].N, "complete answer"),
			point(complete[0].P50.Point, "ms"), point(complete[0].P95.Point, "ms")), dim})
	}
}

// connections says how cold and warm connections differ, where there are both.
func (b bucket) connections() string {
	groups, err := table.GroupBy(b.Rows, "conn")
	if err != nil {
		return ""
	}
	var parts []string
	for _, conn := range []string{"cold", "warm"} {
		for _, g := range groups {
			if g.Value("conn") != conn {
				continue
			}
			part := fmt.Sprintf("%d %s", len(g.Rows), conn)
			if l := table.Summarize(g, "ttft_sent"); len(l) > 0 && l[0].N >= stat.MinMedian {
				part += " (ttft sent p50 " + point(l[0].P50.Point, "ms") + ")"
			}
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// outcomesOf is the share of every outcome.
func outcomesOf(rows []table.Row) []table.Share { return table.Outcomes(rows) }

func outcomeShares(rows []table.Row) string {
	var parts []string
	for _, x := range outcomesOf(rows) {
		parts = append(parts, percent(x.Share)+" "+x.Name)
	}
	return strings.Join(parts, ", ")
}

func (r Run) phaseTable(p *page) {
	if len(r.Phases) == 0 {
		return
	}
	p.heading("Load", "planned and achieved; warm-up left out")
	rows := [][]span{{{"phase", dim}, {"arrivals", dim}, {"time", dim}, {"planned", dim}, {"sent", dim}, {"dropped", dim}, {"queued", dim}, {"rate", dim}}}
	for _, x := range r.Phases {
		rows = append(rows, []span{
			{cut(Clean(x.Name), 24), plainly}, {x.Arrivals, plainly}, {Millis(x.Seconds * 1000), plainly}, {fmt.Sprint(x.Planned), plainly},
			{fmt.Sprint(x.Sent), plainly}, {fmt.Sprint(x.Dropped), plainly}, {fmt.Sprint(x.Queued), plainly}, {rateText(x), plainly},
		})
	}
	p.table(2, []bool{false, false, true, true, true, true, true, false}, rows)
}

func rateText(x Phase) string {
	if x.PlannedRate == 0 {
		return digits(x.AchievedRate) + "/s"
	}
	return digits(x.AchievedRate) + " of " + digits(x.PlannedRate) + "/s"
}

func (r Run) inflationTable(p *page) error {
	list, err := r.inflation()
	if err != nil || len(list) == 0 {
		return err
	}
	p.heading("Alone and under load", "p50; the factor is what concurrency costs")
	rows := [][]span{{{"", dim}, {"", dim}, {"alone", dim}, {"n", dim}, {"under load", dim}, {"n", dim}, {"factor", dim}}}
	for _, x := range list {
		rows = append(rows, []span{
			{cut(Clean(bucket{scenario: x.Scenario, phase: x.Phase}.name()), 30), plainly}, {words(x.Metric), plainly},
			{point(x.Alone, x.Unit), plainly}, {fmt.Sprint(x.AloneN), dim}, {point(x.Loaded, x.Unit), plainly}, {fmt.Sprint(x.LoadedN), dim},
			{factorText(x.Factor), bold},
		})
	}
	p.table(2, []bool{false, false, true, true, true, true, true}, rows)
	return nil
}

func factorText(f *float64) string {
	if f == nil {
		return notKnown
	}
	return fmt.Sprintf("x%.2f", *f)
}

func outcomeTable(p *page, list []table.Row) {
	if len(list) == 0 {
		return
	}
	p.heading("Outcomes", "")
	rows := [][]span{{{"", dim}, {"n", dim}, {"share", dim}, {"", dim}}}
	for _, x := range outcomesOf(list) {
		rows = append(rows, []span{{x.Name, plainly}, {fmt.Sprint(x.N), plainly}, {percent(x.Share), bold}, {reasonText(list, x.Name), dim}})
	}
	for _, x := range []table.Share{table.Broken(list), table.Silent(list)} {
		rows = append(rows, []span{{words(x.Name), dim}, {fmt.Sprint(x.N), dim}, {percent(x.Share), dim}, {fmt.Sprintf("of %d", x.Of), dim}})
	}
	p.table(2, []bool{false, true, true, false}, rows)
}

// reasonText counts the reasons of an outcome, the most frequent three.
func reasonText(rows []table.Row, outcome string) string {
	var parts []string
	for _, x := range reasons(rows, outcome) {
		parts = append(parts, fmt.Sprintf("%d %s", x.N, x.Name))
	}
	return cut(Clean(someOf(parts, 3)), 60)
}

func silenceTable(p *page, list []judge.SilenceRow) {
	if !silent(list) {
		return
	}
	p.heading("Silence and failure", "of the streams that were silent so long, how many then failed by themselves")
	rows := [][]span{{{"silent for", dim}, {"n", dim}, {"failed", dim}, {"share", dim}, {"95 % interval", dim}, {"cut by us", dim}}}
	for _, l := range list {
		share, interval := silenceText(l)
		rows = append(rows, []span{{fmt.Sprintf("%d s", l.Seconds), plainly}, {fmt.Sprint(l.N), plainly}, {fmt.Sprint(l.Failed), plainly},
			{share, bold}, {interval, dim}, {fmt.Sprint(l.Cut), dim}})
	}
	p.table(2, []bool{true, true, true, true, true, true}, rows)
}

// silent reports whether any stream was silent so long.
func silent(list []judge.SilenceRow) bool {
	return slices.ContainsFunc(list, func(l judge.SilenceRow) bool { return l.N+l.Cut > 0 })
}

func silenceText(l judge.SilenceRow) (share, interval string) {
	if l.Share == nil || l.Interval == nil {
		return notKnown, notKnown
	}
	return percent(*l.Share), between(percent(l.Interval[0]), percent(l.Interval[1]))
}
