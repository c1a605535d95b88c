package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/metric"
	"weir/stream"
)

// detail shows one answer in full: the first that did not complete, else the
// typical one; with it the cold one's way to the service, if that is another.
func (s Session) detail(p *page) {
	r, why := s.chosen()
	if len(s.records()) > 1 {
		p.heading("request "+number(r), strings.TrimPrefix(r.Conn+why, ", "))
	} else {
		p.blank()
	}
	v := metric.Measure(r)
	if len(r.Events) > 0 || r.Phases.Headers.Known() {
		s.timeline(p, r, v)
		rates(p, v)
		rhythm(p, r, v)
	}
	p.para(2, span{pad("outcome", labelWidth), dim}, span{outcomeText(r), outcomeStyle(r.Outcome)})
	for _, n := range r.Notes {
		p.para(2, span{pad("note", labelWidth), dim}, span{n, plainly})
	}
}

// timeline draws where the time went and lists the moments.
func (s Session) timeline(p *page, r *stream.Record, v metric.Values) {
	scale := Length(r)
	if cold := s.cold(); cold != nil && cold != r && r.Outcome.Ended() && cold.Hop == r.Hop {
		scale = max(scale, Length(cold))
		waterfall(p, Waterfall(r, v, barCols(p), scale), scale)
		p.blank()
		p.line(span{"  opening a connection first, as request " + number(cold) + " did (cold)", dim})
		waterfall(p, coldLanes(Waterfall(cold, metric.Measure(cold), barCols(p), scale)), 0)
	} else {
		waterfall(p, Waterfall(r, v, barCols(p), scale), scale)
	}
	p.blank()
	marks(p, r, v)
	p.blank()
}

const labelWidth = 13

// chosen is the answer worth showing, and why it.
func (s Session) chosen() (*stream.Record, string) {
	all := s.records()
	var main []*stream.Record
	for _, r := range all {
		if r.Hop == "" && r.Streamed {
			main = append(main, r)
		}
	}
	if len(main) == 0 {
		main = all
	}
	for _, r := range main {
		if r.Outcome != stream.Unknown && !r.Outcome.Ended() {
			return r, ", the first that did not complete"
		}
	}
	for _, conn := range []string{"warm", "cold", ""} {
		if r, n := typical(main, conn); n > 1 {
			return r, fmt.Sprintf(", the median of %d by ttft", n)
		} else if n == 1 {
			return r, ""
		}
	}
	return main[0], ""
}

// typical is the answer with the median ttft of a connection kind, and how
// many there are.
func typical(rs []*stream.Record, conn string) (*stream.Record, int) {
	type timed struct {
		*stream.Record
		ttft time.Duration
	}
	var list []timed
	for _, r := range rs {
		if r.Conn == conn {
			list = append(list, timed{r, ttft(r)})
		}
	}
	if len(list) == 0 {
		return nil, 0
	}
	slices.SortStableFunc(list, func(a, b timed) int { return cmp.Compare(a.ttft, b.ttft) })
	return list[(len(list)-1)/2].Record, len(list)
}

func ttft(r *stream.Record) time.Duration {
	if at, ok := reached(metric.Measure(r), "ttft_sent"); ok {
		return at
	}
	return Length(r)
}

// cold is the first answer that opened a connection.
func (s Session) cold() *stream.Record {
	for _, r := range s.records() {
		if r.Conn == "cold" && r.Streamed {
			return r
		}
	}
	return nil
}

// coldLanes are the lanes up to the first event.
func coldLanes(lanes []Lane) []Lane {
	for i, l := range lanes {
		if l.Name == "wait" {
			return lanes[:i+1]
		}
	}
	return lanes
}

// barCols is how wide a waterfall's bars are: the page without names and notes.
func barCols(p *page) int { return p.width - 2 - labelWidth - 34 }

