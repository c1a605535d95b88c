package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/diagnose"
)

// findings writes what the figures say, each with its evidence, what it may
// mean, and what to check next.
func (s Session) findings(p *page) {
	if len(s.Findings) == 0 {
		if len(s.records()) > 0 {
			p.heading("findings", "none")
		}
		return
	}
	p.heading("findings", "")
	for i, f := range s.Findings {
		if i > 0 {
			p.blank()
		}
		s.finding(p, f)
	}
}

func (s Session) finding(p *page, f diagnose.Finding) {
	mark, st := severity(f.Severity)
	p.para(2, span{mark + " ", st}, span{f.Text, bold})
	if ev := evidence(f); ev != "" {
		p.para(4, span{pad("evidence", 10), dim}, span{ev, plainly})
	}
	if len(f.Means) > 0 {
		label := "means"
		if len(f.Means) > 1 {
			label = "may mean"
		}
		p.para(4, span{pad(label, 10), dim}, span{strings.Join(f.Means, "; or "), plainly})
	}
	if f.Check != "" {
		p.para(4, span{pad("check", 10), dim}, span{f.Check, plainly})
	}
	if where := s.where(f.RequestIDs); where != "" {
		p.para(4, span{pad("seen in", 10), dim}, span{where, plainly})
	}
}

func severity(s string) (string, style) {
	switch s {
	case diagnose.Problem:
		return "x", red
	case diagnose.Info:
		return "-", cyan
	}
	return "!", yellow
}

func evidence(f diagnose.Finding) string {
	var parts []string
	for _, e := range f.Evidence {
		parts = append(parts, words(e.Name)+" "+Figure(e.Value, e.Unit))
	}
	return strings.Join(parts, ", ")
}

// where names the requests of a finding by their numbers; all of them is said
// in two words.
func (s Session) where(ids []string) string {
	all := s.records()
	if len(all) < 2 || len(ids) == 0 {
		return ""
	}
	var numbers []string
	for _, r := range all {
		if slices.Contains(ids, r.RequestID) {
			numbers = append(numbers, number(r))
		}
	}
	switch {
	case len(numbers) == len(all):
		return "every request"
	case len(numbers) == 0:
		return ""
	case len(numbers) > 8:
		return fmt.Sprintf("%d of %d requests", len(numbers), len(all))
	case len(numbers) == 1:
		return "request " + numbers[0]
	}
	return "requests " + strings.Join(numbers, ", ")
}
