package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"weir/relay"
	"weir/relay/redis/redistest"
)

// faults of Redis while a stream is written and followed elsewhere: nothing is
// lost as long as the owner's memory has it.
func TestFaultsLoseNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(s *redistest.Server)
	}{
		{"flushed", func(s *redistest.Server) { s.Do("FLUSHALL") }},
		{"restarted empty", func(s *redistest.Server) { s.Restart() }},
		{"subscriptions killed", func(s *redistest.Server) { s.Do("CLIENT KILL TYPE pubsub") }},
		{"connections killed", func(s *redistest.Server) { s.Do("CLIENT KILL TYPE normal") }},
		{"scripts forgotten", func(s *redistest.Server) { s.Do("SCRIPT FLUSH") }},
		{"stopped for longer than a lease", func(s *redistest.Server) { s.Freeze(); time.Sleep(3 * time.Second); s.Thaw() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := redistest.Start(t)
			a, b := newInstance(t, quickly(s), relay.MemoryOptions{}), newInstance(t, quickly(s), relay.MemoryOptions{})
			begin(t, a, "s")
			write(t, a, "s", 1, 100, false)
			copiedTo(t, a, "s", 100)
			early := follow(t, b, "s", relay.Position{})
			until(t, "the reader reads", func() bool { return len(b.far.feeds.list()) > 0 && b.far.feeds.list()[0].owned() })
			write(t, a, "s", 101, 150, false)
			start := time.Now()
			go func() { // an owner that goes on during the fault
				for n := int64(151); n <= 300; n++ {
					_, _ = a.Append(context.Background(), "s", relay.Entry{Frame: frame(n)})
					time.Sleep(time.Millisecond)
				}
			}()
			c.fault(s)
			until(t, "the owner is done", func() bool { st, _ := a.Stat(within(t), "s"); return st.Last.Offset == 300 })
			t.Logf("the fault and 150 appends took %s", time.Since(start))
			write(t, a, "s", 301, 400, true)
			(<-early).exact(t, 1, 400)
			(<-follow(t, b, "s", relay.Position{Offset: 120})).exact(t, 121, 400)
			if n := a.seen.dropped.Load(); n != 0 {
				t.Errorf("%d entries were dropped", n)
			}
		})
	}
}

// TestAppendsNeverWait: Redis hangs, and streams go on as if it were not there.
func TestAppendsNeverWait(t *testing.T) {
	s := redistest.Start(t)
	a, b := newInstance(t, quickly(s), relay.MemoryOptions{}), newInstance(t, quickly(s), relay.MemoryOptions{})
	until(t, "Redis is there", a.far.holds)
	s.Freeze()
	start := time.Now()
	for stream := range 50 {
		begin(t, a, fmt.Sprint("s", stream))
		write(t, a, fmt.Sprint("s", stream), 1, 1000, true)
	}
	if took := time.Since(start); took > 2*time.Second { // each exchange takes that long to fail
		t.Errorf("50,000 appends took %s", took)
	}
	until(t, "it is known that Redis is away", func() bool { return !a.Up() })
	(<-follow(t, a, "s7", relay.Position{Offset: 990})).exact(t, 991, 1000)
	s.Thaw()
	until(t, "it is known that Redis is back", a.Up)
	for stream := range 50 {
		copiedTo(t, a, fmt.Sprint("s", stream), 1000)
		(<-follow(t, b, fmt.Sprint("s", stream), relay.Position{})).exact(t, 1, 1000)
	}
	if n, m := a.log.count("redis is away"), a.log.count("redis is back"); n < 1 || n > 3 || m != n { // a busy machine adds outages of its own
		t.Errorf("%d and %d lines of one outage", n, m)
	}
}

// TestOverflowIsAGap: what the memory lost before Redis was back is said to be
// missing.
func TestOverflowIsAGap(t *testing.T) {
	s := redistest.Start(t)
	a, b := newInstance(t, quickly(s), relay.MemoryOptions{Events: 10}), newInstance(t, quickly(s), relay.MemoryOptions{})
	begin(t, a, "s")
	write(t, a, "s", 1, 5, false)
	copiedTo(t, a, "s", 5)
	reader := follow(t, b, "s", relay.Position{})
	until(t, "the reader reads", func() bool { return len(b.far.feeds.list()) > 0 && b.far.feeds.list()[0].owned() })
	s.Kill()
	until(t, "the outage is known", func() bool { return !a.Up() })
	write(t, a, "s", 6, 100, false)
	if err := a.Drop(t.Context(), "never"); err == nil {
		t.Error("Drop of a stream elsewhere while Redis is away")
	}
	begin(t, a, "lost")
	write(t, a, "lost", 1, 3, true)
	_ = a.near.Drop(t.Context(), "lost") // as its time being over
	s.Run()
	copiedTo(t, a, "s", 100)
	write(t, a, "s", 101, 102, true)
	r := <-reader
	r.prefix(t, 1)
	var gap *relay.GapError
	if !errors.As(r.err, &gap) || gap.First.Offset < 90 {
		t.Errorf("%d entries, then %v", len(r.got), r.err)
	}
	(<-follow(t, b, "s", relay.Position{Offset: 95})).exact(t, 96, 102)
	copiedTo(t, a, "lost", 3)
	if r := <-follow(t, b, "lost", relay.Position{}); len(r.got) > 0 || !errors.Is(r.err, relay.ErrGap) {
		t.Errorf("a stream that was lost whole: %d entries, %v", len(r.got), r.err)
	}
	until(t, "what was dropped is counted, which may be after a reader is told", func() bool { return a.seen.dropped.Load() >= 80+3 })
}

