package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// gatewayLoads are the loads on the relays: a light one, where delays are the
// relay's own, and a heavy one, where its work shows.
var gatewayLoads = []load{{streams: 50, rate: 50}, {streams: 300, rate: 50}}

// passage is what came of one load over one way in one round.
type passage struct {
	delays  []float64 // ms, of each event from the service's write to the client
	first   []float64 // ms, of each stream from its request to its first event
	events  int       // that the service wrote
	lost    int       // of those, not read
	streams int       // not read to their end
	cpu     time.Duration
	known   bool       // cpu is known: there was a relay, and /proc
	redis   *redisWork // nil: the relay has none
}

// passages are the rounds of one way under one load.
type passages struct {
	way string
	load
	rounds []passage
}

// figure of the rounds' median; not ok where no round has it.
func (p *passages) figure(of func(passage) (float64, bool)) (float64, bool) {
	return medianOf(p.rounds, of)
}

func delay(q float64) func(passage) (float64, bool) {
	return func(p passage) (float64, bool) { return quantile(p.delays, q) }
}

func firstEvent(p passage) (float64, bool) { return quantile(p.first, 0.5) }

// cpuPerEvent is in µs.
func cpuPerEvent(p passage) (float64, bool) {
	return float64(p.cpu.Microseconds()) / float64(max(1, p.events)), p.known && p.events > 0
}

// cut counts events and streams that were not read to their end.
func (p *passages) cut() (events, streams int) {
	for _, r := range p.rounds {
		events, streams = events+r.lost, streams+r.streams
	}
	return events, streams
}

// quantile is the nearest rank of values.
func quantile(values []float64, q float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	s := slices.Sorted(slices.Values(values))
	return s[min(len(s)-1, int(q*float64(len(s))))], true
}

// gateways runs every load over every way, the ways in turn, so that what
// disturbs the machine disturbs all. A relay that is not installed is left out.
func gateways(ctx context.Context, weir string, d time.Duration, rounds int) ([]*passages, error) {
	var all []*passages
	for _, l := range gatewayLoads {
		group := make([]*passages, len(ways))
		for i, w := range ways {
			group[i] = &passages{way: w.name, load: l}
		}
		for round := range rounds {
			for i, w := range ways {
				fmt.Fprintf(os.Stderr, "relays: %d streams × %d events/s for %s, round %d of %d: %s\n", l.streams, l.rate, d, round+1, rounds, w.name)
				p, err := w.pass(ctx, weir, l, d)
				if errors.Is(err, errNotInstalled) {
					fmt.Fprintf(os.Stderr, "relays: %s: %v\n", w.name, err)
				}
				if out, err := leftOut(ctx, w, err); err != nil {
					return nil, err
				} else if !out {
					group[i].rounds = append(group[i].rounds, p)
				}
			}
		}
		all = append(all, group...)
	}
	return all, nil
}

// pass starts a mock and a relay of its own and runs the load over them.
func (w way) pass(ctx context.Context, weir string, l load, d time.Duration) (p passage, err error) {
	b, err := w.made(ctx, weir)
	defer func() { err = errors.Join(err, b.clear()) }()
	if err != nil {
		return p, err
	}
	before, _ := b.relay.cpu()
	redis, err := redisNow(ctx, b.relay)
	if err != nil {
		return p, err
	}
	if err := drive(ctx, weir, b.dir, b.url, l, d); err != nil {
		return p, err
	}
	after, known := b.relay.cpu()
	if redis, err = redisSince(ctx, b.relay, redis); err != nil {
		return p, err
	}
	b.mock.stop() // completes the truth
	p, err = readPassage(b.truth(), filepath.Join(b.dir, "run", "events"))
	p.cpu, p.known, p.redis = after-before, known, redis
	return p, err
}

// drive lets weir's own client run the load; its event log stays in dir/run.
func drive(ctx context.Context, weir, dir, url string, l load, d time.Duration) error {
	outputs := int(float64(l.rate) * d.Seconds())
	plan := fmt.Sprintf(`target: {url: "%s/v1/chat/completions", dialect: openai.chat, model: mock}
load: [{name: all, arrivals: constant, rate: %d/s, duration: 1s}]
scenarios: [{name: plain, request: {prompt: hello, header: {x-weir-mock: "ttft=200ms&gap=%s&n=%d"}}}]
`, url, l.streams, time.Second/time.Duration(l.rate), outputs)
	file := filepath.Join(dir, "plan.yaml")
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, weir, "bench", file, "-o", filepath.Join(dir, "run"), "--db", "", "--json", "--quiet").CombinedOutput()
	if code := exitCode(err); err != nil && code != unfitCode {
		return fmt.Errorf("weir bench: %w\n%s", err, out)
	}
	return nil
}
