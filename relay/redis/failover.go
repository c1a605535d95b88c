package redis

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

// failover notices that another Redis is the master, which may know less than
// the one before had taken: replication does not wait, and the client may have
// been moved without an error. Every master has a replication id of its own,
// made when it became one.
//
// A Redis that does not show its ids is not asked further; what it lost is then
// found where somebody follows, see Spread.follow.
type failover struct {
	mu    sync.Mutex
	known map[string]bool // replication ids of the masters; empty: not asked yet
	due   bool            // one was noticed, and no sign of life has told of it
	count int
}

// watchMasters looks who is master, as often as the lease is renewed, but apart
// from it: a master that hangs must not hold the lease up.
func (l *Log) watchMasters() {
	for l.ctx.Err() == nil {
		l.lookAtMasters(l.ctx)
		l.sleep(l.o.Lease / 3)
	}
}

func (l *Log) lookAtMasters(ctx context.Context) {
	var mu sync.Mutex
	found, all := map[string]bool{}, true
	note := func(ctx context.Context, c goredis.Cmdable) error {
		id := replicationID(ctx, c)
		mu.Lock()
		defer mu.Unlock()
		if id == "" {
			all = false
		} else {
			found[id] = true
		}
		return nil
	}
	if c, ok := l.client.(*goredis.ClusterClient); ok {
		all = c.ForEachMaster(ctx, func(ctx context.Context, c *goredis.Client) error { return note(ctx, c) }) == nil && all
	} else {
		_ = note(ctx, l.client)
	}
	l.over.found(l, found, all)
}

// movedFrom reports whether the master of a key is another than when it was last
// looked at: what is not there may be in its owner's memory.
func (l *Log) movedFrom(ctx context.Context, key string) bool {
	var c goredis.Cmdable = l.client
	if cluster, ok := l.client.(*goredis.ClusterClient); ok {
		master, err := cluster.MasterForKey(ctx, key)
		if err != nil {
			return false
		}
		c = master
	}
	id := replicationID(ctx, c)
	return id != "" && l.over.found(l, map[string]bool{id: true}, false)
}

// replicationID is the one of a master; "" where it is none, or does not say.
func replicationID(ctx context.Context, c goredis.Cmdable) string {
	info, err := c.Info(ctx, "replication").Result()
	if err != nil || !strings.Contains(info, "role:master") {
		return ""
	}
	_, rest, _ := strings.Cut(info, "master_replid:")
	id, _, _ := strings.Cut(rest, "\r\n")
	return id
}

// found takes over which masters there are; all says that those are the only
// ones. It reports whether there is a new one.
func (o *failover) found(l *Log, ids map[string]bool, all bool) (moved bool) {
	o.mu.Lock()
	first := len(o.known) == 0
	for id := range ids {
		if moved = moved || !first && !o.known[id]; !first {
			o.known[id] = true
		}
	}
	if all {
		o.known = ids
	}
	if moved {
		o.due = true
		o.count++
	}
	o.mu.Unlock()
	if moved {
		l.state.lost()
		l.o.Logger.LogAttrs(context.Background(), slog.LevelWarn, "another redis is the master: what it does not have of running and ended streams is written again",
			slog.String("redis", l.where.String()))
		l.lease.wake()
	}
	return moved
}

// take reports whether a failover is to be told of.
func (o *failover) take() (due bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	due, o.due = o.due, false
	return due
}

// put gives back what take gave, where it could not be told.
func (o *failover) put(due bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.due = o.due || due
}

// Failovers is how many were noticed so far; the master of a key is looked at
// first.
func (l *Log) Failovers(ctx context.Context, key string) int {
	l.movedFrom(ctx, key)
	l.over.mu.Lock()
	defer l.over.mu.Unlock()
	return l.over.count
}