// TestEviction: Redis throws keys away as it likes; a reader has all or is told.
func TestEviction(t *testing.T) {
	s := redistest.Start(t, "--maxmemory", "2500kb", "--maxmemory-policy", "allkeys-random")
	a, b := newInstance(t, quickly(s), relay.MemoryOptions{}), newInstance(t, quickly(s), relay.MemoryOptions{})
	whole, told := 0, 0
	for n := range 60 {
		stream := fmt.Sprint("s", n)
		begin(t, a, stream)
		write(t, a, stream, 1, 1000, true)
	}
	if err := a.Flush(within(t)); err != nil && !errors.Is(err, relay.ErrDown) {
		t.Fatal(err)
	}
	for n := range 60 {
		r := <-follow(t, b, fmt.Sprint("s", n), relay.Position{})
		r.prefix(t, 1)
		switch {
		case r.err == nil && len(r.got) == 1000:
			whole++
		case errors.Is(r.err, relay.ErrGone), errors.Is(r.err, relay.ErrGap):
			told++
		default:
			t.Errorf("stream %d: %d entries, then %v", n, len(r.got), r.err)
		}
	}
	if told == 0 || whole == 0 {
		t.Errorf("%d whole, %d told: the test proves little", whole, told)
	}
}

// TestRandomCuts has readers that hop between instances at random places while
// faults come and go: every one gets the exact sequence.
func TestRandomCuts(t *testing.T) {
	const n, readers = 600, 8
	s := redistest.Start(t)
	o := quickly(s)
	o.Linger = 20 * time.Millisecond
	var all []*instance
	for range 3 {
		all = append(all, newInstance(t, o, relay.MemoryOptions{}))
	}
	begin(t, all[0], "s")
	copiedTo(t, all[0], "s", 0)
	done := make(chan error, readers)
	for seed := range uint64(readers) {
		random := rand.New(rand.NewPCG(seed, 5))
		go func() { done <- hop(within(t), all, random, n) }()
	}
	random := rand.New(rand.NewPCG(1, 6))
	for i := int64(1); i <= n; i++ {
		write(t, all[0], "s", i, i, i == n)
		time.Sleep(time.Millisecond)
		switch random.IntN(150) {
		case 0:
			s.Do("FLUSHALL")
		case 1:
			s.Do("CLIENT KILL TYPE pubsub")
		case 2:
			s.Do("CLIENT KILL TYPE normal")
		}
	}
	for range readers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// hop reads a stream whole, a random number of entries at a time, of a random
// instance each time.
func hop(ctx context.Context, all []*instance, random *rand.Rand, n int64) error {
	var p relay.Position
	for {
		left := 1 + random.IntN(60)
		for e, err := range all[random.IntN(len(all))].After(ctx, "s", p) {
			if errors.Is(err, relay.ErrGone) && ctx.Err() == nil {
				break // flushed this moment: a client comes again
			}
			if err != nil {
				return fmt.Errorf("after %+v: %w", p, err)
			}
			if e.Offset != p.Offset+1 || string(e.Frame) != string(frame(e.Offset)) {
				return fmt.Errorf("after %d came %d %q", p.Offset, e.Offset, e.Frame)
			}
			if p = e.Position; e.Terminal {
				if p.Offset != n {
					return fmt.Errorf("the end at %d of %d", p.Offset, n)
				}
				return nil
			}
			if left--; left == 0 {
				break
			}
		}
	}
}

// TestWaiting: a process whose streams are read elsewhere only is slowed by
// Redis, and told when it has been away too long.
func TestWaiting(t *testing.T) {
	s := redistest.Start(t)
	o := quickly(s)
	o.Outage = time.Second
	far, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWaiting(relay.NewMemory(relay.MemoryOptions{}), far)
	t.Cleanup(func() { _ = w.Close() })
	b := newInstance(t, quickly(s), relay.MemoryOptions{})
	begin(t, w, "s")
	until(t, "it is open in Redis", func() bool { _, err := b.Stat(within(t), "s"); return err == nil })
	reader := follow(t, b, "s", relay.Position{})
	write(t, w, "s", 1, 100, true)
	(<-reader).exact(t, 1, 100)
	begin(t, w, "long")
	s.Kill()
	big := make([]byte, 64<<10)
	for n := 0; ; n++ {
		if _, err = w.Append(within(t), "long", relay.Entry{Frame: big}); err != nil {
			break
		}
		if n > 20 {
			t.Fatal("more than a MiB is on its way to a Redis that is away")
		}
	}
	if !errors.Is(err, relay.ErrDown) {
		t.Errorf("Append: %v", err)
	}
}
