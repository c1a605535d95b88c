package redis

import (
	"fmt"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"weir/relay"
	"weir/relay/redis/redistest"
	"weir/relay/relaytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serial names the logs of a test that share a server.
var serial atomic.Int64

// opened makes a log that is closed with the test.
func opened(t testing.TB, s *redistest.Server, o Options) *Log {
	t.Helper()
	o.URL = s.URL()
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestLogKeepsThePromises(t *testing.T) {
	s := redistest.Start(t)
	var before *Log // a drawn case makes a hundred of them
	relaytest.Run(t, func(t testing.TB, b relaytest.Bounds) relay.Log {
		if before != nil {
			_ = before.Close()
		}
		before = opened(t, s, Options{Prefix: fmt.Sprint("t", serial.Add(1)), Bytes: b.Bytes, Events: b.Events, Streams: b.Streams, Readers: b.Readers})
		return before
	})
}
