package redis

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"weir/relay"
	"weir/relay/redis/redistest"
)

// A failover to a replica that lags loses what Redis had already taken. The
// owner's memory still has it: streams that run and streams that have ended are
// whole again, for readers that wait and for those that come.
func TestFailoverLosesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		sentinels int
		fault     func(g *redistest.Watched)
	}{
		{"the master is killed", 3, func(g *redistest.Watched) { g.Master.Kill(); g.Promote() }},
		{"the master lives", 1, func(g *redistest.Watched) { g.Failover() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := redistest.StartWatched(t, c.sentinels)
			o := Options{URL: g.URL(), Lease: 5 * time.Second, Check: 100 * time.Millisecond, Outage: limit}
			a, b := newInstance(t, o, relay.MemoryOptions{}), newInstance(t, o, relay.MemoryOptions{})
			runs := begin(t, a, "runs")
			write(t, a, "runs", 1, 50, false)
			for _, stream := range []string{"quiet", "ends", "whole"} {
				begin(t, a, stream)
				write(t, a, stream, 1, 50, stream == "whole")
			}
			for _, stream := range []string{"runs", "quiet", "ends", "whole"} {
				copiedTo(t, b, stream, 50)
			}
			g.Sync()
			g.Detach()
			var early []<-chan reading
			for _, stream := range []string{"runs", "quiet", "ends"} {
				early = append(early, follow(t, b, stream, relay.Position{}))
			}
			begin(t, a, "young") // of which the replica knows nothing
			write(t, a, "young", 1, 3, false)
			begin(t, a, "brief")
			write(t, a, "brief", 1, 3, true)
			write(t, a, "runs", 51, 100, false)
			write(t, a, "quiet", 51, 100, false)
			write(t, a, "ends", 51, 100, true) // its reader may have it all before the failover
			for stream, n := range map[string]int64{"runs": 100, "quiet": 100, "ends": 100, "young": 3, "brief": 3} {
				copiedTo(t, b, stream, n)
			}
			c.fault(g)
			for _, i := range []*instance{a, b} {
				until(t, "it talks to the new master", func() bool {
					port, err := i.far.client.ConfigGet(within(t), "port").Result()
					return err == nil && strings.HasSuffix(g.Replica.Addr(), ":"+port["port"])
				})
			}
			for stream, n := range map[string]int64{"runs": 100, "quiet": 100, "ends": 100, "young": 3, "brief": 3} {
				copiedTo(t, b, stream, n)
			}
			for stream, n := range map[string]int64{"ends": 100, "whole": 50, "brief": 3} {
				(<-follow(t, b, stream, relay.Position{Offset: 1})).exact(t, 2, n)
			}
			ahead := follow(t, b, "runs", relay.Position{Epoch: runs.Epoch, Offset: 90})
			write(t, a, "runs", 101, 150, true)
			write(t, a, "quiet", 101, 101, true)
			write(t, a, "young", 4, 4, true)
			for i, n := range []int64{150, 101, 100} {
				(<-early[i]).exact(t, 1, n)
			}
			(<-ahead).exact(t, 91, 150)
			(<-follow(t, b, "young", relay.Position{})).exact(t, 1, 4)
			if n := a.seen.dropped.Load(); n != 0 {
				t.Errorf("%d entries were dropped", n)
			}
			if err := a.Flush(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// What the memory has forgotten by then is a gap, and is said to be one.
func TestFailoverGap(t *testing.T) {
	t.Parallel()
	g := redistest.StartWatched(t, 1)
	o := Options{URL: g.URL(), Lease: 5 * time.Second, Check: 100 * time.Millisecond, Outage: limit}
	a, b := newInstance(t, o, relay.MemoryOptions{Events: 10}), newInstance(t, o, relay.MemoryOptions{})
	p := begin(t, a, "s")
	write(t, a, "s", 1, 8, false)
	copiedTo(t, b, "s", 8)
	g.Sync()
	g.Detach()
	reader := follow(t, b, "s", relay.Position{})
	for n := int64(9); n <= 50; n += 6 {
		write(t, a, "s", n, n+5, false)
		copiedTo(t, b, "s", n+5)
	}
	if n := a.seen.dropped.Load(); n != 0 {
		t.Fatalf("%d entries were dropped before anything happened", n)
	}
	if err := a.Flush(within(t)); err != nil { // others may see an entry before its writer knows that it is there
		t.Fatal(err)
	}
	g.Master.Kill()
	g.Promote()
	copiedTo(t, b, "s", 50)
	write(t, a, "s", 51, 52, true)
	r := <-reader // it had the others in time, or is told
	r.prefix(t, 1)
	if !errors.Is(r.err, relay.ErrGap) && (r.err != nil || len(r.got) != 52) {
		t.Errorf("%d entries, then %v", len(r.got), r.err)
	}
	p.Offset = 20
	if r := <-follow(t, b, "s", p); !errors.Is(r.err, relay.ErrGap) || len(r.got) > 0 {
		t.Errorf("after 20: %d entries, then %v", len(r.got), r.err)
	}
	p.Offset = 45
	(<-follow(t, b, "s", p)).exact(t, 46, 52)
	if lost, dropped := a.seen.lost.Load(), a.seen.dropped.Load(); lost < 42 || dropped < 32 {
		t.Errorf("%d entries counted as lost, %d as dropped", lost, dropped)
	}
}

// A Redis that does not show who it is: what it lost comes back where somebody
// follows.
func TestFailoverUnnoticed(t *testing.T) {
	t.Parallel()
	g := redistest.StartWatched(t, 1)
	for _, s := range []*redistest.Server{g.Master, g.Replica} {
		s.Do("ACL SETUSER blind on >secret ~* &* +@all -info")
	}
	o := Options{URL: strings.Replace(g.URL(), "://", "://blind:secret@", 1), Lease: 5 * time.Second, Check: 100 * time.Millisecond, Outage: limit}
	a, b := newInstance(t, o, relay.MemoryOptions{}), newInstance(t, o, relay.MemoryOptions{})
	for _, stream := range []string{"ends", "waits"} {
		begin(t, a, stream)
		write(t, a, stream, 1, 50, false)
		copiedTo(t, b, stream, 50)
	}
	g.Sync()
	g.Detach()
	for _, stream := range []string{"ends", "waits"} {
		write(t, a, stream, 51, 100, stream == "ends")
		copiedTo(t, b, stream, 100)
	}
	g.Failover()
	ends, waits := follow(t, b, "ends", relay.Position{}), follow(t, b, "waits", relay.Position{})
	(<-ends).exact(t, 1, 100)
	copiedTo(t, b, "waits", 100)
	write(t, a, "waits", 101, 101, true)
	(<-waits).exact(t, 1, 101)
}

// The end of a stream is lost, and nobody has it any more: who waits for it is
// told, though the instance that ran the stream lives.
func TestForgottenEnd(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := newInstance(t, quickly(s), relay.MemoryOptions{}), newInstance(t, quickly(s), relay.MemoryOptions{})
	begin(t, a, "s")
	write(t, a, "s", 1, 3, true)
	copiedTo(t, b, "s", 3)
	until(t, "it is copied", func() bool { n, _ := a.Usage(); return n == 0 })
	s.Do("HDEL weir:{s}:m t")
	s.Do("HSET weir:{s}:m n 2")
	s.Do("XDEL weir:{s}:s 1-3")
	_ = a.near.Drop(t.Context(), "s") // its time is over
	r := <-follow(t, b, "s", relay.Position{})
	r.prefix(t, 1)
	if !errors.Is(r.err, relay.ErrGap) {
		t.Errorf("%d entries, then %v", len(r.got), r.err)
	}
	until(t, "it is counted and logged, which may be after its reader knows", func() bool {
		return a.seen.dropped.Load() > 0 && a.log.count("ends with a gap") == 1
	})
}
