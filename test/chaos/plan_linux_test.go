package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"
)

// scenario is a world and what is done to it.
type scenario struct {
	name      string
	role      string // all, or edge: with workers
	fronts    int
	workers   int
	redisArgs []string
	redisEnv  func(w *world) []string
	before    func(w *world)                          // once Redis runs
	build     func(w *world)                          // in the place of the ordinary processes
	plan      func(w *world, rng *rand.Rand) []action // nil: clients are cut, and that is all
	atLeast   int                                     // percent that must be whole, so that nothing passes because nothing works
	gentle    bool                                    // all who can resume must be whole
	unharmed  bool                                    // no stream may end with an error
}

// action is one thing that is done at a time.
type action struct {
	at   time.Duration
	what string
	do   func()
}

// Times of a run: streams begin within arrivals, things are done between the
// other two.
const (
	arrivals   = 4500 * time.Millisecond
	firstFault = time.Second
	lastFault  = 7500 * time.Millisecond
)

var scenarios = []scenario{
	{name: "mixed", role: "all", fronts: 3, plan: mixed, atLeast: 10},
	{name: "mixed", role: "edge", fronts: 3, workers: 2, plan: mixed, atLeast: 10},
	{name: "cuts", role: "all", fronts: 2, gentle: true, atLeast: 80},
	{name: "cuts", role: "edge", fronts: 2, workers: 2, gentle: true, atLeast: 80},
	{name: "redis killed", role: "all", fronts: 2, plan: redisKilled, atLeast: 50},
	{name: "redis killed", role: "edge", fronts: 2, workers: 2, plan: redisKilled, atLeast: 20},
	{name: "redis stopped 5 s", role: "all", fronts: 2, plan: redisStopped, atLeast: 50},
	{name: "redis stopped 5 s", role: "edge", fronts: 2, workers: 2, plan: redisStopped, atLeast: 20},
	{name: "redis flushed", role: "all", fronts: 2, plan: redisFlushed, atLeast: 50},
	{name: "redis flushed", role: "edge", fronts: 2, workers: 2, plan: redisFlushed, atLeast: 20},
	{name: "redis evicts", role: "all", fronts: 2, redisArgs: evicting, plan: evict, atLeast: 30},
	{name: "redis evicts", role: "edge", fronts: 2, workers: 2, redisArgs: evicting, plan: evict, atLeast: 20},
	{name: "partition", role: "all", before: networks, build: partitioned, plan: partition, atLeast: 40},
	{name: "partition", role: "edge", workers: 2, before: networks, build: partitioned, plan: partition, atLeast: 20},
	{name: "clock skew", role: "all", fronts: 1, redisEnv: skewed, build: skew, plan: killOne, atLeast: 20},
	{name: "clock skew", role: "edge", fronts: 1, workers: 1, redisEnv: skewed, build: skew, plan: killOne, atLeast: 20},
	{name: "redis restarted", role: "all", fronts: 2, redisArgs: keeping, plan: redisRestarted, unharmed: true, atLeast: 50},
	{name: "redis restarted", role: "edge", fronts: 2, workers: 3, redisArgs: keeping, plan: redisRestarted, unharmed: true, atLeast: 20},
}

// build starts the ordinary processes.
func (s scenario) start(w *world) {
	for range s.fronts {
		w.front(s.role)
	}
	for range s.workers {
		w.worker()
	}
	if s.build != nil {
		s.build(w)
	}
}

// victim is something that faults happen to.
type victim struct {
	free time.Duration // from when it is whole again
	hit  func(w *world, rng *rand.Rand, at, down time.Duration) []action
}

// mixed draws faults of everything: one victim has one at a time.
func mixed(w *world, rng *rand.Rand) []action {
	var victims []*victim
	for _, p := range w.ours() {
		victims = append(victims, &victim{hit: func(w *world, rng *rand.Rand, at, down time.Duration) []action {
			return w.hit(p, rng, at, down)
		}})
	}
	victims = append(victims, &victim{hit: (*world).hitRedis})
	var all []action
	for at := firstFault; at < lastFault; at += 600*time.Millisecond + time.Duration(rng.Int64N(int64(1200*time.Millisecond))) {
		v := victims[rng.IntN(len(victims))]
		down := 200*time.Millisecond + time.Duration(rng.Int64N(int64(3*time.Second)))
		if at < v.free {
			continue
		}
		v.free = at + down + 500*time.Millisecond
		all = append(all, v.hit(w, rng, at, down)...)
	}
	return all
}

// hit kills, stops or drains a process, and lets it come back.
func (w *world) hit(p *process, rng *rand.Rand, at, down time.Duration) []action {
	back := action{at + down, p.name + " comes back", func() { p.restore() }}
	switch c := rng.IntN(6); {
	case c < 2:
		return []action{{at, p.name + " is killed", p.kill}, back}
	case c < 4:
		return []action{{at, p.name + " is stopped", func() { p.signal(syscall.SIGSTOP) }}, back}
	}
	back.do = func() { p.kill(); p.start() } // where it has not ended by then
	return []action{{at, p.name + " drains", func() { p.signal(syscall.SIGTERM) }}, back}
}

