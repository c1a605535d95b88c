package redis

import (
	"fmt"
	"testing"
	"time"

	"weir/relay"
	"weir/relay/redis/redistest"
	"weir/relay/relaytest"
)

func TestClusterKeepsThePromises(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, false)
	for _, spread := range []bool{false, true} {
		t.Run(map[bool]string{false: "log", true: "spread"}[spread], func(t *testing.T) {
			var before interface{ Close() error }
			relaytest.Run(t, func(t testing.TB, b relaytest.Bounds) relay.Log {
				if before != nil {
					_ = before.Close()
				}
				far, err := New(Options{URL: c.URL(), Prefix: fmt.Sprint("t", serial.Add(1)), Bytes: b.Bytes, Events: b.Events, Streams: b.Streams, Readers: b.Readers})
				if err != nil {
					t.Fatal(err)
				}
				if !spread {
					before = far
					t.Cleanup(func() { _ = far.Close() })
					return far
				}
				s := NewSpread(relay.NewMemory(relay.MemoryOptions{Bytes: b.Bytes, Events: b.Events, Streams: b.Streams, Readers: b.Readers}), far)
				before = s
				t.Cleanup(func() { _ = s.Close() })
				return s
			})
		})
	}
}

// An instance that comes has lost nothing, and one that leaves is gone at once,
// in a cluster too.
func TestClusterComeAndLeave(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, false)
	o := Options{URL: c.URL(), Lease: limit, Check: 100 * time.Millisecond}
	lostNothing(t, o, 10) // which knows one of the masters before the others
	b := newInstance(t, o, relay.MemoryOptions{})
	for range 5 { // keys of an instance fall into the same slot once in 16,384 times
		a := newInstance(t, o, relay.MemoryOptions{})
		until(t, "it holds its lease", a.far.holds)
		if alive, err := b.far.Alive(within(t), a.far.Instance()); err != nil || !alive {
			t.Fatalf("before it leaves: %v, %v", alive, err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if alive, err := b.far.Alive(within(t), a.far.Instance()); err != nil || alive {
			t.Errorf("after it left: %v, %v", alive, err)
		}
	}
}

// A slot that moves to another node in the middle of its stream loses nothing:
// neither while half of its keys are there nor afterwards.
func TestClusterMovesASlot(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, false)
	o := Options{URL: c.URL(), Lease: 1200 * time.Millisecond, Check: 100 * time.Millisecond, Outage: limit}
	a, b := newInstance(t, o, relay.MemoryOptions{}), newInstance(t, o, relay.MemoryOptions{})
	begin(t, a, "s")
	write(t, a, "s", 1, 100, false)
	copiedTo(t, b, "s", 100)
	early := follow(t, b, "s", relay.Position{})
	slot := c.Slot("weir:{s}:m")
	from := c.Master(slot)
	c.Move(slot, from, (from+1)%3, func() {
		write(t, a, "s", 101, 200, false)
		time.Sleep(time.Second) // what is asked of half a slot is answered TRYAGAIN
	})
	write(t, a, "s", 201, 300, false)
	copiedTo(t, b, "s", 300)
	c.Move(slot, (from+1)%3, from, func() {})
	write(t, a, "s", 301, 400, true)
	(<-early).exact(t, 1, 400)
	(<-follow(t, b, "s", relay.Position{Offset: 150})).exact(t, 151, 400)
	if n := a.seen.dropped.Load(); n != 0 {
		t.Errorf("%d entries were dropped", n)
	}
}

// A failover of one shard that loses entries: as TestFailoverLosesNothing, and
// the streams of the other shards go on.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, true)
	o := Options{URL: c.URL(), Lease: 3 * time.Second, Check: 100 * time.Millisecond, Outage: limit}
	a, b := newInstance(t, o, relay.MemoryOptions{}), newInstance(t, o, relay.MemoryOptions{})
	streams := map[string]int{} // its shard
	for i := 0; len(streams) < 9; i++ {
		stream := fmt.Sprint("s", i)
		shard := c.Master(c.Slot("weir:{" + stream + "}:m"))
		streams[stream] = shard
		begin(t, a, stream)
		write(t, a, stream, 1, 50, false)
		copiedTo(t, b, stream, 50)
	}
	shard := streams["s0"]
	c.Sync(shard)
	c.Detach(shard)
	early := map[string]<-chan reading{}
	for stream := range streams {
		early[stream] = follow(t, b, stream, relay.Position{})
		write(t, a, stream, 51, 100, false)
		copiedTo(t, b, stream, 100)
	}
	c.KillMaster(shard)
	for stream := range streams {
		write(t, a, stream, 101, 150, true)
	}
	for stream := range streams {
		(<-early[stream]).exact(t, 1, 150)
		copiedTo(t, b, stream, 150)
		(<-follow(t, b, stream, relay.Position{Offset: 20})).exact(t, 21, 150)
	}
	if n := a.seen.dropped.Load(); n != 0 {
		t.Errorf("%d entries were dropped", n)
	}
	t.Log(a.log.count("redis is away"), "outages of", a.log.count("another redis is the master"), "failovers")
}
