package redis

import (
	"fmt"
	"sync"
	"time"

	"weir/relay"
)

// feeds are the streams that this process follows in Redis, one each however
// many readers it has.
type feeds struct {
	mu      sync.Mutex
	by      map[string]*feed
	readers int
	touched map[string]bool // whose subscription has to be looked at
	outbox  []letter        // messages to other instances
	work    chan struct{}   // there is something of the two
}

func (fs *feeds) init() {
	fs.by, fs.touched, fs.work = map[string]*feed{}, map[string]bool{}, make(chan struct{}, 1)
}

func (fs *feeds) wake() {
	select {
	case fs.work <- struct{}{}:
	default:
	}
}

// feed is one stream that is followed.
type feed struct {
	stream  string
	readers int           // guarded by feeds.mu
	idle    time.Time     // since when it has none; guarded by feeds.mu
	acked   chan struct{} // closed when Redis acknowledged the subscription

	mu      sync.Mutex
	news    chan struct{} // closed at the next change; nil while nobody waits
	stale   int           // counts what makes a reader look into Redis
	top     relay.Position
	owner   string
	dropped bool
	missing time.Time // since when it is not in Redis; zero: it is
	orphan  time.Time // since when its owner has no lease
	told    time.Time // when the owner was told of us
	recent  recent
}

// recent are the last frames that bells brought, so that a reader of the
// present asks Redis nothing.
type recent struct {
	epoch    string
	start    int64 // offset of the first frame
	frames   [][]byte
	bytes    int
	terminal bool // the last of them is
}

const (
	mostRecent      = 256
	mostRecentBytes = 64 << 10
)

func (r *recent) add(b bell) {
	if r.epoch != b.epoch || r.start+int64(len(r.frames)) != b.from || len(b.frames) == 0 {
		*r = recent{epoch: b.epoch, start: b.to + 1}
		if len(b.frames) == 0 {
			return
		}
		r.start = b.from
	}
	for _, f := range b.frames {
		r.bytes += len(f)
	}
	r.frames = append(r.frames, b.frames...)
	r.terminal = b.terminal
	for len(r.frames) > mostRecent || r.bytes > mostRecentBytes {
		r.bytes -= len(r.frames[0])
		r.frames[0] = nil
		r.frames = r.frames[1:]
		r.start++
	}
}

// after are the entries after a position, none where they are not all here.
func (r *recent) after(p relay.Position) []relay.Entry {
	if p.Epoch != r.epoch || p.Offset < r.start-1 || p.Offset >= r.start+int64(len(r.frames))-1 {
		return nil
	}
	rest := r.frames[p.Offset+1-r.start:]
	entries := make([]relay.Entry, len(rest))
	for i, f := range rest {
		p.Offset++
		entries[i] = relay.Entry{Position: p, Frame: f, Terminal: r.terminal && i == len(rest)-1}
	}
	return entries
}

// join makes a reader of a stream; part is to be called when it leaves.
func (l *Log) join(stream string) (*feed, error) {
	fs := &l.feeds
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if l.ctx.Err() != nil {
		return nil, errClosed
	}
	f := fs.by[stream]
	switch {
	case f == nil:
		f = &feed{stream: stream, acked: make(chan struct{})}
		fs.by[stream] = f
		fs.touched[stream] = true
		fs.wake()
	case f.readers >= l.o.Readers:
		return nil, fmt.Errorf("stream %s: %w", stream, relay.ErrBusy)
	}
	f.readers++
	fs.readers++
	l.o.Observer.RelayFollowing(fs.readers)
	return f, nil
}

// part ends a reader. The feed stays for a moment: who leaves for a heartbeat is
// back at once.
func (l *Log) part(f *feed) {
	fs := &l.feeds
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.readers--
	fs.readers--
	f.idle = time.Now()
	l.o.Observer.RelayFollowing(fs.readers)
}

