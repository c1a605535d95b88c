package relay

import (
	"container/list"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"
)

// MemoryOptions are the bounds of a memory log. The zero value works; a value
// under 0 is taken as 0.
type MemoryOptions struct {
	Bytes   int64         // most bytes kept of one stream, EntryCost per entry included; 0 = 4 MiB
	Events  int           // most entries kept of one stream; 0 = 20,000
	Total   int64         // most bytes kept of all streams; 0 = 256 MiB
	Streams int           // most streams; 0 = 10,000
	Readers int           // most readers of one stream at a time; 0 = 32
	TTL     time.Duration // how long an ended stream is kept; 0 = 2 minutes
	Idle    time.Duration // how long one is kept whose writer fell silent; 0 = 1 hour
}

// EntryCost is what an entry is counted for beside its frame, in bytes, so
// that many small entries are bounded too.
const EntryCost = 64

func (o MemoryOptions) filled() MemoryOptions {
	return MemoryOptions{
		Bytes:   positive(o.Bytes, 4<<20),
		Events:  positive(o.Events, 20_000),
		Total:   positive(o.Total, 256<<20),
		Streams: positive(o.Streams, 10_000),
		Readers: positive(o.Readers, 32),
		TTL:     positive(o.TTL, 2*time.Minute),
		Idle:    positive(o.Idle, time.Hour),
	}
}

func positive[N int | int64 | time.Duration](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}

// Memory is a Log in this process. Where all streams together grow over their
// bound, ended ones go first, longest ended first; then the stream that grows
// loses its own oldest entries.
type Memory struct {
	o     MemoryOptions
	total atomic.Int64

	mu     sync.RWMutex // taken before a track's
	tracks map[string]*track
	ended  list.List // of *track, longest ended first
	closed bool
}

// NewMemory makes a memory log.
func NewMemory(o MemoryOptions) *Memory {
	return &Memory{o: o.filled(), tracks: map[string]*track{}}
}

var errClosed = errors.New("the log is closed")

// Open begins a stream; see Log.
func (m *Memory) Open(_ context.Context, stream string, head []byte) (Position, error) {
	if err := CheckStream(stream); err != nil {
		return Position{}, err
	}
	t := &track{id: stream, head: append([]byte(nil), head...), epoch: newEpoch(), last: time.Now()}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return Position{}, errClosed
	case m.tracks[stream] != nil:
		return Position{}, fmt.Errorf("stream %s: %w", stream, ErrExists)
	}
	if len(m.tracks) >= m.o.Streams {
		if m.ended.Len() == 0 {
			return Position{}, ErrFull
		}
		m.drop(m.ended.Front().Value.(*track))
	}
	m.tracks[stream] = t
	t.mu.Lock() // the timer may fire before it is kept
	t.timer = time.AfterFunc(m.o.Idle, func() { m.expire(t) })
	t.mu.Unlock()
	return Position{Epoch: t.epoch}, nil
}

func newEpoch() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// Append adds an entry; see Log.
func (m *Memory) Append(_ context.Context, stream string, e Entry) (Position, error) {
	t := m.find(stream)
	if t == nil {
		return Position{}, fmt.Errorf("stream %s: %w", stream, ErrGone)
	}
	p, grown, err := t.push(e, m.o, &m.total)
	if err != nil {
		return Position{}, fmt.Errorf("stream %s: %w", stream, err)
	}
	if e.Terminal {
		m.retire(t)
	}
	if grown > m.o.Total {
		m.makeRoom(t)
	}
	return p, nil
}

func (m *Memory) find(stream string) *track {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.tracks[stream]
}

// retire queues an ended stream for its expiry.
func (m *Memory) retire(t *track) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tracks[t.id] == t {
		t.queued = m.ended.PushBack(t)
		t.timer.Reset(m.o.TTL)
	}
}

// expire drops a stream whose time is over, or waits for the rest of it.
func (m *Memory) expire(t *track) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tracks[t.id] != t {
		return
	}
	if rest := t.rest(m.o); rest > 0 {
		t.timer.Reset(rest)
		return
	}
	m.drop(t)
}

// makeRoom brings all streams together under their bound; t is the one that
// grew over it.
func (m *Memory) makeRoom(t *track) {
	m.mu.Lock()
	for m.total.Load() > m.o.Total && m.ended.Len() > 0 {
		m.drop(m.ended.Front().Value.(*track))
	}
	m.mu.Unlock()
	t.shrink(m.o.Total, &m.total)
}

// drop forgets a stream. m.mu is held.
func (m *Memory) drop(t *track) {
	delete(m.tracks, t.id)
	if t.queued != nil {
		m.ended.Remove(t.queued)
	}
	t.discard(&m.total)
}

// After gives the entries after a position; see Log.
func (m *Memory) After(ctx context.Context, stream string, p Position) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if t := m.find(stream); t != nil {
			t.serve(ctx, p, m.o.Readers, yield)
			return
		}
		yield(Entry{}, fmt.Errorf("stream %s: %w", stream, ErrGone))
	}
}

// Peek gives at most n of the entries after a position that are there, without
// waiting; where some of them are not kept any more, it begins with the first
// that is. Another epoch than the position's is ErrGone.
func (m *Memory) Peek(stream string, p Position, n int) ([]Entry, State, error) {
	t := m.find(stream)
	if t == nil || p.Epoch != "" && p.Epoch != t.epoch {
		return nil, State{}, fmt.Errorf("stream %s: %w", stream, ErrGone)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.state()
	if t.gone {
		return nil, State{}, fmt.Errorf("stream %s: %w", stream, ErrGone)
	}
	from := min(max(p.Offset, t.first), t.newest())
	frames := t.frames[from-t.first:]
	frames = frames[:min(n, len(frames))]
	entries := make([]Entry, len(frames))
	for i, f := range frames {
		o := from + int64(i) + 1
		entries[i] = Entry{Position: Position{t.epoch, o}, Frame: f, Terminal: t.ended && o == t.newest()}
	}
	return entries, s, nil
}

// Stat says what the log holds of a stream; see Log.
func (m *Memory) Stat(_ context.Context, stream string) (State, error) {
	if t := m.find(stream); t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.state(), nil
	}
	return State{}, fmt.Errorf("stream %s: %w", stream, ErrGone)
}

// Drop forgets a stream; see Log.
func (m *Memory) Drop(_ context.Context, stream string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tracks[stream]; t != nil {
		m.drop(t)
	}
	return nil
}

// Usage is how many streams the log holds, and how many bytes of them.
func (m *Memory) Usage() (streams int, bytes int64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.tracks), m.total.Load()
}

// Close forgets everything: readers get ErrGone. It always returns nil.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for _, t := range m.tracks {
		m.drop(t)
	}
	return nil
}