func (w *world) hitRedis(rng *rand.Rand, at, down time.Duration) []action {
	if rng.IntN(3) == 0 {
		return []action{{at, "redis is killed", w.killRedis}, {at + down, "redis comes back empty", w.restoreRedis}}
	}
	return []action{{at, "redis is stopped", w.stopRedis}, {at + down, "redis goes on", w.restoreRedis}}
}

func (w *world) killRedis() { w.redis.Kill(); w.dead, w.frozen = true, false }
func (w *world) stopRedis() { w.redis.Freeze(); w.frozen = true }

func (w *world) restoreRedis() {
	if w.frozen {
		w.redis.Thaw()
	}
	if w.dead {
		w.redis.Run()
	}
	w.dead, w.frozen = false, false
}

func redisKilled(w *world, rng *rand.Rand) []action {
	at := 2*time.Second + time.Duration(rng.Int64N(int64(2*time.Second)))
	down := time.Duration(rng.Int64N(int64(2500 * time.Millisecond)))
	return []action{{at, "redis is killed", w.killRedis}, {at + down, "redis comes back empty", w.restoreRedis}}
}

// keeping is a Redis that has everything on disk before it says so.
var keeping = []string{"--appendonly", "yes", "--appendfsync", "always"}

// redisRestarted is away for longer than a lease and loses nothing: no worker may
// take for abandoned what nobody could renew, so streams that run go on.
func redisRestarted(w *world, rng *rand.Rand) []action {
	at := 2*time.Second + time.Duration(rng.Int64N(int64(2*time.Second)))
	down := 3500*time.Millisecond + time.Duration(rng.Int64N(int64(time.Second)))
	return []action{{at, "redis is killed", w.killRedis}, {at + down, "redis comes back with its data", w.restoreRedis}}
}

func redisStopped(w *world, rng *rand.Rand) []action {
	at := 1500*time.Millisecond + time.Duration(rng.Int64N(int64(2*time.Second)))
	return []action{{at, "redis is stopped", w.stopRedis}, {at + 5*time.Second, "redis goes on", w.restoreRedis}}
}

func redisFlushed(w *world, rng *rand.Rand) []action {
	var all []action
	for i := range 3 {
		at := time.Duration(1500+2000*i)*time.Millisecond + time.Duration(rng.Int64N(int64(1500*time.Millisecond)))
		all = append(all, action{at, "redis is flushed", func() { w.redis.Do("FLUSHALL") }})
	}
	return all
}

// evicting is a Redis that makes room by throwing away what was not used for
// longest, whatever it is.
var evicting = []string{"--maxmemory-policy", "allkeys-lru", "--maxmemory-samples", "10"}

// evict has it throw away a tenth of what so many streams need, five times. A
// limit that stays would count connections too, and with too many of them Redis
// refuses every write: that is an outage, and another scenario.
func evict(w *world, rng *rand.Rand) []action {
	var all []action
	for i := range 5 {
		at := time.Duration(2000+1000*i)*time.Millisecond + time.Duration(rng.Int64N(int64(800*time.Millisecond)))
		all = append(all,
			action{at, "redis gets too little memory", func() {
				w.redis.Do(fmt.Sprintf("CONFIG SET maxmemory %d", w.info("memory", "used_memory")-w.streams*800))
			}},
			action{at + 100*time.Millisecond, "redis has thrown away what did not fit", func() {
				w.redis.Do("CONFIG SET maxmemory 0")
				if n := w.info("stats", "evicted_keys"); n == 0 {
					w.t.Errorf("redis has evicted nothing")
				}
			}})
	}
	return all
}

// info is a number that Redis says of itself.
func (w *world) info(section, name string) (n int) {
	_, rest, _ := strings.Cut(w.redis.Do("INFO "+section), name+":")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		w.t.Fatalf("redis does not say its %s: %q", name, rest)
	}
	return n
}

// killOne kills one of those that have another beside them.
func killOne(w *world, rng *rand.Rand) []action {
	all := w.ours()
	p := all[rng.IntN(len(all))]
	return w.hit(p, rng, 2500*time.Millisecond, time.Second+time.Duration(rng.Int64N(int64(2*time.Second))))
}

// carryOut does a plan, in this goroutine.
func (w *world) carryOut(plan []action) {
	slices.SortStableFunc(plan, func(a, b action) int { return int(a.at - b.at) })
	for _, a := range plan {
		time.Sleep(time.Until(w.began.Add(a.at)))
		w.tell(a.what)
		a.do()
	}
}

// restore brings everything back that is away.
func (w *world) restore() {
	w.restoreRedis()
	for _, p := range w.ours() {
		p.restore()
	}
}
