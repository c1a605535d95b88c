package chaos

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/peer"
)

// program is the built weir.
var program string

func TestMain(m *testing.M) { os.Exit(peer.MainWithWeir(m, &program, 4)) }

// shortStreams is how many streams the ordinary tests read in each scenario.
const shortStreams = 60

// The short form of make chaos: two seeds of what it begins with. `make chaos`
// runs every scenario.
func TestShort(t *testing.T) {
	if os.Getenv("CHAOS_SEEDS") != "" {
		t.Skip("make chaos runs the long form")
	}
	for seed := range uint64(2) {
		for _, s := range scenarios[:2] {
			t.Run(fmt.Sprintf("%s %s %d", s.name, s.role, seed+1), func(t *testing.T) {
				t.Parallel()
				run(t, s, seed+1, shortStreams).check(t)
			})
		}
	}
}

// TestLong is make chaos: CHAOS_SEEDS seeds, of each both mixed scenarios and two
// of the others in turn, at once. Those have half the streams.
func TestLong(t *testing.T) {
	if os.Getenv("CHAOS_SEEDS") == "" {
		t.Skip("make chaos runs it")
	}
	seeds, streams := number(t, "CHAOS_SEEDS", 10), number(t, "CHAOS_STREAMS", 500)
	special := scenarios[2:]
	var mu sync.Mutex
	var all []*result
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed+1), func(t *testing.T) {
			todo := append([]scenario(nil), scenarios[:2]...)
			for i := range uint64(2) {
				todo = append(todo, special[(2*seed+i)%uint64(len(special))])
			}
			for i, s := range todo {
				t.Run(s.name+" "+s.role, func(t *testing.T) {
					t.Parallel()
					n := streams
					if i > 1 {
						n = max(streams/2, 1)
					}
					r := run(t, s, seed+1, n)
					r.check(t)
					mu.Lock()
					defer mu.Unlock()
					all = append(all, r)
				})
			}
		})
	}
	if file := os.Getenv("CHAOS_TABLE"); file != "" {
		if err := writeTable(file, all, seeds); err != nil {
			t.Error(err)
		}
	}
}

// TestReplay is one scenario of one seed: CHAOS_SEED, and CHAOS_SCENARIO as in
// "mixed/edge". A plan is the same each time, what it meets is not.
func TestReplay(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("CHAOS_SEED"), 10, 64)
	if err != nil {
		t.Skip("CHAOS_SEED names no seed")
	}
	for _, s := range scenarios {
		if only := os.Getenv("CHAOS_SCENARIO"); only == "" || only == s.name+"/"+s.role {
			t.Run(s.name+" "+s.role, func(t *testing.T) { run(t, s, seed, number(t, "CHAOS_STREAMS", 500)).check(t) })
		}
	}
}

// number is a number of the environment.
func number(t *testing.T, name string, other int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return other
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no number above 0", name, text)
	}
	return n
}

// result is what came of a run.
type result struct {
	scenario
	seed    uint64
	streams []*got
	counts  map[outcome]int
	why     map[outcome]map[string]int
	resumed int      // of the whole ones, those that had to be
	maimed  []string // of streams whose outcome must not be
	again   []string
	left    []string
	took    time.Duration
}

// run runs a scenario to its end.
func run(t *testing.T, s scenario, seed uint64, streams int) *result {
	t.Helper()
	start := time.Now()
	h := fnv.New64a()
	fmt.Fprint(h, s.name, s.role)
	rng := rand.New(rand.NewPCG(seed, h.Sum64()))
	list, err := wishes(rng, fmt.Sprintf("s%d-%08x", seed, uint32(h.Sum64())), streams, arrivals)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, s, streams)
	s.start(w)
	w.settle()
	var plan []action
	if s.plan != nil {
		plan = s.plan(w, rng)
	}
	w.began = time.Now()
	r := &result{scenario: s, seed: seed, streams: make([]*got, len(list))}
	var readers sync.WaitGroup
	for i, v := range list {
		readers.Go(func() {
			time.Sleep(time.Until(w.began.Add(v.at)))
			r.streams[i] = v.read(t.Context(), w.doors)
		})
	}
	w.carryOut(plan)
	w.restore()
	readers.Wait()
	w.tell("the last stream ended")
	r.left = w.left()
	r.judge(t, w)
	r.took = time.Since(start)
	return r
}

// judge counts.
func (r *result) judge(t *testing.T, w *world) {
	t.Helper()
	r.counts, r.why = map[outcome]int{}, map[outcome]map[string]int{}
	for _, g := range r.streams {
		o, why := g.verdict()
		r.counts[o]++
		if r.why[o] == nil {
			r.why[o] = map[string]int{}
		}
		r.why[o][why]++
		if o == whole && g.retries > 0 {
			r.resumed++
		}
		w.log.Info("stream", "id", g.id, "kind", string(g.kind), "outcome", string(o), "why", why, "events", len(g.events), "of", len(g.full),
			"retries", g.retries, "began", g.at.String(), "took", g.took.Round(time.Millisecond).String(), "breaks", strings.Join(g.breaks, ", "), "error", fmt.Sprint(g.err))
		if slices.Contains(faults, o) || r.unharmed && o == failed || r.gentle && o != whole && g.kind != plainly && !g.first.IsZero() {
			r.maimed = append(r.maimed, fmt.Sprintf("%s (%s): %s: %s", g.id, g.kind, o, why))
		}
	}
	asked, err := w.asked()
	if err != nil {
		t.Fatal(err)
	}
	r.again = again(r.streams, asked)
}

// check fails the test where a promise was broken.
func (r *result) check(t *testing.T) {
	t.Helper()
	t.Log(r)
	for _, said := range [][]string{r.maimed, r.again, r.left} {
		for _, s := range said[:min(len(said), 10)] {
			t.Error(s)
		}
	}
	if n := r.counts[whole]; n*100 < r.atLeast*len(r.streams) {
		t.Errorf("only %d of %d streams were whole", n, len(r.streams))
	}
	if t.Failed() {
		t.Logf("again: make chaos CHAOS_SEED=%d CHAOS_STREAMS=%d CHAOS_SCENARIO='%s/%s'", r.seed, len(r.streams), r.name, r.role)
	}
}

// String is one line for a log.
func (r *result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s seed %d: %d streams in %s: %d whole (%d resumed)", r.name, r.role, r.seed, len(r.streams), r.took.Round(time.Second), r.counts[whole], r.resumed)
	for _, o := range []outcome{failed, gapped, refused, broken, lost, doubled, hung} {
		if n := r.counts[o]; n > 0 {
			fmt.Fprintf(&b, "; %d %s: %s", n, o, reasons(r.why[o]))
		}
	}
	return b.String()
}
