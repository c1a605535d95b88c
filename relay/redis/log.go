package redis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"weir/relay"
)

// Log is a relay.Log in Redis. Open and Append wait until Redis has what they
// say; for streams that must not wait there is Spread.
type Log struct {
	o      Options
	where  Address
	client goredis.UniversalClient

	mu      sync.Mutex
	writers map[string]*writer
	ended   []*writer // longest ended first

	feeds feeds
	lease lease
	over  failover
	state outage

	ctx     context.Context // of everything that is not one caller's
	end     context.CancelCauseFunc
	running sync.WaitGroup
	asleep  atomic.Bool // closed
}

var errClosed = errors.New("the relay in Redis is closed")

// New makes a log. It does not wait for Redis: one that is away now may come.
func New(o Options) (*Log, error) {
	o = o.filled()
	where, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Instance == "" {
		o.Instance = random(8)
	}
	l := &Log{o: o, where: where, client: where.client(o), writers: map[string]*writer{}}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	l.feeds.init()
	l.lease.init()
	l.state.init(l)
	l.running.Go(l.keepLease)
	l.running.Go(l.listen)
	l.running.Go(l.look)
	l.running.Go(l.watchMasters)
	return l, nil
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// Instance is the name of this process among the others.
func (l *Log) Instance() string { return l.o.Instance }

// Client is the connection, for what else is kept in the same Redis: the queue
// of requests. It must not be closed.
func (l *Log) Client() goredis.UniversalClient { return l.client }

// Key is a key of the log's prefix, for the same.
func (l *Log) Key(parts ...string) string { return l.o.Prefix + ":" + strings.Join(parts, ":") }

// String says where the Redis is, without secrets.
func (l *Log) String() string { return l.where.String() }

// A stream's keys share a slot of a cluster.
func (l *Log) metaKey(stream string) string { return l.o.Prefix + ":{" + stream + "}:m" }
func (l *Log) logKey(stream string) string  { return l.o.Prefix + ":{" + stream + "}:s" }

func (l *Log) bellChannel(stream string) string { return l.o.Prefix + ":b:" + stream }

// Close gives up the lease, ends the readers and the connections. What others
// keep in memory is to be closed first: a Spread.
func (l *Log) Close() error {
	if l.asleep.Swap(true) {
		return nil
	}
	l.leaveLease()
	l.end(errClosed)
	l.running.Wait()
	l.feeds.closeAll()
	return l.client.Close()
}

// Open begins a stream; see relay.Log.
func (l *Log) Open(ctx context.Context, stream string, head []byte) (relay.Position, error) {
	if err := relay.CheckStream(stream); err != nil {
		return relay.Position{}, err
	}
	if err := l.room(ctx); err != nil {
		return relay.Position{}, err
	}
	w := &writer{stream: stream, head: append([]byte(nil), head...), epoch: random(4), mode: "o"}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := l.commit(ctx, l.plan(w, 1, nil, true)); err != nil {
		return relay.Position{}, fmt.Errorf("stream %s: %w", stream, err)
	}
	l.mu.Lock()
	l.writers[stream] = w
	l.mu.Unlock()
	return relay.Position{Epoch: w.epoch}, nil
}

// Append adds an entry; see relay.Log. It returns when Redis has it, or after
// the outage with ErrDown.
func (l *Log) Append(ctx context.Context, stream string, e relay.Entry) (relay.Position, error) {
	l.mu.Lock()
	w := l.writers[stream]
	l.mu.Unlock()
	if w == nil {
		return relay.Position{}, fmt.Errorf("stream %s: %w", stream, relay.ErrGone)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	next := relay.Position{Epoch: w.epoch, Offset: w.n + 1}
	switch {
	case e.Epoch != "" && e.Epoch != w.epoch, e.Offset != 0 && e.Offset != next.Offset:
		return relay.Position{}, fmt.Errorf("stream %s: %w: it is given as %s.%d where %s.%d is next", stream, relay.ErrFenced, e.Epoch, e.Offset, next.Epoch, next.Offset)
	case w.ended:
		return relay.Position{}, fmt.Errorf("stream %s: %w", stream, relay.ErrEnded)
	}
	e.Position = next
	if err := l.commit(ctx, l.plan(w, next.Offset, []relay.Entry{e}, true)); err != nil {
		return relay.Position{}, fmt.Errorf("stream %s: %w", stream, err)
	}
	if e.Terminal {
		l.retire(w)
	}
	return next, nil
}

// commit brings one batch to Redis, again while Redis is away: the script takes
// the same batch twice. b.w.mu is held.
func (l *Log) commit(ctx context.Context, b *batch) error {
	patience := l.patience()
	for {
		start := time.Now()
		errs := l.exchange(ctx, []*batch{b})
		if errs[0] == nil {
			b.done()
			l.o.Observer.RelayAppended(1, b.entries, b.payload, time.Since(start))
			return nil
		}
		if !isDown(errs[0]) || !patience.wait(ctx) {
			return errs[0]
		}
	}
}

// exchange sends batches in one pipeline; there is an error, or nil, for each.
func (l *Log) exchange(ctx context.Context, batches []*batch) []error {
	errs := make([]error, len(batches))
	replies := make([]*goredis.Cmd, len(batches))
	pipe := l.client.Pipeline()
	for i, b := range batches {
		replies[i] = pipe.EvalSha(ctx, appending.Hash(), b.keys, b.args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, b := range batches {
		reply, err := replies[i].Result()
		if goredis.HasErrorPrefix(err, "NOSCRIPT") {
			reply, err = appending.Eval(ctx, l.client, b.keys, b.args...).Result()
		}
		if err == nil {
			errs[i] = b.verdict(reply)
		} else {
			errs[i] = l.failed(ctx, err)
		}
	}
	return errs
}

// retire queues an ended stream as one that may make room.
func (l *Log) retire(w *writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writers[w.stream] == w {
		l.ended = append(l.ended, w)
	}
}

// room makes room for one stream more of this instance: those that expired
// first, then the one that ended longest ago.
func (l *Log) room(ctx context.Context) error {
	l.mu.Lock()
	for len(l.ended) > 0 && time.Since(l.ended[0].refreshed) > l.o.TTL {
		l.forget(l.ended[0])
	}
	if len(l.writers) < l.o.Streams {
		l.mu.Unlock()
		return nil
	}
	if len(l.ended) == 0 {
		l.mu.Unlock()
		return relay.ErrFull
	}
	w := l.ended[0]
	l.forget(w)
	l.mu.Unlock()
	return l.Drop(ctx, w.stream)
}

// forget takes an ended stream out of the books. l.mu is held.
func (l *Log) forget(w *writer) {
	l.ended = l.ended[1:]
	if l.writers[w.stream] == w {
		delete(l.writers, w.stream)
	}
}

// Drop forgets a stream; see relay.Log.
func (l *Log) Drop(ctx context.Context, stream string) error {
	l.mu.Lock()
	w := l.writers[stream]
	delete(l.writers, stream)
	for i, e := range l.ended {
		if e == w {
			l.ended = append(l.ended[:i:i], l.ended[i+1:]...)
			break
		}
	}
	l.mu.Unlock()
	pipe := l.client.Pipeline()
	l.erase(ctx, pipe, stream)
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("stream %s: %w", stream, l.failed(ctx, err))
	}
	return nil
}

// Stat says what the log holds of a stream; see relay.Log.
func (l *Log) Stat(ctx context.Context, stream string) (relay.State, error) {
	m, err := l.stat(ctx, stream)
	if err != nil {
		return relay.State{Head: m.Head}, fmt.Errorf("stream %s: %w", stream, err)
	}
	return m.State, nil
}

func (l *Log) stat(ctx context.Context, stream string) (meta, error) {
	if relay.CheckStream(stream) != nil {
		return meta{}, relay.ErrGone
	}
	pipe := l.client.Pipeline()
	there := pipe.Exists(ctx, l.logKey(stream))
	hash := pipe.HMGet(ctx, l.metaKey(stream), metaFields()...)
	held := l.holds()
	leased := pipe.Exists(ctx, l.leaseKey(l.o.Instance))
	if err := l.ask(ctx, pipe); err != nil {
		return meta{}, err
	}
	m := readMeta(hash.Val())
	switch {
	case m.there && there.Val() == 1:
		return m, nil
	case !m.there && len(m.Head) > 0:
		return m, relay.ErrPending
	}
	return meta{}, l.absent(held && leased.Val() == 0 || l.movedFrom(ctx, l.metaKey(stream)))
}

// ask sends a pipeline that only reads, a second time where its connection
// turned out to be dead: the pool keeps those of a Redis that was restarted.
func (l *Log) ask(ctx context.Context, pipe goredis.Pipeliner) error {
	cmds, err := pipe.Exec(ctx)
	if err == nil {
		return nil
	}
	var netErr net.Error
	if ctx.Err() == nil && (!errors.As(err, &netErr) || !netErr.Timeout()) {
		for _, c := range cmds {
			c.SetErr(nil)
			_ = pipe.Process(ctx, c) // queues it
		}
		if _, err = pipe.Exec(ctx); err == nil {
			return nil
		}
	}
	return l.failed(ctx, err)
}
