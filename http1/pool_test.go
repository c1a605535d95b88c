package http1

import (
	"testing"
	"time"
)

// held is a carrier that remembers what became of it.
type held struct{ good, closed bool }

func (h *held) Usable() bool { return h.good }
func (h *held) Close()       { h.closed = true }

func TestPoolForgetsOldAndDeadConnections(t *testing.T) {
	p := Pool[*held]{Limit: 2}
	old, dead, good, over := &held{good: true}, &held{}, &held{good: true}, &held{good: true}
	p.Put("a", old)
	p.idle["a"][0].since = time.Now().Add(-2 * MaxIdle)
	if _, ok := p.Get("a"); ok || !old.closed {
		t.Error("a connection idle for too long was lent, or not closed")
	}
	if p.Put("a", dead); !dead.closed {
		t.Error("a dead connection was kept")
	}
	p.Put("a", good)
	p.Put("a", &held{good: true})
	if p.Put("a", over); !over.closed {
		t.Error("more than the limit was kept")
	}
	if _, ok := p.Get("b"); ok {
		t.Error("a connection was lent for another key")
	}
	p.idle["a"][0].since = time.Now().Add(-2 * MaxIdle)
	if p.expire(); !good.closed || len(p.idle["a"]) != 1 {
		t.Errorf("expired: closed %t, %d left", good.closed, len(p.idle["a"]))
	}
	p.Close()
	last := &held{good: true}
	if p.Put("a", last); !last.closed {
		t.Error("a closed pool keeps connections")
	}
}
