package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/relay"
	"weir/relay/redis/redistest"
)

// wish is a job, and what its edge does about it.
type wish struct {
	stream     string
	edge       int
	runs       time.Duration
	pause      time.Duration // between the put and what follows
	then       string        // "", recall, leave
	back, full bool          // what came of that
}

func wishes(first int) *rapid.Generator[[]*wish] {
	n := first
	one := rapid.Custom(func(t *rapid.T) *wish {
		n++
		return &wish{stream: fmt.Sprintf("p%d", n), edge: rapid.IntRange(0, 1).Draw(t, "edge"),
			runs:  time.Duration(rapid.IntRange(0, 8).Draw(t, "ms it runs")) * time.Millisecond,
			pause: time.Duration(rapid.IntRange(0, 2000).Draw(t, "µs")) * time.Microsecond,
			then:  rapid.SampledFrom([]string{"", "", "recall", "leave"}).Draw(t, "then")}
	})
	return rapid.SliceOfN(one, 1, 25)
}

// Whatever comes in whatever order: what was put is run once, or was taken back
// or refused and is never run; what was left is run once at most; and nothing is
// left in the queue.
func TestOnceOrTakenBack(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	var r runner
	r.do = func(_ context.Context, task relay.Task) {
		d, err := time.ParseDuration(string(task.Data))
		if err != nil {
			t.Errorf("%+v", task)
		}
		time.Sleep(d)
	}
	for range 2 {
		newWorker(t, s, Options{Places: 3}, &r)
	}
	edges := []*process{newProcess(t, s, Options{Waiting: 8}), newProcess(t, s, Options{Waiting: 8})}
	put := 0
	rapid.Check(t, func(rt *rapid.T) {
		list := wishes(put).Draw(rt, "wishes")
		put += 1000
		before := r.runs()
		var all sync.WaitGroup
		for _, v := range list {
			all.Go(func() { v.come(t, edges[v.edge]) })
		}
		all.Wait()
		empty(t, s)
		ran := map[string]int{}
		for _, task := range r.list()[before:] {
			ran[task.Stream]++
		}
		for _, v := range list {
			least, most := 1, 1
			switch {
			case v.full, v.back:
				least, most = 0, 0
			case v.then == "leave":
				least = 0
			}
			if n := ran[v.stream]; n < least || n > most {
				rt.Fatalf("%+v was run %d times", *v, n)
			}
			delete(ran, v.stream)
		}
		if len(ran) > 0 {
			rt.Fatalf("nobody put %v", ran)
		}
	})
	for _, stream := range r.left() {
		if !slices.ContainsFunc(r.list(), func(task relay.Task) bool { return task.Stream == stream }) {
			t.Errorf("a worker was told of %s, which was never run", stream)
		}
	}
}

// come puts the job and does what follows.
func (v *wish) come(t *testing.T, e *process) {
	ctx := within(t)
	ticket, err := e.queue.Put(ctx, relay.Job{Stream: v.stream, Head: []byte("h"), Data: []byte(v.runs.String())})
	if v.full = errors.Is(err, relay.ErrQueueFull); v.full {
		return
	}
	if err != nil {
		t.Error(err)
	}
	time.Sleep(v.pause)
	switch v.then {
	case "recall":
		v.back, err = e.queue.Recall(ctx, v.stream, ticket)
	case "leave":
		err = e.queue.Leave(ctx, v.stream, ticket)
	}
	if err != nil {
		t.Error(err)
	}
}
