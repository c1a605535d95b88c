package main

import (
	"io"
	"log/slog"
	"os"
	"time"

	"weir/gateway"
	"weir/relay"
	"weir/relay/redis"
)

// openRelay opens where frames are kept: the memory, and Redis where the
// configuration names one.
func openRelay(c gateway.RelayConfig, counts redis.Observer, log *slog.Logger) (relay.Log, io.Closer, error) {
	near := openMemory(c, c.Memory.TTL)
	if c.Redis == "" {
		return near, near, nil
	}
	far, err := openRedis(c, counts, log)
	if err != nil {
		return nil, nil, err
	}
	both := redis.NewSpread(near, far)
	return both, both, nil
}

// openMemory opens the memory of a relay, which keeps an ended stream for ttl.
func openMemory(c gateway.RelayConfig, ttl time.Duration) *relay.Memory {
	m := c.Memory
	return relay.NewMemory(relay.MemoryOptions{Bytes: int64(m.Bytes), Events: m.Events, Total: int64(m.Total), Streams: m.Streams, TTL: ttl})
}

// openRedis opens the log in the Redis that the configuration names.
func openRedis(c gateway.RelayConfig, counts redis.Observer, log *slog.Logger) (*redis.Log, error) {
	o, err := redisOptions(c, log)
	if err != nil {
		return nil, err
	}
	o.Observer = counts
	far, err := redis.New(o)
	if err != nil {
		return nil, usagef("relay.redis: %w", err)
	}
	return far, nil
}

// redisOptions are those of a configuration, its passwords read.
func redisOptions(c gateway.RelayConfig, log *slog.Logger) (redis.Options, error) {
	o := redis.Options{URL: string(c.Redis), Prefix: c.Prefix, TTL: c.TTL, Events: c.MaxLen, Bytes: int64(c.Memory.Bytes), Outage: c.Outage, Logger: log}
	for _, p := range []struct {
		env  string
		into *string
	}{{c.PasswordEnv, &o.Password}, {c.SentinelPasswordEnv, &o.SentinelPassword}} {
		if p.env == "" {
			continue
		}
		if *p.into = os.Getenv(p.env); *p.into == "" {
			return o, usagef("relay: the environment variable %s is empty; it is to hold a password of Redis", p.env)
		}
	}
	if _, err := redis.ParseURL(o.URL); err != nil {
		return o, usagef("relay.redis: %w", err)
	}
	return o, nil
}

// checkRelay says whether a relay could be opened.
func checkRelay(c gateway.RelayConfig) error {
	if c.Redis == "" {
		return nil
	}
	_, err := redisOptions(c, nil)
	return err
}
