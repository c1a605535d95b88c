package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"weir/judge"
	"weir/table"
)

// WriteRunMarkdown writes the run for a pull request: the verdict, the gates
// and the rules; the figures are folded.
func WriteRunMarkdown(w io.Writer, r Run) error {
	text, err := r.markdown()
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

func (r Run) markdown() (string, error) {
	var m markdown
	word, why := r.verdictLine()
	m.line("### " + verdictSign(word) + " weir: " + word)
	m.blank()
	m.line(mdText(why))
	m.blank()
	m.line(mdText(strings.Join(append([]string{cmp.Or(r.target(), "a target that nothing names")}, r.runFacts()...), " | ")))
	m.line("")
	m.line("Instrument: **" + mdText(cmp.Or(r.Health.Verdict, "not stated")) + "**" + mdText(prefixed(": ", strings.Join(r.Health.Reasons, "; "))) +
		mdText(prefixed(". ", strings.Join(r.Health.brief(), ", "))))
	r.markdownGates(&m)
	r.markdownRules(&m)
	if err := r.markdownFigures(&m); err != nil {
		return "", err
	}
	for _, x := range r.warnings() {
		m.blank()
		m.line("> warning: " + mdText(x))
	}
	return m.String(), nil
}

func verdictSign(word string) string {
	switch strings.ToLower(word) {
	case judge.Pass:
		return "✅"
	case judge.Fail, judge.Slower:
		return "❌"
	case judge.Faster, judge.Same:
		return "✅"
	}
	return "⚠️"
}

func (r Run) markdownGates(m *markdown) {
	if len(r.Judged.Gates) == 0 {
		return
	}
	m.blank()
	m.head("", "where", "gate", "actual", "95 % interval", "n")
	for _, g := range r.orderedGates() {
		m.row(verdictSign(g.Verdict)+" "+g.Verdict, gatePlace(g), gateText(g), gateActual(g), gateInterval(g), fmt.Sprint(g.N))
	}
}

func (r Run) markdownRules(m *markdown) {
	if len(r.Judged.Rules) == 0 {
		return
	}
	m.blank()
	m.head("", "rule", "scenario", "violations", "checked", "requests")
	for _, x := range r.Judged.Rules {
		ids := someOf(x.RequestIDs, 5)
		if len(x.Unseen) > 0 {
			ids = strings.TrimSpace(ids + " never seen: " + strings.Join(x.Unseen, ", "))
		}
		m.row(verdictSign(x.Verdict)+" "+x.Verdict, x.Name, x.Scenario, fmt.Sprint(x.Violations), fmt.Sprint(x.Checked), ids)
	}
}

func (r Run) markdownFigures(m *markdown) error {
	list, err := r.buckets()
	if err != nil {
		return err
	}
	m.blank()
	m.line("<details><summary>Figures</summary>")
	for _, b := range list {
		m.blank()
		m.line("**" + mdText(b.name()) + "**: " + mdText(count(len(b.Rows), "request")+", "+outcomeShares(b.Rows)))
		m.blank()
		m.head("metric", "from", "n", "p50", "p95", "p99", "max")
		for _, l := range b.lines() {
			u := l.Metric.Unit
			m.row(words(l.Metric.Name), b.from(l.Metric.Name), fmt.Sprint(l.N),
				point(l.P50.Point, u), point(l.P95.Point, u), point(l.P99.Point, u), point(l.Max, u))
		}
	}
	r.markdownOutcomes(m)
	m.blank()
	m.line("</details>")
	return nil
}

func (r Run) markdownOutcomes(m *markdown) {
	rows := r.rows()
	m.blank()
	m.head("outcome", "n", "share", "reasons")
	for _, x := range table.Outcomes(rows) {
		m.row(x.Name, fmt.Sprint(x.N), percent(x.Share), reasonText(rows, x.Name))
	}
	if list := judge.Silence(rows, r.Deadline); silent(list) {
		m.blank()
		m.head("silent for", "n", "failed by itself", "share", "95 % interval", "cut by us")
		for _, l := range list {
			share, interval := silenceText(l)
			m.row(fmt.Sprintf("%d s", l.Seconds), fmt.Sprint(l.N), fmt.Sprint(l.Failed), share, interval, fmt.Sprint(l.Cut))
		}
	}
}

// markdown is a text in GitHub's Markdown being written.
type markdown struct{ strings.Builder }

func (m *markdown) line(s string) { m.WriteString(s + "\n") }
func (m *markdown) blank()        { m.WriteByte('\n') }

func (m *markdown) head(cells ...string) {
	m.row(cells...)
	m.line("|" + strings.Repeat(" --- |", len(cells)))
}

// row writes cells of plain text.
func (m *markdown) row(cells ...string) {
	for _, c := range cells {
		m.WriteString("| " + mdInline(c) + " ")
	}
	m.WriteString("|\n")
}

// mdText is plain text as Markdown shows it: nothing in it is markup, a link,
// a mention, an image or HTML.
func mdText(s string) string {
	if s = mdInline(s); s != "" && strings.IndexByte("#+-", s[0]) >= 0 {
		return `\` + s // would begin a heading or a list
	}
	return s
}

// mdInline is mdText where no line begins.
func mdInline(s string) string {
	s = Clean(s)
	if !strings.ContainsAny(s, "\\`*_{}[]<>()#+!|~&@$:.") {
		return s
	}
	var b strings.Builder
	for i, c := range s {
		switch {
		case c == '<':
			b.WriteString("&lt;")
		case c == '>':
			b.WriteString("&gt;")
		case c == '&':
			b.WriteString("&amp;")
		case c == '@': // a mention would notify somebody; the comment parts it from the name
			b.WriteString("&#64;<!-- -->")
		case strings.ContainsRune("\\`*_{}[]|~$", c), c == '!' && strings.HasPrefix(s[i:], "!["):
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == ':' && strings.HasPrefix(s[i:], "://"), c == '.' && strings.HasSuffix(strings.ToLower(s[:i]), "www"):
			fmt.Fprintf(&b, "&#%d;", c) // no link of itself
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
