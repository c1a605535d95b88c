package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"weir/stream"
)

var batchCodes = []string{"buffering_by_size", "buffering_by_time", "buffering_by_compression", "batches", "not_streamed", "hop_buffering"}

// batchFinding is the finding about batches, if there is one.
func batchFinding(fs []Finding) (Finding, bool) {
	for _, f := range fs {
		for _, c := range batchCodes {
			if f.Code == c {
				return f, true
			}
		}
	}
	return Finding{}, false
}

func figure(f Finding, name string) float64 {
	for _, x := range f.Evidence {
		if x.Name == name {
			return x.Value
		}
	}
	return math.NaN()
}

// TestCleanRuns: nothing that a service does by itself looks like a relay.
func TestCleanRuns(t *testing.T) {
	gaps := map[string]func(*rand.Rand) float64{
		"steady 20 ms": every(20), "steady 5 ms": every(5), "exponential 20 ms": expo(20), "exponential 5 ms": expo(5),
		"lognormal": lognormal(20, 0.5), "heavy lognormal": lognormal(20, 1), "normal": normal(20, 8), "slow": every(250), "fast": every(0.7),
	}
	noises := map[string]func(*rand.Rand) float64{"quiet": quiet, "busy": busy}
	sizes := map[string]func(*rand.Rand) int{"words": words, "phrases": phrases, "same": same}
	for gapName, gap := range gaps {
		for noiseName, noise := range noises {
			for sizeName, size := range sizes {
				for _, n := range []int{3, 12, 50} {
					for seed := range uint64(4) {
						s := source{n: n, ttft: 200, gap: gap, bytes: size, early: seed%2 == 0}
						if f, ok := batchFinding(Diagnose(session5(s, direct, noise, seed))); ok && !(n == 12 && gapName == "fast") {
							t.Errorf("%s, %s, %s, n=%d, seed %d: %s: %s", gapName, noiseName, sizeName, n, seed, f.Code, f.Text)
						}
					}
				}
			}
		}
	}
}

type relayCase struct {
	name string
	via  relay
	near float64 // the size or period that must be found
}

func TestBufferingBySize(t *testing.T) {
	var cases []relayCase
	for _, size := range []int{3000, 4096, 5300} {
		cases = append(cases,
			relayCase{fmt.Sprintf("%d, whole frames", size), bySize(size, false), float64(size)},
			relayCase{fmt.Sprintf("%d, cut frames", size), bySize(size, true), float64(size)},
			relayCase{fmt.Sprintf("%d, just below", size), underSize(size), float64(size)})
	}
	for _, c := range cases {
		checkRelay(t, c, "buffering_by_size", "buffer_bytes", 0.10, []int{50, 120})
	}
	for _, c := range []relayCase{
		{"8192, whole frames", bySize(8192, false), 8192}, {"8192, cut frames", bySize(8192, true), 8192}, {"8192, just below", underSize(8192), 8192},
	} {
		checkRelay(t, c, "buffering_by_size", "buffer_bytes", 0.10, []int{150}) // 50 events do not fill it twice
	}
}

func TestBufferingByTime(t *testing.T) {
	for _, c := range []relayCase{
		{"ticker 130", ticker(130, 1), 130}, {"ticker 200", ticker(200, 4), 200},
		{"after first 130", afterFirst(130, 3), 130}, {"after first 200", afterFirst(200, 1), 200},
	} {
		checkRelay(t, c, "buffering_by_time", "period", 0.12, []int{50, 120})
	}
}

// checkRelay plays many sources through one relay. Where every flush holds the
// same number of events the figures cannot tell, and the finding must list all
// that remain, the truth among them; it must never name another cause alone.
func checkRelay(t *testing.T, c relayCase, code, fig string, within float64, counts []int) {
	t.Helper()
	gaps := map[string]func(*rand.Rand) float64{"steady": every(20), "normal": normal(20, 4), "exp": expo(20), "lognormal": lognormal(15, 0.5)}
	sizes := map[string]func(*rand.Rand) int{"words": words, "phrases": phrases, "same": same}
	named, total := 0, 0
	for gapName, gap := range gaps {
		for sizeName, size := range sizes {
			for _, n := range counts {
				for seed := range uint64(3) {
					s := source{n: n, ttft: 200, gap: gap, bytes: size, early: seed%2 == 0}
					f, ok := batchFinding(Diagnose(session5(s, c.via, quiet, seed)))
					where := fmt.Sprintf("%s: %s, %s, n=%d, seed %d", c.name, gapName, sizeName, n, seed)
					total++
					switch x := figure(f, fig); {
					case !ok:
						t.Errorf("%s: no finding", where)
					case f.Code == code && math.Abs(x-c.near) <= within*c.near:
						named++
					case f.Code == "batches" && math.Abs(x-c.near) <= within*c.near && len(f.Means) > 1:
					default:
						t.Errorf("%s: %s (%s %.0f): %s", where, f.Code, fig, x, f.Text)
					}
				}
			}
		}
	}
	t.Logf("%s: named alone in %d of %d", c.name, named, total)
	if named < total*7/10 {
		t.Errorf("%s: named alone in %d of %d sessions only", c.name, named, total)
	}
}

// TestEngineSteps: an engine that sends a fixed number of tokens at a step is
// never taken for a relay alone.
func TestEngineSteps(t *testing.T) {
	for _, k := range []int{4, 8} {
		for seed := range uint64(20) {
			s := source{n: 100, ttft: 200, gap: normal(20, 4), bytes: phrases, early: seed%2 == 0}
			fs := Diagnose(session5(s, steps(k), quiet, seed))
			f, ok := batchFinding(fs)
			if !ok || f.Code != "batches" || !strings.Contains(f.Text, "engine") {
				t.Errorf("%d a step, seed %d: %v %s: %s", k, seed, ok, f.Code, f.Text)
			}
		}
	}
}

