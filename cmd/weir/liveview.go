package main

import (
	"fmt"
	"strings"

	"weir/load"
	"weir/report"
	"weir/stream"
)

// liveView draws a load at a moment. Its zero value is 80 columns of braille
// without colour.
type liveView struct {
	width int
	color bool
	plain bool // ASCII only
}

// draw is the whole screen, one line a row.
func (v liveView) draw(t *liveTrail) string {
	s := t.last
	lines := []string{
		v.phase(s),
		v.row("rate", v.rates(t), v.spark(t, func(x liveSample) float64 { return x.rate })),
		v.row("in flight", v.counts(s), v.spark(t, func(x liveSample) float64 { return x.inFlight })),
		v.row("ttft", quantilesText(s.TTFT), v.spark(t, func(x liveSample) float64 { return x.ttft })),
		v.row("gaps", quantilesText(s.Gaps), ""),
		v.row("events", eventsText(t), v.spark(t, func(x liveSample) float64 { return x.events })),
		v.row("outcomes", v.outcomes(s), ""),
		v.row("instrument", v.instrument(s), ""),
		v.ink("2", "Ctrl-C ends the run; what was measured is kept"),
	}
	return strings.Join(lines, "\n")
}

func (v liveView) columns() int {
	if v.width <= 0 {
		return 80
	}
	return v.width
}

// phase says where in the plan the load is.
func (v liveView) phase(s load.Snapshot) string {
	if s.Phase == "" {
		return v.ink("1", "starting")
	}
	head := report.Clean(s.Phase) + "  " + s.Arrivals + "  "
	if s.PhaseSpan <= 0 {
		return v.ink("1", head) + fmt.Sprintf("%.0f s", s.PhaseElapsed.Seconds())
	}
	done := min(float64(s.PhaseElapsed)/float64(s.PhaseSpan), 1)
	const cells = 24
	full := int(done * cells)
	bar := "[" + strings.Repeat("=", full) + strings.Repeat(" ", cells-full) + "]"
	text := fmt.Sprintf("%.0f of %.0f s", min(s.PhaseElapsed, s.PhaseSpan).Seconds(), s.PhaseSpan.Seconds())
	if s.PhaseElapsed > s.PhaseSpan {
		text += ", streams still open"
	}
	if len([]rune(head+bar+text)) >= v.columns() {
		return v.ink("1", head) + text
	}
	return v.ink("1", head) + bar + " " + text
}

// row is a name, its figures and, where there is room, how it went.
func (v liveView) row(name, figures, spark string) string {
	const names = 11
	room := v.columns() - names
	if len(figures) > room {
		figures = figures[:max(room-3, 0)] + "..."
	}
	line := v.ink("2", fmt.Sprintf("%-*s", names, name)) + figures
	const figuresWide = 46
	if spark != "" && v.columns() >= names+figuresWide+10 {
		line += strings.Repeat(" ", max(figuresWide-len(figures), 1)) + v.ink("36", spark)
	}
	return line
}

func (v liveView) rates(t *liveTrail) string {
	rate, ok := t.mean(func(x liveSample) float64 { return x.rate })
	if !ok {
		return "n/a"
	}
	text := fmt.Sprintf("%.1f/s achieved", rate)
	if t.last.PlannedRate > 0 {
		text += fmt.Sprintf("   %.1f/s planned", t.last.PlannedRate)
	}
	return text
}

func (v liveView) counts(s load.Snapshot) string {
	text := fmt.Sprintf("%d   %d due   %d done", s.InFlight, s.Due, s.Done)
	if s.Dropped > 0 {
		text += "   " + liveCount(s.Dropped, "dropped")
	}
	if s.OwnDrops > 0 {
		text += "   " + liveCount(s.OwnDrops, "own drops")
	}
	if s.Queued > 0 {
		text += "   " + liveCount(s.Queued, "queued")
	}
	return text
}

func quantilesText(q load.Quantiles) string {
	if _, ok := q.P50.Get(); !ok {
		return "n/a"
	}
	return fmt.Sprintf("p50 %-8s p95 %-8s p99 %s", millisText(q.P50), millisText(q.P95), millisText(q.P99))
}

func millisText(m stream.Maybe[float64]) string {
	if x, ok := m.Get(); ok {
		return report.Millis(x)
	}
	return "n/a"
}

func eventsText(t *liveTrail) string {
	rate, ok := t.mean(func(x liveSample) float64 { return x.events })
	if !ok {
		return "n/a"
	}
	return fmt.Sprintf("%.0f/s   %d", rate, t.last.Events)
}

func (v liveView) outcomes(s load.Snapshot) string {
	var parts []string
	for _, o := range stream.Outcomes() {
		if n := s.Outcomes[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", o, n))
		}
	}
	if len(parts) == 0 {
		return "none yet"
	}
	return strings.Join(parts, "   ")
}

// instrument is what can be said of it while the load runs; the verdict comes
// at the end.
func (v liveView) instrument(s load.Snapshot) string {
	if _, ok := s.Lateness.P50.Get(); !ok {
		return "n/a"
	}
	text := fmt.Sprintf("lateness p50 %s   p99 %s", millisText(s.Lateness.P50), millisText(s.Lateness.P99))
	if s.OwnDrops > 0 {
		text += "   own drops: the run is invalid"
	}
	return text
}

// Cells of a sparkline, low to high. Braille is one column wide everywhere,
// which block elements are not.
var (
	sparkBraille = []rune("\u2800\u2840\u2844\u2846\u2847")
	sparkASCII   = []rune(" .-=#")
)

// spark draws the newest samples, scaled to the largest of them.
func (v liveView) spark(t *liveTrail, of func(liveSample) float64) string {
	cells := sparkBraille
	if v.plain {
		cells = sparkASCII
	}
	const wide = 57 // the name and the figures before it
	n := min(len(t.samples), max(v.columns()-wide-1, 0), 60)
	list := t.samples[len(t.samples)-n:]
	most := 0.0
	for _, x := range list {
		most = max(most, of(x))
	}
	var b strings.Builder
	for _, x := range list {
		level := 0
		if most > 0 && of(x) > 0 {
			level = 1 + min(int(of(x)/most*float64(len(cells)-1)), len(cells)-2)
		}
		b.WriteRune(cells[level])
	}
	return b.String()
}

func (v liveView) ink(code, text string) string {
	if !v.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func containsFold(s, part string) bool { return strings.Contains(strings.ToLower(s), part) }
