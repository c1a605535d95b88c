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
	paces []pace
	crowd *crowd
}

// measureGenerator has weir make a rate, and hold a crowd of streams.
func measureGenerator(ctx context.Context, weir string) (*generator, error) {
	paces, err := measurePace(ctx, weir)
	if err != nil {
		return nil, err
	}
	c, err := measureCrowd(ctx, weir)
	return &generator{paces, c}, err
}

// targets holds it against what the project promises; nil has none.
func (g *generator) targets() []target {
	if g == nil {
		return nil
	}
	return append(paceTargets(g.paces), g.crowd.targets()...)
}

func (g *generator) write(b *strings.Builder) {
	if g != nil {
		writePace(b, g.paces)
		g.crowd.write(b)
	}
}

// The crowd: streams that are open at once, for so long, each with an event
// every few seconds. The mock has a process of its own and one processor.
const (
	crowdStreams = 10_000
	crowdRate    = 500 // starts per second
	crowdGap     = 4 * time.Second
	crowdHold    = 60 * time.Second // with all of them open
)

// crowd is what came of it.
type crowd struct {
	Verdict string
	Health  struct {
		Verdict      string
		Reasons      []string
		Lost         int
		Events       int
		PeakInFlight int      `json:"peak_in_flight"`
		LatenessP99  *float64 `json:"lateness_p99_ms"`
		CPUShare     *float64 `json:"cpu_share"`
	}
	Outcomes map[string]struct{ N int }

	want    int     // events that the mock wrote
	open    float64 // KB per stream when all had just opened
	end     float64 // KB per stream when all events had come, and none had ended
	peak    float64 // MB, the most
	cpu     float64 // µs per event
	elapsed time.Duration
}

func (c *crowd) complete() int { return c.Outcomes["complete"].N }

// measureCrowd runs weir bench against weir mock and watches its memory.
func measureCrowd(ctx context.Context, weir string) (*crowd, error) {
	cmd := exec.CommandContext(ctx, weir, "mock", "--listen", "127.0.0.1:0", "--until-eof")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	m, err := listening(cmd)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	ramp := time.Duration(crowdStreams/crowdRate) * time.Second
	outputs := int((ramp+crowdHold)/crowdGap) + 1
	plan := fmt.Sprintf(`target: {url: "%s/v1/chat/completions?ttft=1s&gap=%s&n=%d", model: mock}
load: [{name: crowd, arrivals: constant, rate: %d/s, duration: %s}]
scenarios: [{name: idle}]
drain: 5m
`, m.url, crowdGap, outputs, crowdRate, ramp)
	fmt.Fprintf(os.Stderr, "weir bench: %d streams for %s\n", crowdStreams, crowdHold)
	// Of each stream: role, outputs, finish, usage, sentinel.
	c := &crowd{want: crowdStreams * (outputs + 4)}
	return c, c.run(ctx, weir, plan, ramp)
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
	c.elapsed = time.Since(begun)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) { // a verdict is no failure
		return fmt.Errorf("weir bench: %w", err)
	}
	if err := json.Unmarshal(out.Bytes(), c); err != nil {
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
			c.open = (kb - empty) / crowdStreams
		}
		if since < ramp+crowdHold-crowdGap {
			c.end = (kb - empty) / crowdStreams
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
	at := fmt.Sprintf(" at %d streams", crowdStreams)
	lost := c.want - c.Health.Events
	return []target{
		{"memory per stream" + at + ", all open and mostly idle", "≤ 40 KB", fmt.Sprintf("%.1f KB", c.open), c.open > 0 && c.open <= 40},
		{"events lost" + at + " for " + crowdHold.String(), "0", strconv.Itoa(lost), lost == 0 && c.Health.Lost == 0},
		{"streams complete" + at, strconv.Itoa(crowdStreams), strconv.Itoa(c.complete()), c.complete() == crowdStreams},
	}
}

// write is the crowd's section of the results.
func (c *crowd) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %d streams at once\n\n`weir bench` against `weir mock`, HTTP/1.1 on loopback: %d starts a second, an event of each stream every %s,\nall open for %s.\n\n| | |\n|---|---|\n",
		crowdStreams, crowdRate, crowdGap, crowdHold)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(b, "| %s | %s |\n", name, fmt.Sprintf(format, args...))
	}
	row("in flight, at most", "%d", c.Health.PeakInFlight)
	row("streams complete", "%d of %d", c.complete(), crowdStreams)
	row("events read, written", "%d, %d", c.Health.Events, c.want)
	row("memory per stream, just opened", "%.1f KB", c.open)
	row("memory per stream, near the end (its events are held until it ended)", "%.1f KB", c.end)
	row("memory of the process, at most", "%.0f MB", c.peak)
	row("CPU per event, everything included (connecting, measuring, logging, report)", "%.0f µs", c.cpu)
	row("share of the processors", "%s", maybe(c.Health.CPUShare, "%.3f"))
	row("lateness p99", "%s ms", maybe(c.Health.LatenessP99, "%.1f"))
	row("health, as it says itself", "%s%s", c.Health.Verdict, reasons(c.Health.Reasons))
	row("took", "%s", c.elapsed.Round(time.Second))
}

func reasons(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, "; ")
}
