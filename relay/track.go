package relay

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// track is one stream of a Memory.
type track struct {
	id     string
	head   []byte
	epoch  string
	timer  *time.Timer   // of its expiry
	queued *list.Element // in Memory.ended, guarded by Memory.mu

	mu      sync.Mutex
	frames  [][]byte // the entries first+1 …
	first   int64    // offset of the newest entry not kept any more
	bytes   int64    // what the kept entries count for
	store   arena
	last    time.Time // of the newest entry
	ended   bool
	gone    bool
	readers int
	news    chan struct{} // closed at the next change; nil while nobody waits
}

// arena gives frames their memory in pieces, so that an entry is not an
// allocation. A piece is free when no entry has bytes in it, so a track holds
// at most one piece more than its bytes.
type arena struct{ free []byte }

const (
	leastPiece = 1 << 10
	mostPiece  = 16 << 10
)

func (a *arena) copyOf(b []byte) []byte {
	if len(b) > mostPiece/4 {
		return append([]byte(nil), b...)
	}
	if len(b) > cap(a.free)-len(a.free) {
		a.free = make([]byte, 0, max(len(b), min(mostPiece, max(leastPiece, 2*cap(a.free)))))
	}
	from := len(a.free)
	a.free = append(a.free, b...)
	return a.free[from:len(a.free):len(a.free)]
}

func cost(frame []byte) int64 { return int64(len(frame)) + EntryCost }

func (t *track) newest() int64 { return t.first + int64(len(t.frames)) }

// push adds an entry and evicts what is over the stream's bounds; grown is the
// new total.
func (t *track) push(e Entry, o MemoryOptions, total *atomic.Int64) (p Position, grown int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := Position{t.epoch, t.newest() + 1}
	switch {
	case t.gone:
		return p, 0, ErrGone
	case e.Epoch != "" && e.Epoch != t.epoch, e.Offset != 0 && e.Offset != next.Offset:
		return p, 0, fmt.Errorf("%w: it is given as %s.%d where %s.%d is next", ErrFenced, e.Epoch, e.Offset, next.Epoch, next.Offset)
	case t.ended:
		return p, 0, ErrEnded
	}
	before := t.bytes
	t.frames = append(t.frames, t.store.copyOf(e.Frame))
	t.bytes += cost(e.Frame)
	for t.bytes > o.Bytes || len(t.frames) > o.Events {
		t.evict()
	}
	t.last, t.ended = time.Now(), e.Terminal
	t.announce()
	return next, total.Add(t.bytes - before), nil
}

// evict forgets the oldest entry.
func (t *track) evict() {
	t.bytes -= cost(t.frames[0])
	t.frames[0] = nil // the array behind the slice lives on
	t.frames = t.frames[1:]
	t.first++
}

// shrink evicts until the total is within its limit or nothing is left.
func (t *track) shrink(limit int64, total *atomic.Int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for total.Load() > limit && len(t.frames) > 0 {
		before := t.bytes
		t.evict()
		total.Add(t.bytes - before)
	}
}

// discard empties the track for good.
func (t *track) discard(total *atomic.Int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Stop()
	t.gone = true
	total.Add(-t.bytes)
	t.frames, t.bytes, t.store = nil, 0, arena{}
	t.announce()
}

// rest is how long the track is still to be kept.
func (t *track) rest(o MemoryOptions) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return time.Until(t.last.Add(o.TTL))
	}
	return time.Until(t.last.Add(o.Idle))
}

// announce wakes the readers that wait. It costs the writer the same whoever
// they are and however many.
func (t *track) announce() {
	if t.news != nil {
		close(t.news)
		t.news = nil
	}
}

func (t *track) state() State {
	return State{Head: t.head, First: Position{t.epoch, t.first}, Last: Position{t.epoch, t.newest()}, Ended: t.ended}
}

// batch is how many entries a reader takes under one lock.
const batch = 32

// serve is follow for a reader more, if there may be one.
func (t *track) serve(ctx context.Context, p Position, most int, yield func(Entry, error) bool) {
	if !t.join(most) {
		yield(Entry{}, fmt.Errorf("stream %s: %w", t.id, ErrBusy))
		return
	}
	defer t.part()
	t.follow(ctx, p, yield)
}

func (t *track) join(most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.readers >= most {
		return false
	}
	t.readers++
	return true
}

func (t *track) part() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readers--
}

// follow yields what comes after p.
func (t *track) follow(ctx context.Context, p Position, yield func(Entry, error) bool) {
	if p.Epoch == "" {
		p.Epoch = t.epoch
	}
	var frames [batch][]byte
	for {
		n, ended, news, err := t.read(p, &frames)
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for i := range n {
			p.Offset++
			if !yield(Entry{Position: p, Frame: frames[i], Terminal: ended && i == n-1}, nil) {
				return
			}
		}
		switch {
		case ended:
			return
		case n > 0:
			continue
		}
		select {
		case <-news:
		case <-ctx.Done():
			yield(Entry{}, context.Cause(ctx))
			return
		}
	}
}

// read takes up to a batch of entries after p. ended says that the last of them
// is the terminal one, or that p was after it; where there are none yet, news
// is closed when there may be.
func (t *track) read(p Position, into *[batch][]byte) (n int, ended bool, news <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return 0, false, nil, fmt.Errorf("stream %s: %w", t.id, ErrGone)
	}
	if err := t.state().Gap(p); err != nil {
		return 0, false, nil, err
	}
	n = copy(into[:], t.frames[p.Offset-t.first:])
	if p.Offset+int64(n) == t.newest() && t.ended {
		return n, true, nil, nil
	}
	if n == 0 && t.news == nil {
		t.news = make(chan struct{})
	}
	return n, false, t.news, nil
}
