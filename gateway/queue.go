package gateway

import (
	"sync"
	"time"
)

// load is what waits for a client in a queue: whole events, and what they are.
type load struct {
	bytes    []byte
	events   int       // business events among them
	tokens   int       // of those, where they are counted
	read     time.Time // when the oldest byte was read from the upstream; zero = it came from nowhere
	clean    bool      // the bytes end where an event does, so that a heartbeat may follow
	terminal bool
	text     bool // plain visible text and nothing else
}

// add puts more behind what is there; the bytes are copied.
func (w *load) add(l *load) {
	if len(w.bytes) == 0 {
		w.read = l.read
	}
	w.bytes = append(w.bytes, l.bytes...)
	w.events += l.events
	w.tokens += l.tokens
	w.clean, w.terminal = l.clean, w.terminal || l.terminal
}

// queue is the way from the reader of an upstream to the writer of a client:
// one of each. It is bounded in bytes. What came while the writer was busy
// leaves in one piece.
type queue struct {
	mu     sync.Mutex
	taken  bool // bytes went to the client: what is in the queue can no longer be unsaid
	closed bool // nothing more comes
	cut    bool // the writer is gone: what comes is thrown away
	nudge  bool // the client is to be told of silence
	limit  int
	wait   load
	spare  []byte // the writer's last buffer, for the next bytes

	wake chan struct{} // something is there, or the end
	room chan struct{} // there is space again, or the writer is gone
}

func (q *queue) init(limit int) {
	q.limit, q.wake, q.room = limit, make(chan struct{}, 1), make(chan struct{}, 1)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put adds bytes. It reports whether there was room; bytes larger than the
// queue fit where it is empty.
func (q *queue) put(l *load) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cut {
		return true
	}
	if len(q.wait.bytes) > 0 && len(q.wait.bytes)+len(l.bytes) > q.limit && !l.terminal {
		return false
	}
	if q.wait.bytes == nil {
		q.wait.bytes, q.spare = q.spare, nil
	}
	q.wait.add(l)
	signal(q.wake)
	return true
}

// size is the bytes that wait.
func (q *queue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.wait.bytes)
}

// pass lets bytes go to the client past the queue; false where something waits
// in it.
func (q *queue) pass() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken = q.taken || len(q.wait.bytes) == 0
	return len(q.wait.bytes) == 0
}

// said reports whether the client may have seen something of the stream.
func (q *queue) said() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken
}

// take hands out what waits; done says that nothing will follow, nudge that
// the client is to be told of silence.
func (q *queue) take() (l load, nudge, done bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, nudge, done = q.wait, q.nudge, q.closed
	q.wait, q.nudge = load{}, false
	if len(l.bytes) > 0 {
		q.taken = true
		signal(q.room)
	}
	return l, nudge, done
}

// keepSpare is the most buffer a queue holds on to while nothing waits.
const keepSpare = 16 << 10

// giveBack returns a buffer that was written.
func (q *queue) giveBack(b []byte) {
	if cap(b) > keepSpare {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.spare == nil {
		q.spare = b[:0]
	}
}

// unsay empties the queue, for an attempt that is to be forgotten; false where
// something of it was handed out already.
func (q *queue) unsay() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken {
		return false
	}
	q.wait = load{}
	return true
}

// close says that nothing more comes.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	signal(q.wake)
}

// leave says that the writer is gone.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cut = true
	q.wait, q.spare = load{}, nil
	signal(q.room)
	signal(q.wake)
}

// left reports whether the writer is gone.
func (q *queue) left() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.cut
}

// tell has the writer tell its client of silence.
func (q *queue) tell() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.nudge = true
	signal(q.wake)
}
