package report

import (
	"fmt"
	"strconv"
	"strings"

	"weir/judge"
	"weir/table"
)

func itoa(n int) string { return strconv.Itoa(n) }

// judged fills in the gates, the rules and the instrument.
func (s *shown) judged(r Run) {
	for _, g := range r.orderedGates() {
		s.Gates = append(s.Gates, []string{g.Verdict, gatePlace(g), gateText(g), gateActual(g), gateInterval(g), itoa(g.N), gateWhy(g)})
	}
	for _, x := range r.Judged.Rules {
		s.Rules = append(s.Rules, []string{x.Verdict, x.Name, x.Scenario, itoa(x.Violations), itoa(x.Checked),
			someOf(x.RequestIDs, 20), strings.Join(x.Unseen, ", ")})
	}
	for _, f := range r.Health.Figures {
		v := notKnown
		if f.Value != nil {
			v = Figure(*f.Value, f.Unit)
		}
		s.Health = append(s.Health, []string{f.Name, v})
	}
}

// tables fills in what is counted over the whole run.
func (s *shown) tables(r Run, rows []table.Row) {
	for _, x := range table.Outcomes(rows) {
		s.Outcomes = append(s.Outcomes, []string{x.Name, itoa(x.N), percent(x.Share), reasonText(rows, x.Name)})
	}
	for _, x := range []table.Share{table.Broken(rows), table.Silent(rows)} {
		s.Outcomes = append(s.Outcomes, []string{x.Name, itoa(x.N), percent(x.Share), fmt.Sprintf("of %d", x.Of)})
	}
	for _, l := range judge.Silence(rows, r.Deadline) {
		share, interval := silenceText(l)
		if !l.Applies {
			share, interval = notKnown, notKnown
		}
		s.Silence = append(s.Silence, []string{fmt.Sprintf("%d s", l.Seconds), itoa(l.N), itoa(l.Failed), share, interval, itoa(l.Cut)})
	}
	for _, x := range r.Phases {
		s.Phases = append(s.Phases, []string{x.Name, x.Arrivals, Millis(x.Seconds * 1000), itoa(x.Planned), itoa(x.Sent), itoa(x.Dropped),
			itoa(x.Queued), rateText(x)})
	}
}