// TestServiceClearsItsEngine: where the service's stamps are even, its engine
// is no cause, and what remains is named.
func TestServiceClearsItsEngine(t *testing.T) {
	s := source{n: 100, ttft: 200, gap: every(20), bytes: same, early: true}
	records := session5(s, func(fs []sent, rng *rand.Rand) []piece { return ticker(200, 0.1)(fs, rng) }, quiet, 4)
	for _, r := range records {
		k := 0
		for i := range r.Events {
			if r.Events[i].Kind.Business() {
				r.Events[i].ServiceTime = stream.Some(time.Duration(k) * 20 * time.Millisecond)
				k++
			}
		}
	}
	f, ok := batchFinding(Diagnose(records))
	if !ok || strings.Contains(f.Text, "engine") || strings.Contains(strings.Join(f.Means, ""), "engine") || math.Abs(figure(f, "period")-200) > 4 {
		t.Errorf("%v: %s", ok, f.Text)
	}
}

func TestPeriodNotItsThird(t *testing.T) {
	if got := fitPeriod([]float64{43, 130, 130, 131, 129, 130, 130, 130, 44, 130, 130, 131, 130, 129}, 20); !got.holds || math.Abs(got.period-130) > 1 {
		t.Errorf("%+v", got)
	}
	if got := fitPeriod([]float64{200, 201, 400, 199, 200, 201, 600, 200}, 20); !got.holds || math.Abs(got.period-200) > 1 {
		t.Errorf("%+v", got)
	}
	if got := fitPeriod([]float64{50, 200, 90, 310, 140, 260, 410, 120}, 10); got.holds {
		t.Errorf("%+v", got)
	}
}

func TestCompression(t *testing.T) {
	s := source{n: 50, ttft: 200, gap: every(20), bytes: words}
	for name, via := range map[string]relay{"at the end": atEnd, "in blocks": bySize(4096, true)} {
		records := session5(s, via, quiet, 1)
		for _, r := range records {
			r.Facts.ContentEncoding, r.Facts.Server = "gzip", "nginx"
		}
		f, ok := batchFinding(Diagnose(records))
		if !ok || f.Code != "buffering_by_compression" || !strings.Contains(f.Text, "gzip") || !strings.Contains(f.Text, `server: "nginx"`) {
			t.Errorf("%s: %v %s: %s", name, ok, f.Code, f.Text)
		}
	}
	for _, r := range session5(s, direct, quiet, 1) {
		r.Facts.ContentEncoding = "gzip" // flushed after each event: no harm done
		if f, ok := batchFinding(Diagnose([]*stream.Record{r})); ok {
			t.Errorf("gzip that flushes: %s", f.Text)
		}
	}
}

func TestHeldToTheEnd(t *testing.T) {
	s := source{n: 50, ttft: 200, gap: every(20), bytes: words}
	f, ok := batchFinding(Diagnose(session5(s, atEnd, quiet, 1)))
	if !ok || f.Code != "not_streamed" || len(f.Means) < 2 {
		t.Errorf("%v %s: %s", ok, f.Code, f.Text)
	}
	s.n = 5 // few events: it may be a short answer
	fs := Diagnose(session5(s, atEnd, quiet, 1))
	if len(fs) != 1 || fs[0].Code != "single_arrival" || !strings.Contains(fs[0].Text, "short answer or not streamed") {
		t.Errorf("%+v", fs)
	}
}

func TestKnownPeriodIsHedged(t *testing.T) {
	s := source{n: 120, ttft: 200, gap: normal(20, 4), bytes: words}
	f, _ := batchFinding(Diagnose(session5(s, afterFirst(200, 1), quiet, 3)))
	if !strings.Contains(f.Text, "as HAProxy without option http-no-delay does") || strings.Contains(f.Text, "the response says") {
		t.Errorf("%s", f.Text)
	}
	f, _ = batchFinding(Diagnose(session5(s, afterFirst(130, 1), quiet, 3)))
	if strings.Contains(f.Text, "HAProxy") || strings.Contains(strings.Join(f.Means, ""), "HAProxy") {
		t.Errorf("a product was named without a reason: %s", f.Text)
	}
}

// TestHopSignature: the same service, directly and through a relay.
func TestHopSignature(t *testing.T) {
	s := source{n: 50, ttft: 200, gap: every(20), bytes: words}
	both := func(main, other relay) []*stream.Record {
		far, near := session5(s, main, quiet, 1), session5(s, other, quiet, 2)
		for _, r := range near {
			r.Hop = "origin"
		}
		return append(far, near...)
	}
	found := func(fs []Finding) (Finding, bool) {
		for _, f := range fs {
			if f.Code == "hop_buffering" {
				return f, true
			}
		}
		return Finding{}, false
	}
	if f, ok := found(Diagnose(both(bySize(3000, false), direct))); !ok || !strings.Contains(f.Text, "gaps fall while ttft rises across the hop: from path origin to the main path") {
		t.Errorf("%v %s", ok, f.Text)
	}
	if f, ok := found(Diagnose(both(direct, bySize(3000, false)))); !ok || !strings.Contains(f.Text, "from the main path to path origin") {
		t.Errorf("the other way round: %v %s", ok, f.Text)
	}
	if f, ok := found(Diagnose(both(direct, direct))); ok {
		t.Errorf("two clean paths: %s", f.Text)
	}
}
