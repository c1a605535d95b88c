package relay_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"weir/relay"
	"weir/relay/relaytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemoryKeepsThePromises(t *testing.T) {
	relaytest.Run(t, func(t testing.TB, b relaytest.Bounds) relay.Log {
		m := relay.NewMemory(relay.MemoryOptions{Bytes: b.Bytes, Events: b.Events, Streams: b.Streams, Readers: b.Readers})
		t.Cleanup(func() { _ = m.Close() })
		return m
	})
}

func entry(s string) relay.Entry { return relay.Entry{Frame: []byte(s)} }

func last(s string) relay.Entry { return relay.Entry{Frame: []byte(s), Terminal: true} }

func put(t *testing.T, m *relay.Memory, stream string, entries ...relay.Entry) {
	t.Helper()
	for _, e := range entries {
		if _, err := m.Append(t.Context(), stream, e); err != nil {
			t.Fatal(err)
		}
	}
}

func start(t *testing.T, m *relay.Memory, stream string) {
	t.Helper()
	if _, err := m.Open(t.Context(), stream, nil); err != nil {
		t.Fatal(err)
	}
}

// drain reads all that follows offset 0 and returns how many and why it ended.
func drain(ctx context.Context, m *relay.Memory, stream string) (n int, err error) {
	for _, err := range m.After(ctx, stream, relay.Position{}) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func known(t *testing.T, m *relay.Memory, stream string) bool {
	_, err := m.Stat(t.Context(), stream)
	if err != nil && !errors.Is(err, relay.ErrGone) {
		t.Fatal(err)
	}
	return err == nil
}

func TestStreamsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := relay.NewMemory(relay.MemoryOptions{TTL: time.Minute, Idle: time.Hour})
		start(t, m, "ended")
		start(t, m, "silent")
		start(t, m, "speaking")
		put(t, m, "ended", entry("a"), last("b"))
		time.Sleep(time.Minute - time.Second)
		if !known(t, m, "ended") {
			t.Error("an ended stream went before its time")
		}
		time.Sleep(2 * time.Second)
		if known(t, m, "ended") || !known(t, m, "silent") {
			t.Error("an ended stream lives for its TTL, a running one longer")
		}
		time.Sleep(30 * time.Minute)
		put(t, m, "speaking", entry("a"))
		time.Sleep(30 * time.Minute)
		if known(t, m, "silent") || !known(t, m, "speaking") {
			t.Error("a stream without a writer lives for its idle time after the newest entry")
		}
		time.Sleep(31 * time.Minute)
		if known(t, m, "speaking") {
			t.Error("the idle time never came")
		}
		if n, bytes := m.Usage(); n != 0 || bytes != 0 {
			t.Errorf("%d streams, %d bytes after all expired", n, bytes)
		}
		_ = m.Close()
	})
}

func TestAReaderOfAnExpiredStreamIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := relay.NewMemory(relay.MemoryOptions{Idle: time.Minute})
		start(t, m, "s")
		put(t, m, "s", entry("a"))
		n, err := drain(t.Context(), m, "s") // waits until the stream goes
		if n != 1 || !errors.Is(err, relay.ErrGone) {
			t.Errorf("%d entries, %v; want one, then gone", n, err)
		}
		start(t, m, "s") // a new generation
		if _, err := m.Append(t.Context(), "s", relay.Entry{Position: relay.Position{Epoch: "0ld"}}); !errors.Is(err, relay.ErrFenced) {
			t.Errorf("the old writer wrote into the new generation: %v", err)
		}
		_ = m.Close()
	})
}

func TestCloseEndsReaders(t *testing.T) {
	m := relay.NewMemory(relay.MemoryOptions{})
	start(t, m, "s")
	put(t, m, "s", entry("a"))
	done := make(chan error)
	go func() {
		_, err := drain(context.Background(), m, "s")
		done <- err
	}()
	_ = m.Close()
	if err := <-done; !errors.Is(err, relay.ErrGone) {
		t.Errorf("the reader ended with %v", err)
	}
	if _, err := m.Open(t.Context(), "t", nil); err == nil {
		t.Error("a closed log opened a stream")
	}
}

func TestEndedStreamsMakeRoomFirst(t *testing.T) {
	const size = 1000 - relay.EntryCost
	m := relay.NewMemory(relay.MemoryOptions{Total: 5000})
	defer m.Close()
	for _, id := range []string{"old", "young", "running"} {
		start(t, m, id)
	}
	put(t, m, "old", last(strings.Repeat("x", size)))
	put(t, m, "young", last(strings.Repeat("x", size)))
	for i := range 3 {
		put(t, m, "running", entry(strings.Repeat("x", size)))
		if !known(t, m, "old") {
			t.Fatalf("an ended stream went at %d of 5 entries", i+3)
		}
	}
	put(t, m, "running", entry(strings.Repeat("x", size)))
	if known(t, m, "old") || !known(t, m, "young") {
		t.Error("the longest ended stream goes first, and no more than must")
	}
	for range 10 {
		put(t, m, "running", entry(strings.Repeat("x", size)))
		if _, bytes := m.Usage(); bytes > 5000 {
			t.Fatalf("%d bytes, over the bound", bytes)
		}
	}
	s, err := m.Stat(t.Context(), "running")
	if err != nil || s.First.Offset != 9 || s.Last.Offset != 14 && known(t, m, "young") {
		t.Errorf("running holds %d to %d, %v; want the newest five", s.First.Offset+1, s.Last.Offset, err)
	}
}

// TestMemoryIsBounded floods the log and looks at the heap, not at the log's
// own accounts.
func TestMemoryIsBounded(t *testing.T) {
	m := relay.NewMemory(relay.MemoryOptions{Bytes: 1 << 20, Total: 8 << 20, Streams: 64})
	defer m.Close()
	for i := range 256 {
		id := fmt.Sprint("s", i)
		start(t, m, id)
		for range 4000 {
			put(t, m, id, entry("data: {\"choices\":[{\"delta\":{\"content\":\"word\"}}]}\n\n"))
		}
		put(t, m, id, last("data: [DONE]\n\n"))
	}
	runtime.GC()
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	if after.HeapAlloc > 64<<20 {
		t.Errorf("the heap is %d MiB for a log of 8 MiB", after.HeapAlloc>>20)
	}
	if n, bytes := m.Usage(); n > 64 || bytes > 8<<20 || bytes < 4<<20 {
		t.Errorf("%d streams, %d bytes; the bounds are 64 and %d", n, bytes, 8<<20)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, readers := range []int{0, 1, 4} {
		b.Run(fmt.Sprint(readers, " readers"), func(b *testing.B) {
			m := relay.NewMemory(relay.MemoryOptions{})
			defer m.Close()
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			if _, err := m.Open(ctx, "s", nil); err != nil {
				b.Fatal(err)
			}
			for range readers {
				go func() { _, _ = drain(ctx, m, "s") }()
			}
			e := relay.Entry{Frame: make([]byte, 200)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Append(ctx, "s", e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