// waterfall writes lanes under an axis; scale 0 leaves the axis out.
func waterfall(p *page, lanes []Lane, scale time.Duration) {
	if scale > 0 {
		end := duration(scale)
		fill := strings.Repeat(" ", max(barCols(p)-1-len(end), 1))
		p.line(span{"  " + pad("", labelWidth) + "0" + fill + end, dim})
	}
	for _, l := range lanes {
		st := cyan
		if l.From == l.To {
			st = bold
		}
		p.line(span{"  ", plainly}, span{pad(cut(Clean(l.Name), labelWidth-1), labelWidth), dim}, span{l.Bar, st}, span{"  " + l.Note, plainly})
	}
}

// marks writes the moments of an answer, and beside them what a tool that
// knows only HTTP would have said.
func marks(p *page, r *stream.Record, v metric.Values) {
	left := markRows(r, v)
	right := [][]span{
		{{"a plain HTTP tool", dim}, {"", plainly}},
		{{"response time", plainly}, {value(v.Get("headers"), "ms"), plainly}, {"(headers)", dim}},
		{{"total", plainly}, {value(v.Get("end"), "ms"), plainly}, {"(body)", dim}},
	}
	if !r.End.Known() && !r.Phases.Headers.Known() {
		right = nil // a log that knows nothing of HTTP
	}
	if p.width < 90 {
		columns := []bool{false, true, false}
		p.table(2, columns, append(append(left, []span{}), right...))
		return
	}
	rows := [][]span{}
	for i := range max(len(left), len(right)) {
		row := []span{{}, {}, {}, {"   ", plainly}, {}, {}, {}}
		if i < len(left) {
			copy(row, left[i])
		}
		if i < len(right) {
			copy(row[4:], right[i])
		}
		rows = append(rows, row)
	}
	p.table(2, []bool{false, true, false, false, false, true, false}, rows)
}

func markRows(r *stream.Record, v metric.Values) [][]span {
	rows := [][]span{{{"weir, from sent", dim}}}
	add := func(label, name, note string) {
		if x := v.Get(name); x.Is == metric.Reached || x.Is != metric.Missing && name == "first_text_sent" {
			rows = append(rows, []span{{label, plainly}, {value(x, "ms"), plainly}, {note, dim}})
		}
	}
	add("first byte", "first_byte", "")
	add("first event", "first_event", kindNote(v.FirstKind))
	rows = append(rows, []span{{"ttft", bold}, {value(v.Get("ttft_sent"), "ms"), bold}, {ttftNote(r), dim}})
	add("reasoning", "first_reasoning", "")
	add("first tool", "first_tool", "")
	add("first text", "first_text_sent", "")
	add("done", "done", prefixed("finish ", cut(Clean(r.Finish), 20)))
	return append(append(rows, userRows(r, v)...), stageRows(v)...)
}

