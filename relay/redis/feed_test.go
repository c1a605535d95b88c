package redis

import (
	"errors"
	"testing"
	"time"

	"weir/relay"
)

// That a stream's writer is missed says nothing of the one that took it over:
// its own lease has to be missed for as long.
func TestOrphanOfAnother(t *testing.T) {
	long := time.Now().Add(-time.Hour)
	taken := meta{owner: "new"}
	for name, hear := range map[string]func(*feed){
		"a reader finds it":                    func(f *feed) { f.found(taken) },
		"the look finds it, the old one gone":  func(f *feed) { f.checked(taken, "old", false) },
		"the look finds it, the new one alive": func(f *feed) { f.checked(taken, "new", true) },
	} {
		t.Run(name, func(t *testing.T) {
			f := &feed{owner: "old", orphan: long}
			if err := f.verdict(time.Second); !errors.Is(err, relay.ErrOrphaned) {
				t.Fatalf("the old one is missed for an hour: %v", err)
			}
			if hear(f); f.verdict(time.Second) != nil {
				t.Errorf("the new one has just begun: %v", f.verdict(time.Second))
			}
			f.checked(taken, "new", false)
			f.orphan = f.orphan.Add(-time.Hour)
			if err := f.verdict(time.Second); !errors.Is(err, relay.ErrOrphaned) {
				t.Errorf("the new one is missed too: %v", err)
			}
		})
	}
}

// A stream's new writer is told at once that it is followed.
func TestNewOwnerIsTold(t *testing.T) {
	l := &Log{o: Options{Instance: "me"}}
	l.feeds.init()
	f := &feed{stream: "s", owner: "old"}
	l.greet(f)
	f.found(meta{owner: "new"})
	l.greet(f)
	l.greet(f) // it knows
	if n := len(l.feeds.outbox); n != 2 || l.feeds.outbox[1].to != "new" {
		t.Errorf("%v", l.feeds.outbox)
	}
}
