package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"weir/load"
	"weir/stream"
)

func liveSnapshot(i int) load.Snapshot {
	return load.Snapshot{
		Phase: "peak\x1b[2J", Arrivals: "poisson", PhaseElapsed: time.Duration(i) * 500 * time.Millisecond, PhaseSpan: 30 * time.Second,
		PlannedRate: 20, Due: 10 * i, Sent: 10 * i, Done: 9 * i, Dropped: i / 10, InFlight: i % 17, Events: 400 * i,
		Outcomes: map[stream.Outcome]int{stream.Complete: 8 * i, stream.Truncated: i},
		Lateness: load.Quantiles{P50: stream.Some(0.4), P95: stream.Some(0.9), P99: stream.Some(1.2)},
		TTFT:     load.Quantiles{P50: stream.Some(151.0), P95: stream.Some(180.0), P99: stream.Some(1250.0)},
	}
}

func liveTrailOf(n int) *liveTrail {
	t, start := &liveTrail{}, time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	for i := range n {
		t.add(liveSnapshot(i), start.Add(time.Duration(i)*500*time.Millisecond))
	}
	return t
}

func TestLiveView(t *testing.T) {
	got := liveView{width: 100}.draw(liveTrailOf(41))
	for _, want := range []string{
		`peak\x1b[2J  poisson  [================        ] 20 of 30 s`, "20.0/s achieved   20.0/s planned", "400 due   360 done   4 dropped",
		"p50 151 ms   p95 180 ms   p99 1.25 s", "gaps       n/a", "800/s   16000", "complete 320   truncated 40", "lateness p50 0.40 ms   p99 1.2 ms",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Error("an escape without colour")
	}
	if !strings.Contains(liveView{}.draw(&liveTrail{}), "starting") {
		t.Error("nothing is said before the first phase")
	}
}

func TestLiveViewKeepsToItsWidth(t *testing.T) {
	for _, width := range []int{40, 60, 80, 120, 200} {
		for line := range strings.Lines(liveView{width: width}.draw(liveTrailOf(300))) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > max(width, 70) {
				t.Errorf("width %d: %d columns: %q", width, n, line)
			}
		}
	}
}

func TestLiveTrailIsBounded(t *testing.T) {
	if trail := liveTrailOf(1000); len(trail.samples) != liveKept {
		t.Errorf("%d samples", len(trail.samples))
	}
}

func TestUnicodeTerminal(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false}, {map[string]string{"LANG": "C.UTF-8"}, true}, {map[string]string{"LANG": "zh_CN.utf8"}, true},
		{map[string]string{"LC_ALL": "C", "LANG": "C.UTF-8"}, false},
	} {
		if got := unicodeTerminal(func(k string) string { return c.env[k] }); got != c.want {
			t.Errorf("%v: %v", c.env, got)
		}
	}
}

// TestLiveModel: the screen follows the counters and leaves nothing behind.
func TestLiveModel(t *testing.T) {
	n := 0
	m := &liveModel{read: func() load.Snapshot { n++; return liveSnapshot(n) }}
	m.Init()
	m.Update(tea.WindowSizeMsg{Width: 90})
	m.Update(liveTick{})
	if view := m.View().Content; m.view.width != 90 || !strings.Contains(view, "20 due") {
		t.Errorf("width %d:\n%s", m.view.width, view)
	}
	if _, cmd := m.Update(liveOver{}); cmd == nil || m.View().Content != "" {
		t.Error("the screen stays after the end")
	}
}

func TestLiveScreenStarts(t *testing.T) {
	var b bytes.Buffer
	s := showLive(&b, load.NewLive())
	s.Say("a notice\x1b[2J")
	s.Stop()
	if !strings.Contains(b.String(), `weir: a notice\x1b[2J`) {
		t.Errorf("%q", b.String())
	}
	if canShow(&b) {
		t.Error("a buffer is no terminal")
	}
}