// leaveIdle unsubscribes from what nobody reads any more.
func (l *Log) leaveIdle() {
	fs := &l.feeds
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for stream, f := range fs.by {
		if f.readers > 0 || time.Since(f.idle) < l.o.Check {
			continue
		}
		delete(fs.by, stream)
		fs.touched[stream] = true
		f.mu.Lock()
		if !f.told.IsZero() {
			fs.outbox = append(fs.outbox, letter{f.owner, Message{Kind: kindLeave, Stream: stream, From: l.o.Instance}})
		}
		f.mu.Unlock()
		fs.wake()
	}
}

// list are the feeds of now.
func (fs *feeds) list() []*feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	all := make([]*feed, 0, len(fs.by))
	for _, f := range fs.by {
		all = append(all, f)
	}
	return all
}

func (fs *feeds) find(stream string) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.by[stream]
}

// closeAll wakes everybody.
func (fs *feeds) closeAll() {
	for _, f := range fs.list() {
		f.change(func() { f.stale++ })
	}
}

// change changes a feed and wakes its readers.
func (f *feed) change(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
	if f.news != nil {
		close(f.news)
		f.news = nil
	}
}

// acknowledge notes that the subscription is there, for the first time or
// again: what was published before may be missing.
func (f *feed) acknowledge() {
	f.change(func() {
		f.stale++
		select {
		case <-f.acked:
		default:
			close(f.acked)
		}
	})
}

// ring takes what was published.
func (f *feed) ring(payload string) {
	if payload == dropped {
		f.change(func() { f.dropped = true; f.stale++ })
		return
	}
	b, ok := parseBell(payload)
	f.change(func() {
		if !ok {
			f.stale++ // something happened
			return
		}
		f.recent.add(b)
		f.top = relay.Position{Epoch: b.epoch, Offset: b.to}
	})
}

// look is what a reader at a position finds without asking Redis: entries, or
// that Redis has to be asked; news is closed at the next change.
func (f *feed) look(p relay.Position, stale int) (entries []relay.Entry, ask bool, now int, news <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.news == nil {
		f.news = make(chan struct{})
	}
	if stale == f.stale {
		if entries = f.recent.after(p); len(entries) > 0 {
			return entries, false, f.stale, f.news
		}
	}
	ask = stale != f.stale || f.top.Epoch != p.Epoch || f.top.Offset > p.Offset
	return nil, ask, f.stale, f.news
}

// found takes over what a read found.
func (f *feed) found(m meta) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.there && (f.top.Epoch != m.Last.Epoch || f.top.Offset < m.Last.Offset) {
		f.top = m.Last
	}
	if m.there || m.owner != "" {
		f.ownedBy(m.owner)
		f.missing, f.dropped = time.Time{}, false
	}
}

// ownedBy notes who writes the stream. That its former writer was missed, or was
// told of us, says nothing of a new one. f.mu is held.
func (f *feed) ownedBy(owner string) {
	if owner != f.owner {
		f.owner, f.orphan, f.told = owner, time.Time{}, time.Time{}
	}
}

// checked takes over what the look at all positions found, and whether the
// lease of who was known as the owner is held.
func (f *feed) checked(m meta, known string, alive bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	newer := m.there && (f.top.Epoch != m.Last.Epoch || f.top.Offset < m.Last.Offset)
	switch {
	case newer:
		f.top = m.Last
	case m.there || m.owner != "":
	case f.missing.IsZero():
		f.missing = now
	}
	if m.there || m.owner != "" {
		f.missing = time.Time{}
		f.ownedBy(m.owner)
	}
	switch {
	case alive, f.owner != known: // nobody asked for the new one's lease
		f.orphan = time.Time{}
	case f.orphan.IsZero():
		f.orphan = now
	}
	if newer && f.news != nil {
		close(f.news)
		f.news = nil
	}
}

// unsure forgets since when something was missing: while Redis is away nobody
// can give a sign.
func (f *feed) unsure() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.missing, f.orphan = time.Time{}, time.Time{}
}

// verdict says why a reader that has everything need not wait any more; nil
// where it has to.
func (f *feed) verdict(lease time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.dropped, !f.missing.IsZero() && time.Since(f.missing) > lease:
		return relay.ErrGone
	case !f.orphan.IsZero() && time.Since(f.orphan) > lease:
		return relay.ErrOrphaned
	}
	return nil
}
