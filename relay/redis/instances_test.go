package redis

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/relay"
	"weir/relay/redis/redistest"
)

func TestAnyInstanceReads(t *testing.T) {
	s := redistest.Start(t)
	a, b := newInstance(t, quickly(s), relay.MemoryOptions{}), newInstance(t, quickly(s), relay.MemoryOptions{})
	begin(t, a, "s")
	copiedTo(t, a, "s", 0)
	early := follow(t, b, "s", relay.Position{})
	write(t, a, "s", 1, 500, false)
	copiedTo(t, a, "s", 500)
	late := follow(t, b, "s", relay.Position{Offset: 250})
	write(t, a, "s", 501, 1000, true)
	(<-early).exact(t, 1, 1000)
	(<-late).exact(t, 251, 1000)
	st, err := b.Stat(within(t), "s")
	if err != nil || !st.Ended || st.Last.Offset != 1000 || string(st.Head) != "head of s" {
		t.Errorf("Stat elsewhere: %+v, %v", st, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	(<-follow(t, b, "s", relay.Position{Epoch: st.Last.Epoch, Offset: 7})).exact(t, 8, 1000)
}

// TestClientAheadOfRedis: entries gather where nobody elsewhere waits, so a
// client may have more than Redis when it comes to another instance.
func TestClientAheadOfRedis(t *testing.T) {
	s := redistest.Start(t)
	o := quickly(s)
	o.Linger = time.Hour
	a, b := newInstance(t, o, relay.MemoryOptions{}), newInstance(t, quickly(s), relay.MemoryOptions{})
	p := begin(t, a, "s")
	copiedTo(t, a, "s", 0)
	write(t, a, "s", 1, 20, false)
	p.Offset = 20
	ahead := follow(t, b, "s", p)
	copiedTo(t, a, "s", 20) // because somebody came
	write(t, a, "s", 21, 22, true)
	(<-ahead).exact(t, 21, 22)
	p.Offset = 23
	if r := <-follow(t, b, "s", p); !errors.Is(r.err, relay.ErrGap) {
		t.Errorf("beyond the end: %v", r.err)
	}
}

// asked is an Attendant that notes what it was asked.
type asked struct {
	mu    sync.Mutex
	words []string
	stop  func(stream string)
}

func (a *asked) Stop(stream string) {
	a.note("stop " + stream)
	a.stop(stream)
}

func (a *asked) Follow(stream string, delta int) {
	a.note(map[int]string{1: "come ", -1: "leave "}[delta] + stream)
}

func (a *asked) note(s string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.words = append(a.words, s)
}

func (a *asked) has(s string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Contains(strings.Join(a.words, ","), s)
}

func TestStopFromElsewhere(t *testing.T) {
	s := redistest.Start(t)
	a, b := newInstance(t, quickly(s), relay.MemoryOptions{}), newInstance(t, quickly(s), relay.MemoryOptions{})
	told := &asked{stop: func(stream string) {
		_, _ = a.Append(t.Context(), stream, relay.Entry{Frame: frame(2), Terminal: true})
	}}
	a.Attend(told)
	begin(t, a, "s")
	write(t, a, "s", 1, 1, false)
	copiedTo(t, a, "s", 1)
	reader := follow(t, b, "s", relay.Position{})
	until(t, "the owner knows of the reader", func() bool { return told.has("come s") })
	if ended, err := b.Stop(within(t), "s"); !ended || err != nil {
		t.Errorf("Stop: %v, %v", ended, err)
	}
	(<-reader).exact(t, 1, 2)
	if _, err := b.Stop(within(t), "s"); !errors.Is(err, relay.ErrEnded) {
		t.Errorf("a second Stop: %v", err)
	}
	until(t, "the owner knows that the reader left", func() bool { return told.has("leave s") })
	if _, err := b.Stop(within(t), "unknown"); !errors.Is(err, relay.ErrGone) {
		t.Errorf("Stop of an unknown stream: %v", err)
	}
}

func TestOwnerKilled(t *testing.T) {
	s := redistest.Start(t)
	a, b := newInstance(t, quickly(s), relay.MemoryOptions{}), newInstance(t, quickly(s), relay.MemoryOptions{})
	begin(t, a, "s")
	write(t, a, "s", 1, 5, false)
	copiedTo(t, a, "s", 5)
	reader := follow(t, b, "s", relay.Position{})
	time.Sleep(3 * time.Second) // longer than any lease: a living owner that is silent is no orphan's
	select {
	case r := <-reader:
		t.Fatalf("the reader of a living owner ended: %v", r.err)
	default:
	}
	a.die()
	r := <-reader
	r.prefix(t, 1)
	if len(r.got) != 5 || !errors.Is(r.err, relay.ErrOrphaned) {
		t.Errorf("%d entries, then %v", len(r.got), r.err)
	}
	if _, err := b.Stop(within(t), "s"); !errors.Is(err, relay.ErrOrphaned) {
		t.Errorf("Stop: %v", err)
	}
}

func TestAnnounced(t *testing.T) {
	s := redistest.Start(t)
	a, b := newInstance(t, quickly(s), relay.MemoryOptions{}), newInstance(t, quickly(s), relay.MemoryOptions{})
	a.Announce("s", []byte("early"))
	a.Announce("never", []byte("early"))
	until(t, "it is announced", func() bool {
		st, err := b.Stat(within(t), "s")
		return errors.Is(err, relay.ErrPending) && string(st.Head) == "early"
	})
	type answer struct {
		state relay.State
		err   error
	}
	wait := func(stream string) <-chan answer {
		ctx, done := within(t), make(chan answer, 1)
		go func() {
			st, err := b.Await(ctx, stream)
			done <- answer{st, err}
		}()
		return done
	}
	first, second := wait("s"), wait("never")
	begin(t, a, "s")
	a.Retract("never")
	if r := <-first; r.err != nil || string(r.state.Head) != "head of s" {
		t.Errorf("Await: %+v, %v", r.state, r.err)
	}
	if r := <-second; !errors.Is(r.err, relay.ErrGone) {
		t.Errorf("Await of one that never began: %v", r.err)
	}
}
