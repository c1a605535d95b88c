package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// generator is what was measured of weir as a load generator.
type generator struct {
	paces  []pace
	crowds []*crowd
}

// measureGenerator has weir make a rate, and hold a crowd of streams.
func measureGenerator(ctx context.Context, weir string) (*generator, error) {
	paces, err := measurePace(ctx, weir)
	if err != nil {
		return nil, err
	}
	g := &generator{paces, crowds()}
	for _, c := range g.crowds {
		if err := c.measure(ctx, weir); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// targets holds it against what the project promises; nil has none.
func (g *generator) targets() []target {
	if g == nil {
		return nil
	}
	return append(paceTargets(g.paces), g.crowds[0].targets()...)
}

func (g *generator) write(b *strings.Builder) {
	if g != nil {
		writePace(b, g.paces)
		writeCrowds(b, g.crowds)
	}
}

// crowd is a load of streams that are open at once, and what came of it. The
// mock has a process of its own and one processor.
type crowd struct {
	streams int
	starts  int           // per second
	gap     time.Duration // between the events of a stream
	hold    time.Duration // with all of them open
	crowdResult
}

// crowds are those that are measured: the first is the one that the project
// promises, the others show what busier streams cost.
func crowds() []*crowd {
	return []*crowd{
		{streams: 10_000, starts: 500, gap: 4 * time.Second, hold: time.Minute},
		{streams: 1000, starts: 500, gap: 100 * time.Millisecond, hold: 10 * time.Second},
		{streams: 1000, starts: 500, gap: 50 * time.Millisecond, hold: 10 * time.Second},
		{streams: 2000, starts: 500, gap: 50 * time.Millisecond, hold: 10 * time.Second},
	}
}

// crowdResult is the part of weir bench --json that is written down, and what
// was measured from outside.
type crowdResult struct {
	Verdict string
	Health  struct {
		Verdict      string
		Reasons      []string
		Lost         int
		Events       int
		PeakInFlight int      `json:"peak_in_flight"`
		LatenessP99  *float64 `json:"lateness_p99_ms"`
	}
	Outcomes map[string]struct{ N int }

	want int     // events that the mock wrote
	open float64 // KB per stream when all had just opened
	end  float64 // KB per stream when all events had come, and none had ended
	peak float64 // MB, the most
	cpu  float64 // µs per event
}

func (c *crowd) complete() int { return c.Outcomes["complete"].N }

// measure runs weir bench against weir mock and watches its memory.
func (c *crowd) measure(ctx context.Context, weir string) error {
	cmd := exec.CommandContext(ctx, weir, "mock", "--listen", "127.0.0.1:0", "--until-eof")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	m, err := listening(cmd)
	if err != nil {
		return err
	}
	defer m.stop()
	ramp := time.Duration(c.streams/c.starts) * time.Second
	outputs := int((ramp+c.hold)/c.gap) + 1
	plan := fmt.Sprintf(`target: {url: "%s/v1/chat/completions?ttft=1s&gap=%s&n=%d", model: mock}
load: [{name: crowd, arrivals: constant, rate: %d/s, duration: %s}]
scenarios: [{name: idle}]
drain: 5m
`, m.url, c.gap, outputs, c.starts, ramp)
	fmt.Fprintf(os.Stderr, "weir bench: %d streams, an event each %s, for %s\n", c.streams, c.gap, c.hold)
	// Of each stream: role, outputs, finish, usage, sentinel.
	c.want = c.streams * (outputs + 4)
	return c.run(ctx, weir, plan, ramp)
}

func (c *crowd) run(ctx context.Context, weir, plan string, ramp time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "weir-crowd-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "plan.yaml")
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, weir, "bench", file, "-o", filepath.Join(dir, "out"), "--json", "--quiet", "--db", "")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	c.watch(cmd.Process.Pid, begun, ramp, ended)
	err = <-ended
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) { // a verdict is no failure
		return fmt.Errorf("weir bench: %w", err)
	}
	if err := json.Unmarshal(out.Bytes(), &c.crowdResult); err != nil {
		return fmt.Errorf("weir bench --json: %w", err)
	}
	if c.Health.Events > 0 {
		spent := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		c.cpu = float64(spent.Microseconds()) / float64(c.Health.Events)
	}
	return nil
}

// watch samples the memory of the process until it ends. What it puts into
// ended it puts back.
func (c *crowd) watch(pid int, begun time.Time, ramp time.Duration, ended chan error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	empty := 0.0
	for {
		select {
		case err := <-ended:
			ended <- err
			return
		case <-tick.C:
		}
		kb, ok := memoryOf(pid)
		if !ok {
			continue
		}
		since := time.Since(begun)
		if empty == 0 {
			empty = kb
		}
		c.peak = max(c.peak, kb/1024)
		if since < ramp+2*time.Second { // the last stream has had its first event
			c.open = (kb - empty) / float64(c.streams)
		}
		if since < ramp+c.hold-c.gap {
			c.end = (kb - empty) / float64(c.streams)
		}
	}
}

// memoryOf is the memory of a process, in KB.
func memoryOf(pid int) (kb float64, ok bool) {
	for line := range strings.Lines(read(fmt.Sprintf("/proc/%d/status", pid))) {
		if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
			kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kb, err == nil
		}
	}
	return 0, false
}

// targets holds the crowd against what the project promises.
func (c *crowd) targets() []target {
	at := fmt.Sprintf(" at %d streams", c.streams)
	lost := c.want - c.Health.Events
	return []target{
		{"memory per stream" + at + ", all open and mostly idle", "≤ 40 KB", fmt.Sprintf("%.1f KB", c.open), c.open > 0 && c.open <= 40},
		{"events lost" + at + " for " + c.hold.String(), "0", strconv.Itoa(lost), lost == 0 && c.Health.Lost == 0},
		{"streams complete" + at, strconv.Itoa(c.streams), strconv.Itoa(c.complete()), c.complete() == c.streams},
	}
}

// writeCrowds is the section of the results.
func writeCrowds(b *strings.Builder, all []*crowd) {
	b.WriteString("\n## Streams at once\n\n`weir bench` against `weir mock` on one processor, HTTP/1.1 on loopback. Memory per stream: just opened, and near the\n" +
		"end, where the events of each are held until it has ended. CPU of the client with everything: connecting, measuring,\n" +
		"logging, the report. Health is what weir says of itself.\n\n" +
		"| streams × events/s, for | complete | events read / written | KB per stream, open / end | MB at most | CPU µs/event | lateness p99, ms | health |\n|---|---|---|---|---|---|---|---|\n")
	for _, c := range all {
		fmt.Fprintf(b, "| %d × %g, %s | %d | %d / %d | %.1f / %.1f | %.0f | %.0f | %s | %s |\n",
			c.streams, 1/c.gap.Seconds(), c.hold, c.complete(), c.Health.Events, c.want, c.open, c.end, c.peak, c.cpu,
			maybe(c.Health.LatenessP99, "%.1f"), c.health())
	}
}

func (c *crowd) health() string {
	return strings.Join(append([]string{c.Health.Verdict}, c.Health.Reasons...), "; ")
}
