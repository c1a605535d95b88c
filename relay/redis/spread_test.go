package redis

import (
	"fmt"
	"testing"

	"weir/relay"
	"weir/relay/redis/redistest"
	"weir/relay/relaytest"
)

var _ relay.Shared = (*Spread)(nil)

func TestSpreadKeepsThePromises(t *testing.T) {
	s := redistest.Start(t)
	var before *Spread
	relaytest.Run(t, func(t testing.TB, b relaytest.Bounds) relay.Log {
		if before != nil {
			_ = before.Close()
		}
		far := opened(t, s, Options{Prefix: fmt.Sprint("t", serial.Add(1)), Bytes: b.Bytes, Events: b.Events, Streams: b.Streams})
		near := relay.NewMemory(relay.MemoryOptions{Bytes: b.Bytes, Events: b.Events, Streams: b.Streams, Readers: b.Readers})
		before = NewSpread(near, far)
		now := before
		t.Cleanup(func() { _ = now.Close() })
		return before
	})
}
