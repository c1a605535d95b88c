package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/metric"
	"weir/stat"
)

// forP95 is how many requests of one class a p95 needs (METRICS §8.5).
const forP95 = 72

// tables writes a table per kind of connection; where several paths or modes
// were asked, they stand side by side.
func (s Session) tables(p *page) error {
	list, err := s.classes()
	if err != nil {
		return err
	}
	most := 0
	for _, conn := range []string{"cold", "warm", ""} {
		var side []*class
		for _, c := range list {
			if c.conn == conn {
				side, most = append(side, c), max(most, len(c.Rows))
			}
		}
		switch {
		case len(side) == 1:
			classTable(p, side[0])
		case len(side) > 1:
			sideBySide(p, conn, side)
		}
	}
	if most < forP95 || s.both() {
		p.blank()
	}
	if most < forP95 {
		p.para(2, span{}, span{fmt.Sprintf("%s show the shape, not the tails: a p95 needs %d of one kind. "+
			"Cold and warm are never averaged together.", count(len(s.records()), "run"), forP95), dim})
	}
	if s.both() {
		p.para(2, span{}, span{"Streaming moves the first text earlier; it does not shorten the work.", dim})
	}
	return nil
}

func classTable(p *page, c *class) {
	p.heading(c.name(), count(len(c.Rows), c.noun())+prefixed(", ", c.outcomes()))
	names := c.metrics()
	if len(c.Rows) < stat.MinMedian {
		p.table(2, []bool{false, true, true}, valueRows(c, names))
		return
	}
	tail := len(c.Rows) >= forP95
	head := []span{{"", dim}, {"n", dim}, {"p50", dim}, {"min", dim}, {"max", dim}}
	if tail {
		head = append(head, span{"p95", dim})
	}
	rows := [][]span{head}
	for _, n := range names {
		x, _ := c.summarize(n)
		u := x.Metric.Unit
		row := []span{{words(n), plainly}, {fmt.Sprint(x.N), dim}, {point(x.P50.Point, u), bold},
			{point(x.Min, u), plainly}, {point(x.Max, u), plainly}}
		if tail {
			row = append(row, span{point(x.P95.Point, u), plainly})
		}
		rows = append(rows, row)
	}
	p.table(2, []bool{false, true, true, true, true, true}, rows)
}

// valueRows lists the values of a class too small for a median.
func valueRows(c *class, names []string) [][]span {
	var rows [][]span
	for _, n := range names {
		x, _ := c.summarize(n)
		row := []span{{words(n), plainly}}
		for _, v := range x.Values {
			row = append(row, span{value(v, x.Metric.Unit), plainly})
		}
		rows = append(rows, row)
	}
	return rows
}

// words is a metric's name as people read it.
func words(name string) string {
	if mark, ok := strings.CutPrefix(name, metric.MarkPrefix); ok {
		return cut(Clean(mark), 24)
	}
	return strings.NewReplacer("_", " ", metric.StagePrefix, "stage ").Replace(name)
}

// sideBySide compares paths or modes over one kind of connection.
func sideBySide(p *page, conn string, list []*class) {
	title := conn
	if title == "" {
		title = "all"
	}
	p.heading(title+", side by side", "p50 (min to max), or the values where there are under 3")
	head, right := []span{{"", dim}}, []bool{false}
	var names []string
	for _, c := range list {
		head = append(head, span{fmt.Sprintf("%s (%d)", cut(Clean(sideName(c, list)), 20), len(c.Rows)), dim})
		right = append(right, true)
		for _, n := range c.metrics() {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	rows := [][]span{head}
	for _, n := range names {
		row := []span{{words(n), plainly}}
		for _, c := range list {
			text := notKnown
			if x, ok := c.summarize(n); ok {
				text = cell(x)
			}
			row = append(row, span{text, plainly})
		}
		rows = append(rows, row)
	}
	stacked(p, right, rows)
}

// stacked writes a table that may be wider than the page: columns that do not
// fit follow below, again under the names of the rows.
func stacked(p *page, right []bool, rows [][]span) {
	for from := 1; from < len(right); {
		to := from + 1
		for to < len(right) && tableWidth(slice(rows, from, to+1)) <= p.width {
			to++
		}
		if from > 1 {
			p.blank()
		}
		p.table(2, append([]bool{false}, right[from:to]...), slice(rows, from, to))
		from = to
	}
}

// slice is the first column and some of the others.
func slice(rows [][]span, from, to int) [][]span {
	var out [][]span
	for _, r := range rows {
		out = append(out, append([]span{r[0]}, r[from:to]...))
	}
	return out
}

// sideName is what tells a class from those beside it.
func sideName(c *class, list []*class) string {
	hops := slices.ContainsFunc(list, func(o *class) bool { return o.hop != c.hop })
	modes := slices.ContainsFunc(list, func(o *class) bool { return o.streamed != c.streamed })
	var parts []string
	if hops {
		name := c.hop
		if name == "" {
			name = "target"
		}
		parts = append(parts, name)
	}
	if modes {
		mode := "whole"
		if c.streamed {
			mode = "streamed"
		}
		parts = append(parts, mode)
	}
	return strings.Join(parts, " ")
}
