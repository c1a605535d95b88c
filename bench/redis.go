package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisWork is what a Redis did for the streams of one passage, or has done
// since its start.
type redisWork struct {
	commands int64 // what scripts call counts, beside the scripts
	in, out  int64 // bytes
	memory   int64 // bytes of all keys, by MEMORY USAGE
	cpu      time.Duration
}

// redisNow asks the Redis that a relay leans on; nil where it has none.
func redisNow(ctx context.Context, relay *process) (*redisWork, error) {
	if relay == nil || len(relay.aside) == 0 {
		return nil, nil //nolint:nilnil // no Redis, and no error: what is measured is missing
	}
	server := relay.aside[0]
	c := redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(server.url, "http://"), DisableIdentity: true, Protocol: 2})
	defer c.Close() //nolint:errcheck // what was asked was answered
	cpu, _ := server.cpu()
	w := &redisWork{cpu: cpu}
	info, err := c.Info(ctx, "stats", "commandstats").Result()
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	w.count(info)
	keys := c.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		n, err := c.MemoryUsage(ctx, keys.Val(), 0).Result()
		if err == nil { // else it expired meanwhile
			w.memory += n
		}
	}
	return w, keys.Err()
}

// redisSince is what was done since before.
func redisSince(ctx context.Context, relay *process, before *redisWork) (*redisWork, error) {
	w, err := redisNow(ctx, relay)
	if w == nil || before == nil || err != nil {
		return nil, err
	}
	return &redisWork{w.commands - before.commands, w.in - before.in, w.out - before.out, w.memory - before.memory, w.cpu - before.cpu}, nil
}

// count reads INFO.
func (w *redisWork) count(info string) {
	for line := range strings.Lines(info) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		calls, stat := strings.CutPrefix(rest, "calls=")
		rest, _, _ = strings.Cut(calls, ",")
		n, err := strconv.ParseInt(rest, 10, 64)
		switch {
		case err != nil: // a heading
		case name == "total_net_input_bytes":
			w.in = n
		case name == "total_net_output_bytes":
			w.out = n
		case stat && strings.HasPrefix(name, "cmdstat_"):
			w.commands += n
		}
	}
}

// redisFigure of the rounds' median, per event that the service wrote.
func redisFigure(of func(*redisWork) float64) func(passage) (float64, bool) {
	return func(p passage) (float64, bool) {
		if p.redis == nil || p.events == 0 {
			return 0, false
		}
		return of(p.redis) / float64(p.events), true
	}
}

// redis writes what each event costs there.
func (r results) redis(b *strings.Builder) {
	heading := "\nWhat an event costs in Redis, which keeps nothing on disk. Commands are those of `INFO commandstats`, scripts and what they call; " +
		"bytes are the network's; memory is `MEMORY USAGE` of all keys after the last stream's end, where streams stay for `relay.ttl`.\n\n" +
		"| load | way | commands | bytes to it | bytes from it | bytes kept | CPU of Redis, µs |\n|---|---|---|---|---|---|---|\n"
	for _, p := range r.gateways {
		cell := func(format string, of func(*redisWork) float64) string {
			v, ok := p.figure(redisFigure(of))
			return number(v, ok, format)
		}
		commands := cell("%.2f", func(w *redisWork) float64 { return float64(w.commands) })
		if commands == "n/a" {
			continue // a way without Redis
		}
		b.WriteString(heading)
		heading = ""
		fmt.Fprintf(b, "| %d × %d/s | %s | %s | %s | %s | %s | %s |\n", p.streams, p.rate, p.way, commands,
			cell("%.0f", func(w *redisWork) float64 { return float64(w.in) }), cell("%.0f", func(w *redisWork) float64 { return float64(w.out) }),
			cell("%.0f", func(w *redisWork) float64 { return float64(w.memory) }), cell("%.1f", func(w *redisWork) float64 { return float64(w.cpu.Microseconds()) }))
	}
}
