package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/relay"
	"weir/relay/redis/redistest"
)

// answering is a runner that opens a job's stream, says its own name and ends it.
func answering(name string, p **process) *runner {
	return &runner{do: func(_ context.Context, task relay.Task) {
		(*p).begin(task.Stream, 0)
		(*p).say(task.Stream, name, true)
	}}
}

// A worker that dies before it wrote is not noticed: another runs the job. When
// it comes back it learns that the job is another's, and cannot answer.
func TestTakenOverAndBackLate(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := newProcess(t, s, Options{})
	late := holding(nil)
	dead := newWorker(t, s, Options{}, late)
	e.put("a")
	until(t, "it runs", func() bool { return late.runs() == 1 })
	dead.cable.sever()
	var other *process
	r := answering("other", &other)
	other = newProcess(t, s, Options{})
	other.work = other.queue.Work(r)
	t.Cleanup(func() { other.work.Close() })
	if text, err := e.reading("a"); text != "other." || err != nil {
		t.Fatalf("%q %v", text, err)
	}
	if got := r.list(); len(got) != 1 || got[0].Runs != 2 || string(got[0].Data) != "data of a" || other.takeovers() != 1 {
		t.Errorf("%+v", got)
	}
	empty(t, s)
	dead.cable.mend()
	until(t, "it is told", func() bool { cause, ok := late.end("a"); return ok && errors.Is(cause, relay.ErrFenced) })
	if _, err := dead.log.Open(within(t), "a", nil); !errors.Is(err, relay.ErrExists) {
		t.Errorf("it can answer: %v", err)
	}
	if text, err := e.reading("a"); text != "other." || err != nil {
		t.Errorf("%q %v", text, err)
	}
	until(t, "it has its places again", func() bool { return dead.work.Running() == 0 })
	if late.runs() != 1 || r.runs() != 1 {
		t.Errorf("%+v %+v", late.list(), r.list())
	}
}

// A worker that comes back while the other still works finds its entries refused
// though it opened the stream first.
func TestOpenedThenTakenOver(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := newProcess(t, s, Options{})
	dead, late := beginning(t, s, 0)
	e.put("a")
	if _, err := e.log.Await(within(t), "a"); err != nil {
		t.Fatal(err)
	}
	dead.cable.sever()
	other, now := beginning(t, s, 1)
	until(t, "it is taken over", func() bool { return now.runs() == 1 })
	dead.cable.mend()
	until(t, "it is told", func() bool { cause, ok := late.end("a"); return ok && errors.Is(cause, relay.ErrFenced) })
	if _, err := dead.log.Append(within(t), "a", relay.Entry{Frame: []byte("late"), Terminal: true}); err == nil {
		t.Error("it can answer")
	}
	other.say("a", "end", true)
	if text, err := e.reading("a"); text != "word.end." || err != nil {
		t.Errorf("%q %v", text, err)
	}
}

// A job of which something was written is not run again: its stream ends once.
func TestLostAfterOutput(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := newProcess(t, s, Options{})
	dead, h := beginning(t, s, 2)
	e.put("a")
	until(t, "it has written", func() bool { st, err := e.log.Stat(within(t), "a"); return err == nil && st.Last.Offset == 2 })
	dead.cable.sever()
	var r runner
	w := newWorker(t, s, Options{}, &r)
	until(t, "it is given up", func() bool { return w.drops("lost") == 1 })
	if text, err := e.reading("a"); text != "word.word.lost." || err != nil {
		t.Errorf("%q %v", text, err)
	}
	empty(t, s)
	if r.runs() != 0 {
		t.Errorf("it was run again: %+v", r.list())
	}
	dead.cable.mend()
	until(t, "it is told", func() bool { cause, ok := h.end("a"); return ok && errors.Is(cause, relay.ErrFenced) })
}

// How often a job was taken is told to each that takes it, so that what takes
// workers down can be given up.
func TestRunsAreCounted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := newProcess(t, s, Options{})
	e.put("a")
	for n := 1; n <= 4; n++ {
		h := holding(nil)
		w := newWorker(t, s, Options{}, h)
		until(t, "it is taken", func() bool { return h.runs() == 1 })
		if got := h.list()[0].Runs; got != n {
			t.Fatalf("it was taken %d times, and is told %d", n, got)
		}
		for end := time.Now().Add(lease / 2); time.Now().Before(end); time.Sleep(lease / 6) {
			w.log.Up() // it is renewed meanwhile, which is no run
		}
		w.cable.sever()
	}
}

