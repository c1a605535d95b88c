package main

import (
	"fmt"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"weir/load"
	"weir/report"
)

// liveScreen shows a load while it runs, at the foot of a terminal. It takes no
// keys: the terminal stays as it is, so that Ctrl-C is the signal it always is.
type liveScreen struct {
	program *tea.Program
	ended   chan struct{}
}

// canShow reports whether w is a terminal that can be drawn on.
func canShow(w io.Writer) bool { return isTerminal(w) && os.Getenv("TERM") != "dumb" }

// showLive starts a screen of the counters on w. Stop must be called: until
// then it stays, also while an interrupted run waits for its streams.
func showLive(w io.Writer, l *load.Live) *liveScreen {
	s := &liveScreen{ended: make(chan struct{})}
	s.program = tea.NewProgram(&liveModel{read: l.Snapshot, view: liveView{color: useColor(w), plain: !unicodeTerminal(os.Getenv)}},
		tea.WithInput(nil), tea.WithOutput(w), tea.WithoutSignalHandler(), tea.WithFPS(10))
	go func() {
		defer close(s.ended)
		// An error here means that the screen could not be drawn: the run goes on.
		_, _ = s.program.Run()
	}()
	return s
}

// Say writes a line above the screen.
func (s *liveScreen) Say(text string) { s.program.Println("weir: " + report.Clean(text)) }

// Stop clears the screen.
func (s *liveScreen) Stop() {
	s.program.Send(liveOver{})
	<-s.ended
}

// liveTick is the next moment to read the counters; liveOver the end.
type (
	liveTick struct{}
	liveOver struct{}
)

// liveEvery is how often the counters are read: a cell of a sparkline.
const liveEvery = 500 * time.Millisecond

// liveModel is the screen as bubbletea sees it.
type liveModel struct {
	read  func() load.Snapshot
	view  liveView
	trail liveTrail
	over  bool
}

// Init begins to look.
func (m *liveModel) Init() tea.Cmd {
	m.trail.add(m.read(), time.Now())
	return m.next()
}

func (m *liveModel) next() tea.Cmd {
	return tea.Tick(liveEvery, func(time.Time) tea.Msg { return liveTick{} })
}

// Update looks again at every tick.
func (m *liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.view.width = msg.Width
	case liveTick:
		m.trail.add(m.read(), time.Now())
		return m, m.next()
	case liveOver:
		m.over = true
		return m, tea.Quit
	}
	return m, nil
}

// View is the screen, nothing once the run is over: its result follows.
func (m *liveModel) View() tea.View {
	if m.over {
		return tea.NewView("")
	}
	return tea.NewView(m.view.draw(&m.trail))
}

// liveTrail is what the counters were, a sample every tick.
type liveTrail struct {
	last    load.Snapshot
	at      time.Time
	samples []liveSample // the newest last
}

// liveSample is a moment of the load.
type liveSample struct {
	rate, planned, events float64 // a second, since the sample before
	inFlight              float64
	ttft                  float64 // p95 so far, ms
}

// liveKept is how many samples are kept: two minutes.
const liveKept = 240

// add takes the counters at a time.
func (t *liveTrail) add(s load.Snapshot, now time.Time) {
	x := liveSample{planned: s.PlannedRate, inFlight: float64(s.InFlight), ttft: s.TTFT.P95.Or(0)}
	if d := now.Sub(t.at).Seconds(); !t.at.IsZero() && d > 0 {
		x.rate = float64(s.Due-t.last.Due) / d
		x.events = float64(s.Events-t.last.Events) / d
		t.samples = append(t.samples, x)
	}
	if n := len(t.samples); n > liveKept {
		t.samples = t.samples[n-liveKept:]
	}
	t.last, t.at = s, now
}

// rate is arrivals a second over the last seconds, which jumps less than one
// sample does.
func (t *liveTrail) mean(of func(liveSample) float64) (float64, bool) {
	const over = 10 // samples: 5 s
	n := min(len(t.samples), over)
	if n == 0 {
		return 0, false
	}
	sum := 0.0
	for _, x := range t.samples[len(t.samples)-n:] {
		sum += of(x)
	}
	return sum / float64(n), true
}

// unicodeTerminal reports whether the locale says UTF-8.
func unicodeTerminal(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			return containsFold(v, "utf-8") || containsFold(v, "utf8")
		}
	}
	return false
}

func liveCount(n int, noun string) string { return fmt.Sprintf("%d %s", n, noun) }
