package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"weir/metric"
	"weir/stream"
)

// WriteText writes the session for a person: what was asked, every request on
// a line, one request in full, the figures of each kind of connection, the
// findings.
func WriteText(w io.Writer, s Session) error {
	p := newPage(s.View)
	s.identity(p)
	if len(s.records()) > 0 {
		if len(s.records()) > 1 {
			s.list(p)
		}
		s.detail(p)
		if len(s.records()) > 1 {
			if err := s.tables(p); err != nil {
				return err
			}
		}
	}
	s.findings(p)
	s.footer(p)
	return p.writeTo(w)
}

// identity says what was asked, how, and what answered.
func (s Session) identity(p *page) {
	target := s.target()
	if target == "" {
		target = "a log that names no target"
	}
	p.para(0, span{}, span{target, bold})
	dialect, why := s.dialect()
	var parts []string
	add := func(part string) {
		if part != "" {
			parts = append(parts, part)
		}
	}
	add(join(s.each(func(r *stream.Record) string { return r.Facts.HTTPVersion })))
	if dialect != "" {
		add(dialect + parens(why))
	}
	add(prefixed("model ", join(s.each(func(r *stream.Record) string { return r.Model }))))
	add(s.labels())
	add(s.counts())
	add(s.stamps())
	p.flow(parts)
	if server := join(s.each(func(r *stream.Record) string { return r.Facts.Server })); server != "" {
		via := prefixed(", via ", join(s.each(func(r *stream.Record) string { return r.Facts.Via })))
		p.para(0, span{}, span{"answered by " + server + via, dim})
	}
	if len(s.Choices) > 0 {
		p.para(0, span{"chosen: ", dim}, span{strings.Join(s.Choices, "; "), dim})
	}
	if len(s.Sources) > 0 {
		p.para(0, span{}, span{fmt.Sprintf("measured again from %s under definitions %d", join(s.Sources), metric.Version), dim})
	}
	if s.Partial {
		p.line(span{"interrupted: what was measured until then", yellow})
	}
}

// each lists the different values of a fact over all answers, in order.
func (s Session) each(fact func(*stream.Record) string) []string {
	var out []string
	for _, r := range s.records() {
		if v := fact(r); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// labels are those that every answer has.
func (s Session) labels() string {
	list := s.records()
	if len(list) == 0 {
		return ""
	}
	var out []string
	for k, v := range list[0].Labels {
		if !slices.ContainsFunc(list, func(r *stream.Record) bool { return r.Labels[k] != v }) {
			out = append(out, k+"="+v)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// counts says how many requests there were on which connections.
func (s Session) counts() string {
	n := map[string]int{}
	for _, g := range s.Requests {
		if len(g) > 0 {
			n[g[0].Conn]++
		}
	}
	var kinds []string
	for _, conn := range []string{"cold", "warm"} {
		if n[conn] > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", n[conn], conn))
		}
	}
	if len(s.Requests) == 1 && len(kinds) == 1 {
		return "1 request, " + s.records()[0].Conn
	}
	return count(len(s.Requests), "request") + prefixed(": ", strings.Join(kinds, ", "))
}

// stamps says which clock stamped the events, and why not the best one.
func (s Session) stamps() string {
	kinds := s.each(func(r *stream.Record) string { return string(r.Stamp) })
	if len(kinds) == 0 {
		return ""
	}
	why := s.each(func(r *stream.Record) string {
		if r.Stamp == stream.StampKernel {
			return ""
		}
		return r.StampWhy
	})
	return join(kinds) + " stamps" + parens(join(why))
}

// join shows a short list; a long one by its beginning.
func join(list []string) string {
	if len(list) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:3], ", "), len(list)-3)
	}
	return strings.Join(list, ", ")
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func parens(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func (s Session) footer(p *page) {
	if len(s.Unseen) > 0 {
		p.blank()
		p.para(0, span{"never seen: ", yellow}, span{"mark " + strings.Join(s.Unseen, ", ") + ": no event of any request reached it", plainly})
	}
	if s.Logs != "" {
		p.blank()
		p.line(span{"log   ", dim}, span{s.Logs, plainly})
		p.line(span{"next  ", dim}, span{"weir analyze " + s.Logs, plainly})
	}
}
