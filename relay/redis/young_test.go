package redis

import (
	"errors"
	"sync"
	"testing"

	"weir/relay"
	"weir/relay/redis/redistest"
)

// An instance that is just taking its lease has lost nothing: what is asked
// meanwhile is answered as ever.
func TestYoungInstanceLostNothing(t *testing.T) {
	lostNothing(t, quickly(redistest.Start(t)), 60)
}

func lostNothing(t *testing.T, o Options, rounds int) {
	t.Helper()
	for range rounds {
		l, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 10 {
					if _, err := l.Stat(within(t), "never"); !errors.Is(err, relay.ErrGone) {
						t.Errorf("a stream that never was: %v", err)
					}
				}
			})
		}
		all.Wait()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
