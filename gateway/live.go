package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"
)

// principal is who opened a stream: the hash of the key it presented. The key
// itself is kept nowhere.
type principal [sha256.Size]byte

// anonymous is a caller without a key.
var anonymous = principal(sha256.Sum256([]byte("anonymous"))) //nolint:gochecknoglobals // a constant in all but syntax

// live is a stream while it runs, and a little longer, as others see it: who
// may follow it, and how to stop it.
type live struct {
	id        string // 128 random bits, hex
	epoch     string // new with every stream: an id of another process's stream is known as such
	requestID string
	principal principal
	route     *route
	dialect   string // of its frames; "" while not known
	format    string // wire format of its frames
	resumable bool
	ids       bool // the client asked for ids with weir-resume: 1
	started   time.Time

	stop   func(reason string)  // ends the stream, whoever follows; safe to call at any time
	follow func(delta int) bool // tells that a follower came (+1) or left (-1); false: the stream no longer runs

	mu      sync.Mutex    // of format, which the pump learns with the upstream's headers, and:
	settled chan struct{} // closed when it is known whether the stream is kept; nil while nobody waits
	known   bool          // that is known
	said    bool          // other instances were told of it before that
	retract func()        // takes that back
}

// settle says that it is known whether the stream is kept. What other instances
// were told is taken back, which does nothing to a stream that is.
func (l *live) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = true
	if l.retract != nil {
		l.retract()
		l.retract = nil
	}
	if l.settled != nil {
		close(l.settled)
		l.settled = nil
	}
}

// whenSettled is closed when that is known; nil where it is already.
func (l *live) whenSettled() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known && l.settled == nil {
		l.settled = make(chan struct{})
	}
	return l.settled
}

// canResume reports whether the stream is kept, or will be when its upstream
// answers.
func (l *live) canResume() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.resumable
}

// keeper takes every event of a resumable stream into the relay log, in order,
// before its client gets it. It belongs to one goroutine.
type keeper interface {
	// Append keeps one event as the client's dialect writes it, and returns the
	// bytes to send instead (with an id line, where ids were asked for). An
	// error makes the stream go on without being kept.
	Append(event []byte, terminal bool) (sent []byte, err error)
	// Forget drops the events of an attempt that no client saw. After an error
	// nothing is kept any more.
	Forget() error
	// Close says that no more events come.
	Close()
}

// registry holds the live streams by id.
type registry struct {
	mu   sync.Mutex
	byID map[string]*live
}

func (r *registry) add(l *live) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID == nil {
		r.byID = map[string]*live{}
	}
	r.byID[l.id] = l
}

func (r *registry) remove(l *live) {
	defer l.settle()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, l.id)
}

// find gives the stream of an id, if this principal opened it: an unknown and
// a foreign stream are the same to a caller.
func (r *registry) find(id string, p principal) *live {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.byID[id]
	if l == nil || l.principal != p {
		return nil
	}
	return l
}

// any gives the stream of an id, whoever opened it.
func (r *registry) any(id string) *live {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

// all lists the live streams.
func (r *registry) all() []*live {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*live, 0, len(r.byID))
	for _, l := range r.byID {
		list = append(list, l)
	}
	return list
}

// randomID is 128 random bits.
func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return hex.EncodeToString(b[:])
}
