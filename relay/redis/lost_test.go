package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	"weir/relay"
	"weir/relay/redis/redistest"
)

// What a database lost is brought back, streams that have ended too. Until then
// another instance says that it cannot tell, never that there is no such stream:
// a client would believe it.
func TestLostComesBack(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(*redistest.Server)
	}{
		{"flushed", func(s *redistest.Server) { s.Do("FLUSHALL") }},
		{"restarted", (*redistest.Server).Restart},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := redistest.Start(t)
			o := quickly(s)
			o.Lease = 5 * time.Second
			a, b := newInstance(t, o, relay.MemoryOptions{}), newInstance(t, o, relay.MemoryOptions{})
			until(t, "both hold their leases", func() bool { return a.far.holds() && b.far.holds() })
			var epoch string
			for _, stream := range []string{"runs", "ended"} {
				if p := begin(t, a, stream); stream == "runs" {
					epoch = p.Epoch
				}
				write(t, a, stream, 1, 3, stream == "ended")
				copiedTo(t, b, stream, 3)
			}
			if _, err := b.Stat(within(t), "never"); !errors.Is(err, relay.ErrGone) {
				t.Errorf("before: %v", err)
			}
			c.lose(s)
			again := follow(t, b, "runs", relay.Position{Epoch: epoch, Offset: 2})
			for _, stream := range []string{"runs", "ended"} {
				state, err := b.Stat(within(t), stream)
				for ; errors.Is(err, relay.ErrDown); state, err = b.Stat(within(t), stream) {
					time.Sleep(5 * time.Millisecond)
				}
				if err != nil || state.Last.Offset != 3 || state.Ended != (stream == "ended") {
					t.Errorf("%s: %+v, %v", stream, state, err)
				}
			}
			write(t, a, "runs", 4, 5, true)
			(<-again).exact(t, 3, 5)
			until(t, "what never was is gone again", func() bool {
				_, err := b.Stat(within(t), "never")
				return errors.Is(err, relay.ErrGone)
			})
		})
	}
}

// Who interrupts its wait for a heartbeat bears an outage as long as anybody:
// what interrupts it is not the end of the stream, and the end comes in time.
func TestHeartbeatsInOutage(t *testing.T) {
	s := redistest.Start(t)
	o := quickly(s)
	o.Outage = 3 * time.Second
	a, b := newInstance(t, o, relay.MemoryOptions{}), newInstance(t, o, relay.MemoryOptions{})
	p := begin(t, a, "s")
	write(t, a, "s", 1, 3, false)
	copiedTo(t, b, "s", 3)
	p.Offset = 3
	s.Kill()
	until(t, "it is known to be away", func() bool { return !b.Up() })
	quiet := errors.New("quiet")
	began := time.Now()
	for beats := 0; ; beats++ {
		ctx, stop := context.WithTimeoutCause(within(t), 200*time.Millisecond, quiet)
		var err error
		for _, err = range b.After(ctx, "s", p) {
		}
		stop()
		if errors.Is(err, quiet) && time.Since(began) < limit {
			continue
		}
		if !errors.Is(err, relay.ErrDown) || beats < 2 || time.Since(began) < o.Outage/2 {
			t.Errorf("%v after %s and %d heartbeats", err, time.Since(began), beats)
		}
		return
	}
}
