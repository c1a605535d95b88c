package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// The pace: starts per second that a service should see, and for how long.
const (
	paceRate = 2000
	paceTime = 10 * time.Second
)

// pace is the rate that one generator brought, as the service saw it.
type pace struct {
	name  string
	n     int       // requests that came
	rate  float64   // per second, from the first to the last
	after []float64 // ms by which arrivals came after their time, sorted; counted from the earliest
}

// err is how far the rate is from what was asked for, as a part of it.
func (p pace) err() float64 { return max(p.rate-paceRate, paceRate-p.rate) / paceRate }

func (p pace) at(q float64) float64 {
	if len(p.after) == 0 {
		return 0
	}
	return p.after[int(q*float64(len(p.after)-1))]
}

// counter is a service that answers at once and notes when it was asked.
type counter struct {
	mu sync.Mutex
	at []time.Time
}

const counterAnswer = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	c.mu.Lock()
	c.at = append(c.at, now)
	c.mu.Unlock()
	_, _ = io.Copy(io.Discard, r.Body) // the client's affair
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, counterAnswer)
}

// seen is the pace of what came since the last call.
func (c *counter) seen(name string) pace {
	c.mu.Lock()
	at := c.at
	c.at = nil
	c.mu.Unlock()
	slices.SortFunc(at, time.Time.Compare)
	p := pace{name: name, n: len(at)}
	if len(at) < 2 {
		return p
	}
	p.rate = float64(len(at)-1) / at[len(at)-1].Sub(at[0]).Seconds()
	// Each against its own place in an even schedule; the earliest is on time.
	for i, t := range at {
		due := time.Duration(float64(i) / paceRate * float64(time.Second))
		p.after = append(p.after, float64(t.Sub(at[0])-due)/float64(time.Millisecond))
	}
	slices.Sort(p.after)
	first := p.after[0]
	for i := range p.after {
		p.after[i] -= first
	}
	return p
}

// measurePace has weir and vegeta make the same rate, one after the other.
func measurePace(ctx context.Context, weir string) (all []pace, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &counter{}
	s := &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }() // until Close
	defer func() { err = errors.Join(err, s.Close()) }()
	url := "http://" + l.Addr().String() + "/v1/chat/completions"
	dir, err := os.MkdirTemp("", "weir-pace-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, precise := range []bool{false, true} {
		name := "weir bench"
		if precise {
			name += ", precise"
		}
		if err := weirPace(ctx, weir, dir, url, precise); err != nil {
			return nil, err
		}
		all = append(all, c.seen(name))
	}
	if err := vegetaPace(ctx, dir, url); err != nil {
		fmt.Fprintln(os.Stderr, "bench: without vegeta:", err)
		return all, nil
	}
	return append(all, c.seen("vegeta attack")), nil
}

func weirPace(ctx context.Context, weir, dir, url string, precise bool) error {
	file := filepath.Join(dir, "plan.yaml")
	plan := fmt.Sprintf("target: {url: %q, model: mock}\nload: [{name: p, arrivals: constant, rate: %d/s, duration: %s}]\nscenarios: [{name: a}]\nprecise: %t\n",
		url, paceRate, paceTime, precise)
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "weir bench: %d starts/s for %s\n", paceRate, paceTime)
	out, err := exec.CommandContext(ctx, weir, "bench", file, "--quiet", "--db", "").CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == unfitCode {
		return nil
	}
	if err != nil {
		return fmt.Errorf("weir bench: %w\n%s", err, out)
	}
	return nil
}

// vegetaPace runs vegeta, which bench/tools/go.mod pins, at the same rate.
func vegetaPace(ctx context.Context, dir, url string) error {
	vegeta := filepath.Join(dir, "vegeta")
	build := exec.CommandContext(ctx, "go", "build", "-modfile=bench/tools/go.mod", "-o", vegeta, "github.com/tsenart/vegeta/v12")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build vegeta: %w\n%s", err, out)
	}
	fmt.Fprintf(os.Stderr, "vegeta attack: %d starts/s for %s\n", paceRate, paceTime)
	cmd := exec.CommandContext(ctx, vegeta, "attack", "-rate", fmt.Sprint(paceRate), "-duration", paceTime.String(), "-output", os.DevNull)
	cmd.Stdin = strings.NewReader("POST " + url + "\n")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("vegeta attack: %w\n%s", err, errs.String())
	}
	return nil
}

func paceTargets(all []pace) []target {
	if len(all) == 0 {
		return nil
	}
	p := all[0]
	return []target{{fmt.Sprintf("error of the rate at %d starts/s", paceRate), "≤ 1 %", fmt.Sprintf("%.2f %%", 100*p.err()), p.err() <= 0.01}}
}

// writePace is the section of the results.
func writePace(b *strings.Builder, all []pace) {
	fmt.Fprintf(b, "\n## Rate\n\n%d starts a second asked for, %s, as the service saw them come; lateness against an even schedule, the earliest on time.\n"+
		"weir reads and measures an answer as a stream of events, vegeta as a body: only the rates compare.\n\n"+
		"| | requests | rate/s | error | late p50 / p99 / max, ms |\n|---|---|---|---|---|\n", paceRate, paceTime)
	for _, p := range all {
		fmt.Fprintf(b, "| %s | %d | %.1f | %.2f %% | %.1f / %.1f / %.1f |\n", p.name, p.n, p.rate, 100*p.err(), p.at(0.5), p.at(0.99), p.at(1))
	}
}
