package redis

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"weir/relay"
)

// After gives the entries after a position; see relay.Log. While Redis is away
// it waits for the time of an outage, then it is ErrDown; where the stream's
// owner is gone before its end, ErrOrphaned.
func (l *Log) After(ctx context.Context, stream string, p relay.Position) iter.Seq2[relay.Entry, error] {
	return func(yield func(relay.Entry, error) bool) {
		if relay.CheckStream(stream) != nil {
			yield(relay.Entry{}, fmt.Errorf("stream: %w", relay.ErrGone))
			return
		}
		f, err := l.join(stream)
		if err != nil {
			yield(relay.Entry{}, err)
			return
		}
		defer l.part(f)
		r := &reader{l: l, f: f, p: p, stale: -1}
		r.run(ctx, yield)
	}
}

// reader is one that follows.
type reader struct {
	l       *Log
	f       *feed
	p       relay.Position
	stale   int       // of the feed, when Redis was last asked; -1: never
	started bool      // the stream was there
	beyond  time.Time // since when the position is beyond what is in Redis
}

// batch is how many entries a reader takes from Redis at once.
const readBatch = 64

func (r *reader) run(ctx context.Context, yield func(relay.Entry, error) bool) {
	r.subscribed(ctx)
	patience := r.l.patience()
	for {
		entries, complete, news, err := r.take(ctx)
		switch {
		case err == nil:
			patience = r.l.patience()
		case isDown(err) && r.l.bears() && patience.wait(ctx):
			continue
		case isDown(err) && r.l.bears() && ctx.Err() != nil: // it was to wait no longer, as for a heartbeat: that is no end
			err = context.Cause(ctx)
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			yield(relay.Entry{}, fmt.Errorf("stream %s: %w", r.f.stream, err))
			return
		}
		for _, e := range entries {
			r.p = e.Position
			if !yield(e, nil) || e.Terminal {
				return
			}
		}
		if complete {
			return
		}
		if len(entries) == 0 {
			r.wait(ctx, news)
		}
	}
}

// subscribed waits until bells are heard, so that nothing rings between the
// read and the wait. Where that takes longer than a look at the positions, the
// look does the same.
func (r *reader) subscribed(ctx context.Context) {
	t := time.NewTimer(r.l.o.Check)
	defer t.Stop()
	select {
	case <-r.f.acked:
	case <-t.C:
	case <-ctx.Done():
	case <-r.l.ctx.Done():
	}
}

func (r *reader) wait(ctx context.Context, news <-chan struct{}) {
	t := time.NewTimer(r.l.o.Check) // some reasons to end come with time alone
	defer t.Stop()
	select {
	case <-news:
	case <-t.C:
	case <-ctx.Done():
	case <-r.l.ctx.Done():
	}
}

// take gives the entries that are there; complete says that none can follow.
func (r *reader) take(ctx context.Context) (entries []relay.Entry, complete bool, news <-chan struct{}, err error) {
	if r.l.ctx.Err() != nil {
		return nil, false, nil, errClosed
	}
	entries, ask, stale, news := r.f.look(r.p, r.stale)
	if len(entries) > 0 {
		return entries, false, news, nil
	}
	if ask || !r.beyond.IsZero() {
		entries, complete, err = r.read(ctx)
		if err != nil || complete || len(entries) > 0 {
			if err == nil {
				r.stale = stale
			}
			return entries, complete, news, err
		}
		r.stale = stale
	}
	if !r.l.bears() {
		return nil, false, news, relay.ErrDown
	}
	return nil, false, news, r.f.verdict(r.l.o.Lease)
}

// mostTries is how often a read is repeated that an append or an eviction came
// into.
const mostTries = 4

// read asks Redis.
func (r *reader) read(ctx context.Context) (entries []relay.Entry, complete bool, err error) {
	for range mostTries {
		var m meta
		if m, entries, err = r.l.fetch(ctx, r.f.stream, r.p.Offset); err != nil {
			return nil, false, err
		}
		r.f.found(m)
		if !m.there {
			return nil, false, r.absent(ctx, m)
		}
		r.begin(m)
		if wait, err := r.gap(m); err != nil || wait {
			return nil, false, err
		}
		if m.Ended && r.p.Offset == m.Last.Offset {
			return nil, true, nil
		}
		if len(entries) > 0 && consecutive(r.p, entries) {
			return entries, false, nil
		}
		if len(entries) == 0 && r.p.Offset >= m.Last.Offset {
			return nil, false, nil
		}
	}
	return nil, false, relay.ErrGone // the hash says they are there: evicted
}

// begin notes that the stream is there, and tells its owner of us.
func (r *reader) begin(m meta) {
	r.started = true
	if r.p.Epoch == "" {
		r.p.Epoch = m.Last.Epoch
	}
	if !m.Ended {
		r.l.greet(r.f)
	}
}

// absent is what a reader does whose stream is not in Redis: one that was there
// may be brought back by its owner, if Redis lost its content. Who left for a
// heartbeat and comes again does not know that it was there.
func (r *reader) absent(ctx context.Context, m meta) error {
	switch {
	case m.owner != "":
		return relay.ErrPending
	case r.started:
		return nil
	}
	held := r.l.holds()
	n, err := r.l.client.Exists(ctx, r.l.leaseKey(r.l.o.Instance)).Result()
	if err != nil {
		return r.l.failed(ctx, err)
	}
	return r.l.absent(held && n == 0 || r.l.movedFrom(ctx, r.l.metaKey(r.f.stream)))
}

// gap is the error of a position that Redis cannot serve. A client may have
// more than Redis for a moment, where the writer does not wait for it.
func (r *reader) gap(m meta) (wait bool, err error) {
	if r.p.Epoch == m.Last.Epoch && r.p.Offset > m.Last.Offset && m.behind && !m.Ended {
		if r.beyond.IsZero() {
			r.beyond = time.Now()
		}
		if time.Since(r.beyond) < r.l.o.Lease {
			return true, nil
		}
	}
	r.beyond = time.Time{}
	return false, m.Gap(r.p)
}

func consecutive(p relay.Position, entries []relay.Entry) bool {
	for i, e := range entries {
		if e.Offset != p.Offset+int64(i)+1 {
			return false
		}
	}
	return true
}

// fetch reads a stream's hash and its entries after an offset. The entries come
// first: they are of the epoch that the hash says afterwards, or of none that
// anybody asked for.
func (l *Log) fetch(ctx context.Context, stream string, after int64) (meta, []relay.Entry, error) {
	pipe := l.client.Pipeline()
	from := "1-" + strconv.FormatInt(min(max(after, 0), 1<<62)+1, 10)
	rows := pipe.XRangeN(ctx, l.logKey(stream), from, "+", readBatch)
	hash := pipe.HMGet(ctx, l.metaKey(stream), metaFields()...)
	if err := l.ask(ctx, pipe); err != nil {
		return meta{}, nil, err
	}
	m := readMeta(hash.Val())
	return m, readEntries(m.Last.Epoch, rows.Val()), nil
}
