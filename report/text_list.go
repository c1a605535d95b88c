package report

import (
	"strconv"

	"weir/metric"
	"weir/stream"
)

// maxListed is how many requests are listed one by one; of more than that the
// first ones and those that did not complete are.
const maxListed = 12

// minStrip is the narrowest arrival strip that still shows a shape; where there
// is less room the list goes without.
const minStrip = 12

// list writes a line per answer, all on one time scale.
func (s Session) list(p *page) {
	records := s.listed()
	scale := longest(records)
	wide := p.width >= 90
	head := []span{{"#", dim}, {"conn", dim}, {"ttft", dim}, {"first text", dim}, {"longest gap", dim}, {"rate", dim}, {"outcome", dim}}
	right := []bool{true, false, true, true, true, true, false}
	rows := [][]span{head}
	for _, r := range records {
		rows = append(rows, listRow(r))
	}
	if !wide {
		for i, row := range rows {
			rows[i] = append(row[:5:5], row[6])
		}
		right = append(right[:5:5], right[6])
	}
	if cols := p.width - tableWidth(rows) - 4; cols >= minStrip {
		rows[0] = append(rows[0], span{"arrivals, 0 to " + duration(scale), dim})
		for i, r := range records {
			rows[i+1] = append(rows[i+1], span{Strip(r, min(cols, 40), scale), cyan})
		}
		right = append(right, false)
	}
	p.blank()
	p.table(2, right, rows)
	if n := len(s.records()) - len(records); n > 0 {
		p.line(span{"  and " + strconv.Itoa(n) + " more", dim})
	}
}

func listRow(r *stream.Record) []span {
	v := metric.Measure(r)
	return []span{
		{number(r), plainly}, {pathOf(r), plainly},
		{value(v.Get("ttft_sent"), "ms"), plainly}, {value(v.Get("first_text_sent"), "ms"), plainly},
		{value(v.Get("gap_max"), "ms"), plainly}, {rate(v), plainly},
		{outcomeWord(r), outcomeStyle(r.Outcome)},
	}
}

// rate is what the reader lived through, in tokens or else in characters.
func rate(v metric.Values) string {
	if x := v.Get("rate_e2e"); x.Is == metric.Reached {
		return value(x, "tok/s")
	}
	return value(v.Get("cps_e2e"), "char/s")
}

// number numbers a request from 1, as people do.
func number(r *stream.Record) string {
	n := strconv.Itoa(r.Index + 1)
	if r.Choices > 1 {
		n += "." + strconv.Itoa(r.Choice+1)
	}
	return n
}

func pathOf(r *stream.Record) string {
	s := r.Conn
	if r.Hop != "" {
		s += " " + cut(Clean(r.Hop), 16)
	}
	if !r.Streamed {
		s += " whole"
	}
	return s
}

// listed are the answers to list one by one.
func (s Session) listed() []*stream.Record {
	all := s.records()
	if len(all) <= maxListed {
		return all
	}
	var out []*stream.Record
	for _, r := range all {
		broken := r.Outcome != stream.Complete
		if len(out) < maxListed-4 || (broken && len(out) < maxListed) {
			out = append(out, r)
		}
	}
	return out
}

func outcomeWord(r *stream.Record) string {
	if r.Outcome == stream.Unknown {
		return "not said"
	}
	return string(r.Outcome)
}

func outcomeStyle(o stream.Outcome) style {
	switch o {
	case stream.Complete:
		return green
	case stream.Unknown, stream.Cancelled:
		return dim
	case stream.Gapped:
		return yellow
	}
	return red
}
