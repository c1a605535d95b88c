package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The gateway at scale: with its streams copied to Redis, and in two roles that
// meet there. Redis' own work is no part of the relay's figures.

// scaled is the configuration of both; its bounds are above all loads here.
const scaled = `listen: 127.0.0.1:0
limits: {streams: 0}
log: {dir: "", store: ""}
upstreams: {main: {urls: [%q]}}
routes: [{path: "/*", upstream: main, resume: {enabled: true}}]
relay: {redis: "redis://%s/0"}
workers: {queue: 100000, queue_wait: 30s, jobs: 100000}
`

func startWeirRedis(ctx context.Context, weir, dir, upstream string) (*process, error) {
	redis, file, err := startRedis(ctx, dir, upstream)
	if err != nil {
		return nil, err
	}
	p, err := listening(exec.CommandContext(ctx, weir, "gateway", file))
	if err != nil {
		redis.stop()
		return nil, err
	}
	p.aside = []*process{redis}
	return p, nil
}

func startEdgeAndWorker(ctx context.Context, weir, dir, upstream string) (*process, error) {
	redis, file, err := startRedis(ctx, dir, upstream)
	if err != nil {
		return nil, err
	}
	worker := &process{cmd: exec.CommandContext(ctx, weir, "worker", file)}
	if err := worker.cmd.Start(); err != nil {
		redis.stop()
		return nil, err
	}
	p, err := listening(exec.CommandContext(ctx, weir, "gateway", file, "--role", "edge"))
	if err != nil {
		worker.stop()
		redis.stop()
		return nil, err
	}
	p.parts, p.aside = []*process{worker}, []*process{redis}
	return p, nil
}

// startRedis starts a Redis that keeps nothing on disk, and writes the file of
// a gateway that uses it.
func startRedis(ctx context.Context, dir, upstream string) (*process, string, error) {
	redis, err := configured(ctx, "redis-server", dir, func(addr string) string {
		_, port, _ := strings.Cut(addr, ":")
		return fmt.Sprintf("bind 127.0.0.1\nport %s\ndir %s\nsave \"\"\nappendonly no\n", port, dir)
	})
	if err != nil {
		return nil, "", err
	}
	file := filepath.Join(dir, "gateway.yaml")
	config := fmt.Sprintf(scaled, upstream, strings.TrimPrefix(redis.url, "http://"))
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		redis.stop()
		return nil, "", err
	}
	return redis, file, nil
}

// brief is a load of short streams: what it asks for is streams, not events.
var brief = flood{streams: 32, events: 5, repeats: 60}

// turnover is how many short streams a way takes per second.
func turnover(r surge) (float64, bool) {
	return float64(brief.streams*brief.repeats-r.cut) / r.took.Seconds(), r.took > 0
}

// turnovers measures how fast streams begin and end, straight, through one
// process, and through the queue between two.
func turnovers(ctx context.Context, weir string, rounds int) ([]*saturation, error) {
	through := slices.DeleteFunc(slices.Clone(ways), func(w way) bool {
		return w.start != nil && !strings.HasPrefix(w.name, "weir")
	})
	return floods(ctx, weir, "short streams", brief, through, rounds)
}

// turned writes what turnovers found.
func (r results) turned(b *strings.Builder) {
	if len(r.turnovers) == 0 {
		return
	}
	fmt.Fprintf(b, "\nShort streams of %d events, %d readers, each %d times over: what a stream's beginning and end cost.\n\n"+
		"| way | streams/s | streams cut |\n|---|---|---|\n", brief.events, brief.streams, brief.repeats)
	for _, t := range r.turnovers {
		v, ok := t.figure(turnover)
		_, cut := t.broken()
		fmt.Fprintf(b, "| %s | %s | %d |\n", t.way, number(v, ok, "%.0f"), cut)
	}
}

// idleSockets runs the benchmark of sockets that say nothing, at as many as
// there are idle streams.
func idleSockets(ctx context.Context, n int) ([]benchmark, error) {
	fmt.Fprintf(os.Stderr, "relays: %d idle WebSockets\n", n)
	out, err := exec.CommandContext(ctx, "go", "test", "./test/ws", "-run", "^$", "-bench", "IdleSockets",
		"-benchtime", fmt.Sprintf("%dx", n)).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("idle WebSockets: %w\n%s", err, out)
	}
	return parse(strings.NewReader(string(out))), nil
}

// socketTargets holds what a silent socket takes against the limit of issue and
// docs/websocket.md.
func (r results) socketTargets() (all []target) {
	for _, b := range r.sockets {
		if kib, ok := b.median("KiB/socket"); ok {
			all = append(all, target{fmt.Sprintf("WebSocket: memory per idle socket at %d", r.extent.idle), "≤ 32 KiB", fmt.Sprintf("%.1f KiB", kib), kib <= 32})
		}
	}
	return all
}
