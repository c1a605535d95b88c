package redis

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// listen holds the one subscription of this process.
func (l *Log) listen() {
	for l.ctx.Err() == nil {
		if err := l.hear(); l.ctx.Err() == nil {
			_ = l.failed(l.ctx, err)
			l.sleep(200 * time.Millisecond)
		}
	}
}

func (l *Log) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.ctx.Done():
	}
}

// quiet is how long a subscription may say nothing before it is asked.
const quiet = 2 * time.Second

var errDeaf = errors.New("the subscription does not answer")

// hear subscribes to everything that is followed and takes what comes, until
// the connection breaks.
func (l *Log) hear() error {
	ps := l.client.Subscribe(l.ctx)
	defer context.AfterFunc(l.ctx, func() { _ = ps.Close() })()
	if err := ps.Subscribe(l.ctx, l.mailbox(l.o.Instance)); err != nil {
		return errors.Join(err, ps.Close())
	}
	ctx, stop := context.WithCancel(l.ctx)
	done := make(chan struct{})
	defer func() { stop(); _ = ps.Close(); <-done }()
	l.feeds.touchAll()
	go func() {
		defer close(done)
		l.clerk(ctx, ps)
	}()
	for silent := 0; ; {
		m, err := ps.ReceiveTimeout(l.ctx, quiet)
		var netErr net.Error
		switch {
		case err == nil:
			silent = 0
			l.heard(m)
		case errors.As(err, &netErr) && netErr.Timeout():
			if silent++; silent > 1 {
				return errDeaf
			}
			if err := ps.Ping(l.ctx); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func (l *Log) heard(m any) {
	prefix := l.bellChannel("")
	switch m := m.(type) {
	case *goredis.Subscription:
		if stream, ok := strings.CutPrefix(m.Channel, prefix); ok && m.Kind == "subscribe" {
			if f := l.feeds.find(stream); f != nil {
				f.acknowledge()
			}
		}
	case *goredis.Message:
		if m.Channel == l.mailbox(l.o.Instance) {
			l.lease.wake()
			return
		}
		if f := l.feeds.find(strings.TrimPrefix(m.Channel, prefix)); f != nil {
			f.ring(m.Payload)
		}
	}
}

// touchAll has every subscription made anew.
func (fs *feeds) touchAll() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for stream := range fs.by {
		fs.touched[stream] = true
	}
	fs.wake()
}

// clerk does what readers must not wait for: it subscribes, unsubscribes and
// sends messages, many in one exchange.
func (l *Log) clerk(ctx context.Context, ps *goredis.PubSub) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.feeds.work:
		}
		come, gone, letters := l.feeds.takeWork(l.bellChannel(""))
		if len(come) > 0 && ps.Subscribe(ctx, come...) != nil {
			return // the next subscription has them all
		}
		if len(gone) > 0 && ps.Unsubscribe(ctx, gone...) != nil {
			return
		}
		if len(letters) > 0 {
			_ = l.post(ctx, letters) // what is lost is said again, or has a time of its own
		}
	}
}

func (fs *feeds) takeWork(prefix string) (come, gone []string, letters []letter) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for stream := range fs.touched {
		if fs.by[stream] != nil {
			come = append(come, prefix+stream)
		} else {
			gone = append(gone, prefix+stream)
		}
	}
	clear(fs.touched)
	letters, fs.outbox = fs.outbox, nil
	return come, gone, letters
}

// look compares the positions of all that is followed with Redis, now and then:
// a message of a subscription can be lost.
func (l *Log) look() {
	for l.ctx.Err() == nil {
		l.sleep(l.o.Check)
		l.leaveIdle()
		list := l.feeds.list()
		for len(list) > 0 && l.ctx.Err() == nil {
			n := min(len(list), 256)
			if l.lookAt(list[:n]) != nil {
				for _, f := range list {
					f.unsure()
				}
				break
			}
			list = list[n:]
		}
	}
}

func (l *Log) lookAt(list []*feed) error {
	pipe := l.client.Pipeline()
	hashes, leases := make([]*goredis.SliceCmd, len(list)), map[string]*goredis.IntCmd{}
	owners := make([]string, len(list))
	for i, f := range list {
		fields := metaFields()
		hashes[i] = pipe.HMGet(l.ctx, l.metaKey(f.stream), fields[:len(fields)-1]...)
		f.mu.Lock()
		owners[i] = f.owner
		f.mu.Unlock()
		if o := owners[i]; o != "" && leases[o] == nil {
			leases[o] = pipe.Exists(l.ctx, l.leaseKey(o))
		}
	}
	if err := l.ask(l.ctx, pipe); err != nil {
		return err
	}
	for i, f := range list {
		alive := leases[owners[i]]
		f.checked(readMeta(hashes[i].Val()), owners[i], alive == nil || alive.Val() == 1)
		l.greet(f)
	}
	return nil
}
