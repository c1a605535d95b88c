package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"weir/judge"
)

// WriteRunJUnit writes a test case for the instrument, for every gate and for
// every rule, in the groups instrument, gates.SCENARIO and rules.SCENARIO. The
// figures stand in the text of the failure, which is what CI servers show. An
// undecided gate is a failure unless the run passed as a whole.
func WriteRunJUnit(w io.Writer, r Run) error {
	suite := junitSuite{Name: "weir " + Clean(r.Info.ID), Time: "0"}
	if t := r.start(); !t.IsZero() {
		suite.Timestamp = t.UTC().Format("2006-01-02T15:04:05")
	}
	suite.add(r.instrumentCase())
	for _, g := range r.Judged.Gates {
		suite.add(r.gateCase(g))
	}
	for _, x := range r.Judged.Rules {
		suite.add(ruleCase(x))
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	all := junitSuites{Name: "weir", Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Suites: []junitSuite{suite}}
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr,omitempty"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class      string          `xml:"classname,attr"`
	Name       string          `xml:"name,attr"`
	Time       string          `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Failure    *junitFailure   `xml:"failure,omitempty"`
	Error      *junitFailure   `xml:"error,omitempty"`
	Out        string          `xml:"system-out,omitempty"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func (s *junitSuite) add(c junitCase) {
	c.Time = "0"
	c.Class, c.Name, c.Out = Clean(c.Class), Clean(c.Name), Clean(c.Out)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	}
	s.Cases = append(s.Cases, c)
}

func junitFault(kind, text string) *junitFailure {
	return &junitFailure{Message: Clean(text), Type: kind, Text: Clean(text)}
}

func (r Run) instrumentCase() junitCase {
	c := junitCase{Class: "instrument", Name: "the instrument was fit"}
	for _, f := range r.Health.Figures {
		if f.Value != nil {
			c.property(f.Key, strconv.FormatFloat(*f.Value, 'g', -1, 64))
		}
	}
	c.Out = strings.Join(append([]string{"instrument " + r.Health.Verdict}, r.Health.Reasons...), "; ")
	if r.Health.Verdict == "invalid" {
		c.Error = junitFault("invalid", "the instrument was not fit, so nothing is decided: "+strings.Join(r.Health.Reasons, "; "))
	}
	return c
}

func (c *junitCase) property(name, value string) {
	c.Properties = append(c.Properties, junitProperty{Clean(name), Clean(value)})
}

func (r Run) gateCase(g judge.GateResult) junitCase {
	c := junitCase{Class: joinDots("gates", g.Scenario), Name: gateText(g) + prefixed(" in ", g.Phase)}
	if g.Actual != nil {
		c.property("actual", strconv.FormatFloat(*g.Actual, 'g', -1, 64))
	}
	if g.Limit != nil {
		c.property("limit", strconv.FormatFloat(*g.Limit, 'g', -1, 64))
	}
	c.property("unit", g.Unit)
	c.property("n", strconv.Itoa(g.N))
	text := fmt.Sprintf("%s: actual %s, limit %s, 95 %% interval within the run %s, n %d%s",
		gateText(g), gateActual(g), gateLimit(g), gateInterval(g), g.N, prefixed("; ", g.Why))
	c.Out = text
	switch {
	case g.Verdict == judge.Fail:
		c.Failure = junitFault("fail", text)
	case g.Verdict != judge.Pass && r.Judged.Verdict != judge.Pass:
		c.Failure = junitFault("undecided", "undecided: "+text)
	}
	return c
}

func ruleCase(x judge.RuleResult) junitCase {
	c := junitCase{Class: joinDots("rules", x.Scenario), Name: x.Name}
	c.property("checked", strconv.Itoa(x.Checked))
	c.property("violations", strconv.Itoa(x.Violations))
	text := fmt.Sprintf("%s: %s in %s", x.Name, count(x.Violations, "violation"), count(x.Checked, "stream"))
	if len(x.RequestIDs) > 0 {
		text += ": " + someOf(x.RequestIDs, 50)
	}
	if len(x.Unseen) > 0 {
		text += "; never seen: " + strings.Join(x.Unseen, ", ")
	}
	c.Out = text
	if x.Verdict == judge.Fail {
		c.Failure = junitFault("fail", text)
	}
	return c
}

func joinDots(group, scenario string) string {
	if scenario == "" {
		return group
	}
	return group + "." + scenario
}

func gateLimit(g judge.GateResult) string {
	if g.Limit == nil {
		return notKnown
	}
	return g.Op + " " + Figure(*g.Limit, g.Unit)
}
