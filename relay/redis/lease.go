package redis

import (
	"context"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// lease is this instance's sign of life, and its mailbox, which is emptied with
// every sign.
type lease struct {
	mu    sync.Mutex
	held  bool
	tasks []func(sign) // after every sign that Redis took
	hands []func(Message)
	now   chan struct{}
}

// sign is what came with a sign of life.
type sign struct {
	lost bool // Redis lost what it had, or may have: another is the master
	back bool // it could not be reached before
}

func (s *lease) init() { s.now = make(chan struct{}, 1) }

func (s *lease) wake() {
	select {
	case s.now <- struct{}{}:
	default:
	}
}

func (l *Log) leaseKey(instance string) string { return l.Key("i", instance) }

// mailbox is the list of messages to an instance, and the channel that rings
// when there is one.
func (l *Log) mailbox(instance string) string { return l.Key("c", instance) }

// keepLease renews the lease until the log is closed.
func (l *Log) keepLease() {
	tick := time.NewTicker(l.o.Lease / 3)
	defer tick.Stop()
	for {
		l.sign()
		select {
		case <-tick.C:
		case <-l.lease.now:
		case <-l.ctx.Done():
			return
		}
	}
}

// sign renews the lease and takes the mail. Redis that forgot a lease which was
// held lost its content, or was away for longer than the lease.
func (l *Log) sign() {
	pipe := l.client.Pipeline()
	renewed := pipe.SetXX(l.ctx, l.leaseKey(l.o.Instance), 1, l.o.Lease)
	mail := pipe.LPopCount(l.ctx, l.mailbox(l.o.Instance), 256)
	_, err := pipe.Exec(l.ctx)
	if err != nil && !isNil(err) {
		_ = l.failed(l.ctx, err)
		return
	}
	lost, moved := !renewed.Val(), l.over.take()
	if lost {
		if err := l.client.Set(l.ctx, l.leaseKey(l.o.Instance), 1, l.o.Lease).Err(); err != nil {
			l.over.put(moved)
			_ = l.failed(l.ctx, err)
			return
		}
	}
	back := l.state.up()
	l.lease.mu.Lock()
	first := !l.lease.held
	if lost = (lost || moved) && !first; lost {
		l.state.lost()
	}
	l.lease.held = true
	tasks, hands := l.lease.tasks, l.lease.hands
	l.lease.mu.Unlock()
	if first {
		l.o.Observer.RelayUp(true)
	}
	for _, m := range mail.Val() {
		if m, ok := parseMessage(m); ok {
			for _, h := range hands {
				h(m)
			}
		}
	}
	for _, t := range tasks {
		t(sign{lost: lost, back: back})
	}
	if len(mail.Val()) == 256 {
		l.lease.wake()
	}
}

// isNil reports whether an error only says that there is nothing.
func isNil(err error) bool { return err == goredis.Nil } //nolint:errorlint // a pipeline gives the first command's error as it is

// leaveLease gives the lease up, so that nobody waits for this instance.
func (l *Log) leaveLease() {
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	if l.Up() {
		pipe := l.client.Pipeline() // a command for each: in a cluster they are of two slots
		pipe.Del(ctx, l.leaseKey(l.o.Instance))
		pipe.Del(ctx, l.mailbox(l.o.Instance))
		_, _ = pipe.Exec(ctx) // else they expire
	}
}

// Alive reports whether an instance holds its lease.
func (l *Log) Alive(ctx context.Context, instance string) (bool, error) {
	n, err := l.client.Exists(ctx, l.leaseKey(instance)).Result()
	return n == 1, l.failed(ctx, err)
}

// Owner is the instance that writes a stream.
func (l *Log) Owner(ctx context.Context, stream string) (string, error) {
	m, err := l.stat(ctx, stream)
	return m.owner, err
}

// Message is what one instance asks of another. Kinds of others than this
// package may be anything without a space.
type Message struct {
	Kind   string
	Stream string
	From   string // instance
}

// The kinds of this package.
const (
	kindStop   = "stop"
	kindFollow = "follow" // somebody at From follows; said again while that is so
	kindLeave  = "leave"
)

type letter struct {
	to string
	Message
}

func (m Message) String() string { return m.Kind + " " + m.Stream + " " + m.From }

func parseMessage(s string) (m Message, ok bool) {
	f := strings.Split(s, " ")
	if len(f) != 3 {
		return m, false
	}
	return Message{f[0], f[1], f[2]}, true
}

// mailKept is how long a message waits for an instance that does not take it.
const mailKept = time.Minute

// Tell sends a message to an instance; it is there when Tell returns, and taken
// at once where that instance listens, else with its next sign of life.
func (l *Log) Tell(ctx context.Context, instance string, m Message) error {
	if m.From == "" {
		m.From = l.o.Instance
	}
	return l.post(ctx, []letter{{instance, m}})
}

func (l *Log) post(ctx context.Context, letters []letter) error {
	pipe := l.client.Pipeline()
	for _, m := range letters {
		box := l.mailbox(m.to)
		pipe.RPush(ctx, box, m.String())
		pipe.PExpire(ctx, box, mailKept)
		pipe.Publish(ctx, box, "")
	}
	_, err := pipe.Exec(ctx)
	return l.failed(ctx, err)
}

// Handle has messages to this instance given to h, in turn; it must not wait.
func (l *Log) Handle(h func(Message)) {
	l.lease.mu.Lock()
	defer l.lease.mu.Unlock()
	l.lease.hands = append(l.lease.hands, h)
}

// onSign has a task done after every sign of life.
func (l *Log) onSign(t func(sign)) {
	l.lease.mu.Lock()
	defer l.lease.mu.Unlock()
	l.lease.tasks = append(l.lease.tasks, t)
}

// sayAgain is how often an owner is told that its stream is followed; it
// believes it for three times as long.
const sayAgain = 5 * time.Second

// greet tells the owner of a stream that it is followed here.
func (l *Log) greet(f *feed) {
	f.mu.Lock()
	owner := f.owner
	due := owner != "" && owner != l.o.Instance && (f.told.IsZero() || time.Since(f.told) > sayAgain)
	if due {
		f.told = time.Now()
	}
	f.mu.Unlock()
	if !due {
		return
	}
	l.feeds.mu.Lock()
	defer l.feeds.mu.Unlock()
	l.feeds.outbox = append(l.feeds.outbox, letter{owner, Message{kindFollow, f.stream, l.o.Instance}})
	l.feeds.wake()
}
