package redis

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/relay"
	"weir/relay/redis/redistest"
)

// expiry is how long Redis keeps a key, 0 where it has none of the name.
func expiry(t *testing.T, s *redistest.Server, key string) time.Duration {
	t.Helper()
	ms, err := strconv.ParseInt(strings.Trim(s.Do("PTTL "+key), ":\r\n"), 10, 64)
	if err != nil || ms == -1 {
		t.Fatalf("%s has no expiry: %d, %v", key, ms, err)
	}
	return max(time.Duration(ms)*time.Millisecond, 0)
}

// A writer that comes late makes a stream again that was dropped, as a private
// one that its reader has done with. Nobody will read it or end it: it goes as
// soon as one that has ended.
func TestLateWriterLeavesNothing(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	o := quickly(s)
	o.TTL, o.Lease = 2*time.Second, 300*time.Millisecond
	far, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWaiting(relay.NewMemory(relay.MemoryOptions{}), far)
	t.Cleanup(func() { _ = w.Close() })
	b := newInstance(t, o, relay.MemoryOptions{})
	begin(t, w, "s")
	write(t, w, "s", 1, 5, false)
	copiedTo(t, b, "s", 5)
	if err := b.Drop(within(t), "s"); err != nil {
		t.Fatal(err)
	}
	write(t, w, "s", 6, 7, false)
	until(t, "the late entries are there", func() bool { return expiry(t, s, "weir:{s}:m") > 0 })
	w.Forget("s") // the job is another's
	for _, key := range []string{"weir:{s}:m", "weir:{s}:s"} {
		if d := expiry(t, s, key); d > 10*o.Lease {
			t.Errorf("%s stays for %s", key, d)
		}
	}
	until(t, "nothing is left", func() bool { return expiry(t, s, "weir:{s}:m")+expiry(t, s, "weir:{s}:s") == 0 })
}

// A stream whose writer is silent for longer than that, and lives, is kept.
func TestSilentStreamIsKept(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	o := quickly(s)
	o.TTL, o.Lease = time.Second, 300*time.Millisecond
	a, b := newInstance(t, o, relay.MemoryOptions{}), newInstance(t, o, relay.MemoryOptions{})
	for _, stream := range []string{"begun", "empty"} {
		begin(t, a, stream)
	}
	write(t, a, "begun", 1, 5, false)
	copiedTo(t, b, "begun", 5)
	copiedTo(t, b, "empty", 0)
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		for _, stream := range []string{"begun", "empty"} {
			if _, err := b.far.Stat(within(t), stream); err != nil {
				t.Fatalf("%s: %v", stream, err)
			}
		}
	}
	write(t, a, "begun", 6, 7, true)
	write(t, a, "empty", 1, 1, true)
	(<-follow(t, b, "begun", relay.Position{})).exact(t, 1, 7)
	(<-follow(t, b, "empty", relay.Position{})).exact(t, 1, 1)
	if n := a.seen.lost.Load(); n != 0 {
		t.Errorf("%d entries were written again", n)
	}
}

// What was dropped while Redis was well does not come back with it.
func TestDroppedStaysDropped(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	o := quickly(s)
	o.Lease = 10 * time.Second
	a, b := newInstance(t, o, relay.MemoryOptions{}), newInstance(t, o, relay.MemoryOptions{})
	for _, stream := range []string{"s", "kept"} {
		begin(t, a, stream)
		write(t, a, stream, 1, 5, true)
		copiedTo(t, b, stream, 5)
	}
	until(t, "all is copied", func() bool { n, _ := a.Usage(); return n == 0 })
	if err := b.Drop(within(t), "s"); err != nil {
		t.Fatal(err)
	}
	before := a.seen.exchanges.Load()
	s.Freeze()
	_, err := a.far.Stat(within(t), "kept")
	s.Thaw()
	if !isDown(err) {
		t.Fatalf("a Redis that hangs: %v", err)
	}
	until(t, "what ended is compared", func() bool { return a.seen.exchanges.Load() > before })
	if err := a.Flush(within(t)); err != nil {
		t.Fatal(err)
	}
	if d := expiry(t, s, "weir:{s}:m"); d != 0 {
		t.Errorf("the dropped stream is there again, for %s", d)
	}
	(<-follow(t, b, "kept", relay.Position{})).exact(t, 1, 5)
}
