package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress tells on stderr how far a long command is: on a terminal one line
// that is redrawn, elsewhere a line every 5 s, and nothing in the first 2 s.
type progress struct {
	w       io.Writer
	tty     bool
	started time.Time
	every   time.Duration

	mu    sync.Mutex
	text  string
	drawn bool
	stop  chan struct{}
	ended sync.WaitGroup
}

// newProgress starts one; quiet makes it silent. Stop must be called.
func newProgress(w io.Writer, quiet bool) *progress {
	p := &progress{w: w, tty: isTerminal(w), started: time.Now(), stop: make(chan struct{})}
	p.every = 5 * time.Second
	if p.tty {
		p.every = 200 * time.Millisecond
	}
	if !quiet {
		p.ended.Go(p.loop)
	}
	return p
}

func (p *progress) loop() {
	first := time.NewTimer(2 * time.Second)
	defer first.Stop()
	select {
	case <-p.stop:
		return
	case <-first.C:
	}
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		p.draw()
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
	}
}

func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("weir: %s, %.0f s", p.text, time.Since(p.started).Seconds())
	if p.tty {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	} else {
		fmt.Fprintln(p.w, line)
	}
	p.drawn = true
}

// Set says what is going on now.
func (p *progress) Set(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = fmt.Sprintf(format, args...)
}

// Stop ends it and clears its line.
func (p *progress) Stop() {
	close(p.stop)
	p.ended.Wait()
	if p.drawn && p.tty {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// useColor reports whether w should get colour: a terminal, and no NO_COLOR
// (https://no-color.org).
func useColor(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// columns is the width to write to: what COLUMNS says, else the terminal's,
// from 40 to 120; else 100.
func columns(w io.Writer) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return min(max(n, 40), 120)
	}
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return min(max(n, 40), 120)
		}
	}
	return 100
}
