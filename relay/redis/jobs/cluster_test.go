package jobs

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"weir/relay"
	"weir/relay/redis"
	"weir/relay/redis/redistest"
)

// inCluster is a process whose Redis is a cluster.
func inCluster(t testing.TB, c *redistest.Cluster, r relay.Runner) *process {
	t.Helper()
	p := &process{t: t, counts: &counts{dropped: map[string]int{}}}
	log, err := redis.New(redis.Options{URL: c.URL(), Lease: lease, Check: 100 * time.Millisecond, Outage: limit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	p.log, p.queue = log, New(log, Options{Lease: lease, Observer: p.counts})
	until(t, "the process is seen", func() bool { ok, err := log.Alive(within(t), log.Instance()); return ok && err == nil })
	if r != nil {
		p.work = p.queue.Work(r)
		t.Cleanup(p.work.Close)
	}
	return p
}

// Jobs whose streams are in all shards are run once each, and none is left.
func TestClusterRunsJobs(t *testing.T) {
	t.Parallel()
	const n = 60
	c := redistest.StartCluster(t, 3, false)
	edge := inCluster(t, c, nil)
	var workers []*process
	for range 2 {
		r := &runner{}
		p := inCluster(t, c, nil)
		r.do = func(_ context.Context, task relay.Task) {
			if waited, known := task.Waited.Get(); !known || waited > limit || task.Runs != 1 {
				t.Errorf("%+v", task)
			}
			p.begin(task.Stream, 2)
			p.say(task.Stream, "end", true)
		}
		p.work = p.queue.Work(r)
		t.Cleanup(p.work.Close)
		workers = append(workers, p)
	}
	for i := range n {
		edge.put(fmt.Sprint("s", i))
	}
	for i := range n {
		if got, err := edge.reading(fmt.Sprint("s", i)); got != "word.word.end." || err != nil {
			t.Errorf("job %d: %q, %v", i, got, err)
		}
	}
	until(t, "the queue is empty", func() bool {
		waiting, taken, err := edge.queue.Depth(within(t))
		return waiting+taken == 0 && err == nil
	})
	if a, b := workers[0].taken, workers[1].taken; a+b != n {
		t.Errorf("%d and %d jobs were run", a, b)
	}
}

// A command whose answer does not come is sent again in a cluster: the job is in
// the queue once all the same.
func TestClusterPutsOnce(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, false)
	edge := inCluster(t, c, nil)
	edge.put("first")
	node := c.Nodes[c.Master(c.Slot("weir:{jobs}"))]
	stream := "" // whose own keys are elsewhere
	for i := 0; stream == "" || c.Nodes[c.Master(c.Slot("weir:{"+stream+"}:m"))] == node; i++ {
		stream = fmt.Sprint("s", i)
	}
	node.Freeze()
	done := make(chan error, 1)
	go func() {
		_, err := edge.queue.Put(within(t), relay.Job{Stream: stream, Head: []byte("head"), Data: []byte("data")})
		done <- err
	}()
	time.Sleep(3 * time.Second) // longer than one exchange may take
	node.Thaw()
	t.Log(<-done) // whether it knows or not
	until(t, "it works again", edge.log.Up)
	var most int64
	until(t, "the queue answers", func() bool {
		waiting, _, err := edge.queue.Depth(within(t))
		most = waiting
		return err == nil
	})
	if most > 2 {
		t.Errorf("two jobs were put, and there are %d", most)
	}
	c.Nodes[c.Master(c.Slot("weir:{"+stream+"}:m"))].Kill()
	if _, err := edge.queue.Put(within(t), relay.Job{Stream: stream, Head: []byte("head"), Data: []byte("data")}); !errors.Is(err, relay.ErrDown) {
		t.Errorf("a job whose stream cannot be announced: %v", err)
	}
}