// A Redis that was away, or hung, for longer than a lease loses nobody's job:
// that nobody renewed was nobody's fault.
func TestNothingIsTakenAfterAnOutage(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"killed, with its data", "frozen"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
			e := newProcess(t, s, Options{})
			workers := make([]*process, 4)
			runs := make([]*holder, len(workers))
			for i := range workers {
				runs[i] = holding(func(task relay.Task) {
					if strings.HasPrefix(task.Stream, "said") {
						workers[i].begin(task.Stream, 1)
					}
				})
				workers[i] = newProcess(t, s, Options{Places: 6})
				workers[i].work = workers[i].queue.Work(runs[i])
				t.Cleanup(func() { runs[i].open(); workers[i].work.Close() })
			}
			running := func() (n int) {
				for _, h := range runs {
					n += h.runs()
				}
				return n
			}
			const each = 6
			for n := range each {
				e.put(fmt.Sprint("said", n))
				e.put(fmt.Sprint("silent", n))
			}
			until(t, "all run", func() bool { return running() == 2*each })
			until(t, "they have written", func() bool {
				for n := range each {
					if st, err := e.log.Stat(within(t), fmt.Sprint("said", n)); err != nil || st.Last.Offset != 1 {
						return false
					}
				}
				return true
			})
			if how == "frozen" {
				s.Freeze()
				time.Sleep(2 * lease)
				s.Thaw()
			} else {
				s.Kill()
				time.Sleep(2 * lease)
				s.Run()
			}
			until(t, "it is back", func() bool {
				for _, w := range workers {
					if ok, err := w.log.Alive(within(t), w.log.Instance()); !ok || err != nil || !w.log.Up() {
						return false
					}
				}
				return true
			})
			time.Sleep(2 * lease) // for what must not happen
			for i, w := range workers {
				if w.takeovers()+w.drops("lost") > 0 {
					t.Errorf("worker %d took %d over and gave %d up", i, w.takeovers(), w.drops("lost"))
				}
			}
			if running() != 2*each {
				t.Errorf("%d runs of %d jobs", running(), 2*each)
			}
			for _, h := range runs {
				h.open()
			}
			empty(t, s)
		})
	}
}

// A Redis that lost its content has a new queue, from which all take; what ran
// goes on.
func TestContentLost(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"FLUSHALL", "restarted empty"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			e := newProcess(t, s, Options{})
			h := holding(nil)
			w := newWorker(t, s, Options{}, h)
			e.put("before")
			until(t, "it runs", func() bool { return h.runs() == 1 })
			var r runner
			newWorker(t, s, Options{}, &r)
			if how == "FLUSHALL" {
				s.Do(how)
			} else {
				s.Restart()
			}
			until(t, "it is back", func() bool { ok, err := w.log.Alive(within(t), w.log.Instance()); return ok && err == nil })
			until(t, "a job can be put", func() bool {
				_, err := e.queue.Put(within(t), relay.Job{Stream: "after"})
				return err == nil
			})
			until(t, "it is run", func() bool { return h.runs()+r.runs() >= 2 })
			time.Sleep(2 * lease) // for what must not happen
			if cause, ended := h.end("before"); ended {
				t.Errorf("what ran before ended: %v", cause)
			}
			h.open()
			empty(t, s)
			if h.runs()+r.runs() != 2 {
				t.Errorf("%+v %+v", h.list(), r.list())
			}
		})
	}
}

// Entries that were trimmed under a worker take nothing from it. Of one that dies
// then, the readers learn by its lease.
func TestTrimmed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := newProcess(t, s, Options{})
	w, h := beginning(t, s, 1)
	e.put("a")
	until(t, "it has written", func() bool { _, err := e.log.Stat(within(t), "a"); return err == nil })
	s.Do("XTRIM weir:{jobs} MAXLEN 0")
	time.Sleep(2 * lease) // for what must not happen
	if cause, ended := h.end("a"); ended {
		t.Errorf("it ended: %v", cause)
	}
	if waiting, taken, err := e.queue.Depth(within(t)); waiting != 0 || err != nil {
		t.Errorf("%d wait, %d are taken, %v", waiting, taken, err)
	}
	w.cable.sever()
	var r runner
	newWorker(t, s, Options{}, &r)
	if _, err := e.reading("a"); !errors.Is(err, relay.ErrOrphaned) {
		t.Errorf("%v", err)
	}
	if r.runs() > 0 {
		t.Errorf("%+v", r.list())
	}
}

// What a worker has without knowing, since the answer was lost on its way, is not
// lost with the worker's name.
func TestClosedWithoutKnowing(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := newProcess(t, s, Options{})
	h := holding(nil)
	w := newWorker(t, s, Options{Places: 1}, h)
	e.put("known")
	until(t, "it runs", func() bool { return h.runs() == 1 })
	e.put("unknown")
	if got := s.Do("XREADGROUP GROUP workers " + w.log.Instance() + " COUNT 1 STREAMS weir:{jobs} >"); !strings.Contains(got, "data of unknown") {
		t.Fatalf("%q", got)
	}
	h.open()
	w.work.Close()
	var r runner
	newWorker(t, s, Options{}, &r)
	until(t, "another runs it", func() bool { return r.runs() == 1 })
	empty(t, s)
	if got := r.list()[0]; got.Stream != "unknown" || got.Runs != 2 {
		t.Errorf("%+v", got)
	}
}
