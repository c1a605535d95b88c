package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weir/metric"
	"weir/stat"
	"weir/stream"
	"weir/table"
)

// class is what may be summarised together: answers of one path and mode over
// one kind of connection. Cold and warm are never mixed.
type class struct {
	table.Group
	hop      string
	conn     string // cold, warm, "" unknown
	streamed bool
}

// classes groups the session's answers: cold before warm, the main path before
// others, streamed before whole.
func (s Session) classes() ([]*class, error) {
	groups, err := table.GroupBy(table.Rows(s.records()), "conn", "hop", "stream")
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var out []*class
	for _, g := range groups {
		out = append(out, &class{g, g.Value("hop"), g.Value("conn"), g.Rows[0].Streamed})
	}
	hops := append([]string{""}, s.each(func(r *stream.Record) string { return r.Hop })...)
	slices.SortFunc(out, func(a, b *class) int {
		return cmp.Or(
			cmp.Compare(connRank(a.conn), connRank(b.conn)),
			cmp.Compare(slices.Index(hops, a.hop), slices.Index(hops, b.hop)),
			cmp.Compare(modeRank(a.streamed), modeRank(b.streamed)),
		)
	})
	return out, nil
}

func connRank(conn string) int { return slices.Index([]string{"cold", "warm", ""}, conn) }

func modeRank(streamed bool) int {
	if streamed {
		return 0
	}
	return 1
}

// summarize summarises one metric over the class.
func (c *class) summarize(name string) (table.Line, bool) {
	lines := table.Summarize(c.Group, name)
	if len(lines) == 0 || lines[0].N == 0 {
		return table.Line{}, false
	}
	return lines[0], true
}

// headline are the metrics a table of a connection class shows, marks apart.
var headline = []string{
	"headers", "first_event", "ttft", "first_reasoning", "first_tool", "first_text", metric.Useful, "complete",
	"rate_e2e", "rate_decode", "cps_e2e", "gap_p50", "gap_p95", "gap_max", "stall_count", "tokens",
}

// metrics are the rows of the class's table: the headline, then what the user
// marked. What says the same as another row is left out.
func (c *class) metrics() []string {
	var names []string
	for _, n := range headline {
		line, ok := c.summarize(n)
		_, tokens := c.summarize("rate_e2e")
		optional := line.Metric.Optional && line.Reached == 0
		if !ok || optional || n == "cps_e2e" && tokens {
			continue
		}
		names = append(names, n)
	}
	for _, r := range c.Rows {
		for _, n := range r.Values.Names() {
			if strings.HasPrefix(n, metric.MarkPrefix) && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// name is the class in words: "warm", "cold via origin, whole answers".
func (c *class) name() string {
	n := c.conn
	if n == "" {
		n = "all"
	}
	if c.hop != "" {
		n += " via " + c.hop
	}
	if !c.streamed {
		n += ", whole answers"
	}
	return n
}

// outcomes counts them: "all complete", "3 complete, 1 truncated".
func (c *class) outcomes() string {
	shares := table.Outcomes(c.Rows)
	if len(shares) == 1 {
		if len(c.Rows) == 1 {
			return shares[0].Name
		}
		return "all " + shares[0].Name
	}
	var parts []string
	for _, x := range shares {
		parts = append(parts, fmt.Sprintf("%d %s", x.N, x.Name))
	}
	return strings.Join(parts, ", ")
}

// listed are the values themselves, where they are too few for a median.
func listed(x table.Line) string {
	var parts []string
	for _, v := range x.Values {
		parts = append(parts, value(v, x.Metric.Unit))
	}
	return strings.Join(parts, ", ")
}

// cell is a summary in one cell: the median with its range, or the values.
func cell(x table.Line) string {
	if x.N < stat.MinMedian {
		return listed(x)
	}
	u := x.Metric.Unit
	mid, low, high := point(x.P50.Point, u), point(x.Min, u), point(x.Max, u)
	if low == high {
		return low
	}
	if i := strings.IndexByte(mid, ' '); i > 0 && strings.HasSuffix(low, mid[i:]) && strings.HasSuffix(high, mid[i:]) {
		low, high = strings.TrimSuffix(low, mid[i:]), strings.TrimSuffix(high, mid[i:]) // the unit once
	}
	return fmt.Sprintf("%s (%s to %s)", mid, low, high)
}

// both reports whether the session holds streamed and whole answers.
func (s Session) both() bool {
	list := s.records()
	other := func(r *stream.Record) bool { return r.Streamed != list[0].Streamed }
	return slices.ContainsFunc(list, other)
}

// noun is what the class's rows are: of a request with several answers each is one.
func (c *class) noun() string {
	if slices.ContainsFunc(c.Rows, func(r table.Row) bool { return r.Choice > 0 }) {
		return "answer"
	}
	return "request"
}
