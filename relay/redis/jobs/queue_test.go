package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/relay"
	"weir/relay/redis/redistest"
)

// However many begin at once, there is one group and one era.
func TestGroupIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	eras := make([]string, 12)
	var all sync.WaitGroup
	for i := range eras {
		p := newProcess(t, s, Options{})
		all.Go(func() {
			era, err := p.queue.begin(within(t))
			if eras[i] = era; err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, era := range eras {
		if era == "" || era != eras[0] {
			t.Fatalf("eras %q", eras)
		}
	}
	if got := s.Do("XINFO GROUPS weir:{jobs}"); !strings.HasPrefix(got, "*1\r\n") {
		t.Errorf("%q", got)
	}
}

// A job is run by exactly one worker, with what was put, and leaves nothing.
func TestEachJobOnce(t *testing.T) {
	t.Parallel()
	const jobs, workers = 200, 4
	s := redistest.Start(t)
	var r runner
	for range workers {
		newWorker(t, s, Options{Places: 7}, &r)
	}
	edges := []*process{newProcess(t, s, Options{}), newProcess(t, s, Options{})}
	var all sync.WaitGroup
	for i, e := range edges {
		all.Go(func() {
			for n := range jobs / len(edges) {
				e.put(fmt.Sprintf("s%d-%d", i, n))
			}
		})
	}
	all.Wait()
	until(t, "all jobs are run", func() bool { return r.runs() >= jobs })
	empty(t, s)
	seen := map[string]int{}
	for _, task := range r.list() {
		waited, known := task.Waited.Get()
		if seen[task.Stream]++; !known || task.Runs != 1 || string(task.Data) != "data of "+task.Stream || waited < 0 || waited > limit {
			t.Errorf("%+v", task)
		}
	}
	for stream, n := range seen {
		if n != 1 {
			t.Errorf("%s was run %d times", stream, n)
		}
	}
	if len(seen) != jobs {
		t.Errorf("%d jobs of %d", len(seen), jobs)
	}
}

// A queue without place says so, and leaves nothing of what it refused. Jobs that
// run do not count.
func TestFull(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	h := holding(nil)
	w := newWorker(t, s, Options{Places: 1}, h)
	e := newProcess(t, s, Options{Waiting: 2})
	e.put("running")
	until(t, "one runs", func() bool { return w.work.Running() == 1 })
	ticket := e.put("a")
	e.put("b")
	for range 3 {
		if _, err := e.queue.Put(within(t), relay.Job{Stream: "c", Head: []byte("h")}); !errors.Is(err, relay.ErrQueueFull) {
			t.Fatalf("%v", err)
		}
	}
	if _, err := e.log.Stat(within(t), "c"); !errors.Is(err, relay.ErrGone) {
		t.Errorf("of what was refused there is %v", err)
	}
	if waiting, taken, err := e.queue.Depth(within(t)); waiting != 2 || taken != 1 || err != nil {
		t.Errorf("%d wait, %d are taken, %v", waiting, taken, err)
	}
	if back, err := e.queue.Recall(within(t), "a", ticket); !back || err != nil {
		t.Errorf("%v %v", back, err)
	}
	e.put("c")
	h.open()
	until(t, "the three are run", func() bool { return h.runs() == 3 })
	empty(t, s)
}

// While Redis is away a job is refused at once, and nothing is in the queue.
func TestPutWhileAway(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := newProcess(t, s, Options{})
	e.cable.sever()
	until(t, "the outage is seen", func() bool { return !e.log.Up() })
	if _, err := e.queue.Put(within(t), relay.Job{Stream: "a"}); !errors.Is(err, relay.ErrDown) {
		t.Errorf("%v", err)
	}
	if _, _, err := e.queue.Depth(within(t)); !errors.Is(err, relay.ErrDown) {
		t.Errorf("%v", err)
	}
	if back, err := e.queue.Recall(within(t), "a", "1-1"); back || !errors.Is(err, relay.ErrDown) {
		t.Errorf("taken back: %v, %v", back, err)
	}
	if err := e.queue.Leave(within(t), "a", "1-1"); !errors.Is(err, relay.ErrDown) {
		t.Errorf("%v", err)
	}
	e.cable.mend()
	until(t, "it is back", e.log.Up)
	var r runner
	newWorker(t, s, Options{}, &r)
	e.put("b")
	until(t, "a job is run", func() bool { return r.runs() == 1 })
	if r.list()[0].Stream != "b" {
		t.Errorf("%+v", r.list())
	}
}

// What was taken back while it waited is never run; what runs is told.
func TestCancelled(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := newProcess(t, s, Options{})
	if back, err := e.queue.Recall(within(t), "recalled", e.put("recalled")); !back || err != nil {
		t.Errorf("%v %v", back, err)
	}
	if err := e.queue.Leave(within(t), "left", e.put("left")); err != nil {
		t.Error(err)
	}
	if got := s.Do("XLEN weir:{jobs}"); !strings.HasPrefix(got, ":0") {
		t.Errorf("%q wait", got)
	}
	h := holding(nil)
	w := newWorker(t, s, Options{}, h)
	ticket := e.put("taken")
	until(t, "it runs", func() bool { return h.runs() == 1 })
	if back, err := e.queue.Recall(within(t), "taken", ticket); back || err != nil {
		t.Errorf("%v %v", back, err)
	}
	if err := e.queue.Leave(within(t), "taken", ticket); err != nil {
		t.Error(err)
	}
	until(t, "its worker is told", func() bool { return len(h.left()) == 1 && h.left()[0] == "taken" })
	if h.runs() != 1 || w.work.Running() != 1 {
		t.Errorf("%+v", h.list())
	}
}

// A job that nobody waits for any more is not run: its stream's time is over, or
// the instance that put it is gone.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e, gone := newProcess(t, s, Options{}), newProcess(t, s, Options{})
	e.put("expired")
	s.Do("PEXPIRE weir:{expired}:m 1")
	gone.put("orphan")
	if err := gone.log.Close(); err != nil {
		t.Fatal(err)
	}
	e.put("good")
	until(t, "its time is over", func() bool { return strings.HasPrefix(s.Do("EXISTS weir:{expired}:m"), ":0") })
	var r runner
	w := newWorker(t, s, Options{}, &r)
	until(t, "two are dropped", func() bool { return w.drops("gone") == 2 })
	empty(t, s)
	until(t, "the other is run", func() bool { return r.runs() == 1 })
	if r.list()[0].Stream != "good" {
		t.Errorf("%+v", r.list())
	}
	if _, err := e.log.Stat(within(t), "orphan"); !errors.Is(err, relay.ErrGone) {
		t.Errorf("%v", err)
	}
}

// What is no job is dropped and hinders nothing; the data of one may be anything.
func TestBadEntries(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := newProcess(t, s, Options{})
	for _, entry := range []string{`x y`, `s ""`, `s "a b"`, `s "{x}:m"`, `s "../.."`, `d data`, `s "` + strings.Repeat("a", 200) + `"`} {
		s.Do("XADD weir:{jobs} * " + entry)
	}
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	if _, err := e.queue.Put(within(t), relay.Job{Stream: "bytes", Data: every}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.queue.Put(within(t), relay.Job{Stream: "nothing"}); err != nil {
		t.Fatal(err)
	}
	var r runner
	w := newWorker(t, s, Options{}, &r)
	until(t, "both jobs are run", func() bool { return r.runs() == 2 })
	empty(t, s)
	for _, task := range r.list() {
		if task.Stream == "bytes" && string(task.Data) != string(every) || task.Stream == "nothing" && len(task.Data) > 0 {
			t.Errorf("%+v", task)
		}
	}
	if n := w.drops("bad"); n != 7 {
		t.Errorf("%d were bad, of 7", n)
	}
}

// A worker that drains finishes what it has, takes nothing more, and one that is
// closed leaves nothing that is its own.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	h := holding(nil)
	w := newWorker(t, s, Options{}, h)
	e := newProcess(t, s, Options{})
	e.put("a")
	until(t, "it runs", func() bool { return h.runs() == 1 })
	short, stop := context.WithTimeout(t.Context(), 2*lease)
	defer stop()
	if err := w.work.Drain(short); err == nil || !strings.Contains(err.Error(), "1 jobs") {
		t.Errorf("%v", err)
	}
	e.put("b")
	var other runner
	newWorker(t, s, Options{}, &other)
	until(t, "the other takes it", func() bool { return other.runs() == 1 })
	if cause, ended := h.end("a"); ended || w.work.Running() != 1 {
		t.Errorf("its job ended with %v, %d run", cause, w.work.Running())
	}
	h.open()
	if err := w.work.Drain(within(t)); err != nil {
		t.Error(err)
	}
	w.work.Close()
	empty(t, s)
	if got := s.Do("XINFO CONSUMERS weir:{jobs} workers"); strings.Contains(got, w.log.Instance()) {
		t.Errorf("its name stays: %q", got)
	}
	if h.runs() != 1 || other.runs() != 1 {
		t.Errorf("%+v %+v", h.list(), other.list())
	}
}

// A Redis that hangs holds nobody for longer than asked who drains or closes.
func TestEndsThoughRedisHangs(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	var r runner
	w := newWorker(t, s, Options{}, &r)
	newProcess(t, s, Options{}).put("a")
	until(t, "it takes jobs", func() bool { return r.runs() == 1 })
	s.Freeze()
	defer s.Thaw()
	begin := time.Now()
	short, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	_ = w.work.Drain(short) // it may have nothing to wait for
	w.work.Close()
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("it took %s", took)
	}
}

// The names of workers that were killed do not pile up.
func TestNamesOfTheDeadGo(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := newProcess(t, s, Options{})
	if _, err := e.queue.begin(within(t)); err != nil {
		t.Fatal(err)
	}
	s.Do("XGROUP CREATECONSUMER weir:{jobs} workers dead")
	e.put("a")
	s.Do("XREADGROUP GROUP workers busy COUNT 1 STREAMS weir:{jobs} >")
	for _, c := range []struct {
		idle time.Duration
		want string
	}{{unseen, "busy dead"}, {0, "busy"}} {
		if err := e.queue.sweep(within(t), c.idle); err != nil {
			t.Fatal(err)
		}
		got := s.Do("XINFO CONSUMERS weir:{jobs} workers")
		for _, name := range []string{"busy", "dead"} {
			if strings.Contains(got, name) != strings.Contains(c.want, name) {
				t.Errorf("of those not seen for %s there remain %q", c.idle, got)
			}
		}
	}
}
