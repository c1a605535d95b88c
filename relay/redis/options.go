package redis

import (
	"log/slog"
	"time"
)

// Options are what a Log works with and its bounds. Without URL it is
// redis://127.0.0.1:6379/0; a value of 0 or under is the default.
type Options struct {
	URL              string // see ParseURL
	Password         string // instead of the URL's
	SentinelPassword string // of the sentinels, which have their own
	Prefix           string // of every key and channel; "" = weir
	Instance         string // of this process among the others; "" = random

	Bytes   int64 // most bytes kept of one stream, relay.EntryCost per entry included; 0 = 4 MiB
	Events  int   // most entries kept of one stream; 0 = 20,000
	Streams int   // most streams of this instance in Redis: the longest ended go; 0 = 10,000
	Readers int   // most readers of one stream at a time, per instance; 0 = 32

	TTL    time.Duration // how long an ended stream is kept, or one whose Spread is gone; 0 = 10 minutes
	Idle   time.Duration // how long one is kept whose writer, without a Spread, fell silent; 0 = 1 hour
	Outage time.Duration // how long a reader or a waiting writer bears that Redis is away; 0 = 10 s
	Lease  time.Duration // how long an instance counts as alive without a sign; 0 = 3 s
	Check  time.Duration // how often positions are looked at beside the bells; 0 = 1 s
	Linger time.Duration // Spread: how long entries gather that nobody elsewhere waits for; 0 = 100 ms

	Observer Observer     // nil: nobody counts
	Logger   *slog.Logger // of outages, one line each; nil: none
}

// Observer is told what happens, to count it. Its methods must not wait.
type Observer interface {
	// RelayUp: Redis can be reached again, or not any more.
	RelayUp(up bool)
	// RelayAppended: one exchange with Redis brought entries of some streams.
	RelayAppended(streams, entries, bytes int, took time.Duration)
	// RelayQueued: so many bytes are not in Redis yet.
	RelayQueued(bytes int64)
	// RelayDropped: entries never came to Redis: overflow, fenced, closed.
	RelayDropped(entries int64, reason string)
	// RelayLost: entries that Redis had taken are not there any more, as after a
	// failover; they are written again, or are dropped.
	RelayLost(entries int64)
	// RelayFollowing: so many readers of this instance follow streams in Redis.
	RelayFollowing(readers int)
}

type nobody struct{}

func (nobody) RelayUp(bool)                               {}
func (nobody) RelayAppended(int, int, int, time.Duration) {}
func (nobody) RelayQueued(int64)                          {}
func (nobody) RelayDropped(int64, string)                 {}
func (nobody) RelayLost(int64)                            {}
func (nobody) RelayFollowing(int)                         {}

func (o Options) filled() Options {
	o.URL = otherwise(o.URL, "redis://127.0.0.1:6379/0")
	o.Prefix = otherwise(o.Prefix, "weir")
	o.Bytes = positive(o.Bytes, 4<<20)
	o.Events = positive(o.Events, 20_000)
	o.Streams = positive(o.Streams, 10_000)
	o.Readers = positive(o.Readers, 32)
	o.TTL = positive(o.TTL, 10*time.Minute)
	o.Idle = positive(o.Idle, time.Hour)
	o.Outage = positive(o.Outage, 10*time.Second)
	o.Lease = positive(o.Lease, 3*time.Second)
	o.Check = positive(o.Check, time.Second)
	o.Linger = positive(o.Linger, 100*time.Millisecond)
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func otherwise(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func positive[N int | int64 | time.Duration](n, other N) N {
	if n > 0 {
		return n
	}
	return other
}