// userRows are the marks that were asked for, those not reached included.
func userRows(r *stream.Record, v metric.Values) [][]span {
	var rows [][]span
	names := slices.Clone(r.Marks)
	for _, n := range v.Names() { // a log may not say what was asked for
		name, ok := strings.CutPrefix(n, metric.MarkPrefix)
		if n == "useful_sent" {
			name, ok = metric.Useful, true
		}
		if ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, n := range names {
		x := v.Get(metric.MarkPrefix + n)
		if n == metric.Useful {
			x = v.Get("useful_sent")
		}
		text := value(x, "ms")
		if x.Is == metric.Missing {
			text = "not seen"
		}
		rows = append(rows, []span{{cut(Clean(n), 20), plainly}, {text, plainly}, {"mark", dim}})
	}
	return rows
}

// stageRows are what the service says of its own pipeline.
func stageRows(v metric.Values) [][]span {
	var rows [][]span
	add := func(label, name, note string) {
		if x := v.Get(name); x.Is == metric.Reached {
			rows = append(rows, []span{{cut(Clean(label), 20), plainly}, {value(x, "ms"), plainly}, {note, dim}})
		}
	}
	add("queue", metric.Queue, "took, says the service")
	for _, n := range v.Names() {
		if stage, ok := strings.CutPrefix(n, metric.StagePrefix); ok && stage != metric.Queue {
			add(stage, n, "took, says the service")
		}
	}
	add("unaccounted", "unaccounted", "of ttft, in no stage")
	return rows
}

// ttftNote says what the first output was, or why there is none.
func ttftNote(r *stream.Record) string {
	if r.Whole && r.Outcome.Ended() {
		return "came as one body"
	}
	for i := range r.Events {
		if e := &r.Events[i]; e.Kind.Business() {
			return "first output: " + e.Kind.String()
		}
	}
	return "no output came"
}

func rates(p *page, v metric.Values) {
	var parts []string
	add := func(what, name, unit string) {
		if x, ok := v.Get(name).Get(); ok {
			parts = append(parts, what+" "+Figure(x, unit))
		}
	}
	add("end to end", "rate_e2e", "tok/s")
	add("decode", "rate_decode", "tok/s")
	add("stream", "rate_stream", "tok/s")
	if len(parts) == 0 {
		add("end to end", "cps_e2e", "char/s")
		add("decode", "cps_decode", "char/s")
	}
	if len(parts) == 0 {
		parts = append(parts, notKnown)
	}
	p.para(2, span{pad("rates", labelWidth), dim}, span{strings.Join(parts, ", ") + "; " + tokensText(v), plainly})
}

// tokensText says how much came and how that is known.
func tokensText(v metric.Values) string {
	var parts []string
	switch n, ok := v.Get("tokens").Get(); {
	case !ok:
		parts = append(parts, "tokens unknown (no usage, no counts)")
	default:
		parts = append(parts, fmt.Sprintf("%s by %s", Figure(n, "tokens"), v.TokenSource))
	}
	if n, ok := v.Get("chars").Get(); ok {
		parts = append(parts, Figure(n, "chars"))
	}
	return strings.Join(parts, ", ")
}

func rhythm(p *page, r *stream.Record, v metric.Values) {
	if v.Shape == "" {
		return
	}
	p.para(2, span{pad("rhythm", labelWidth), dim}, span{gapsText(v), plainly})
	cols := min(p.width-2-labelWidth-2, 72)
	strip := Strip(r, cols, 0)
	p.line(append([]span{{"  " + pad("", labelWidth), plainly}}, inked(strip)...)...)
	scale := fmt.Sprintf("0 to %s, %s a column", duration(Length(r)), duration(Length(r)/time.Duration(cols)))
	p.para(2, span{pad("", labelWidth), dim}, span{scale + "   " + stripLegend(strip), dim})
}

func gapsText(v metric.Values) string {
	var parts []string
	if v.Get("gap_p50").Is == metric.Reached {
		parts = append(parts, fmt.Sprintf("gap p50 %s, p95 %s, longest %s",
			value(v.Get("gap_p50"), "ms"), value(v.Get("gap_p95"), "ms"), value(v.Get("gap_max"), "ms")))
	} else if x, ok := v.Get("gap_max").Get(); ok {
		parts = append(parts, "longest gap "+Millis(x))
	} else {
		parts = append(parts, "no gap is known")
	}
	if v.GapMaxOpen {
		parts[0] += " (open: to the end)"
	}
	if n, ok := v.Get("stall_count").Get(); ok && n > 0 {
		parts = append(parts, fmt.Sprintf("%s over %s, %s in all", count(int(n), "stall"),
			digits(metric.StallAfter.Seconds())+" s", value(v.Get("stall_time"), "ms")))
	}
	if n, ok := v.Get("arrivals").Get(); ok {
		parts = append(parts, count(int(n), "arrival"))
	}
	if x, ok := v.Get("batch_share").Get(); ok && x > 0 {
		parts = append(parts, fmt.Sprintf("%s of the events came with another", percent(x)))
	}
	return v.Shape + ": " + strings.Join(parts, ", ")
}

// inked colours a strip by what its characters mean.
func inked(strip string) []span {
	var out []span
	for i := 0; i < len(strip); {
		j := i
		for j < len(strip) && strip[j] == strip[i] {
			j++
		}
		st := cyan
		switch strip[i] {
		case stripSilence, '|':
			st = dim
		case stripCut:
			st = red
		}
		out = append(out, span{strip[i:j], st})
		i = j
	}
	return out
}
