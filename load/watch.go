package load

import (
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"weir/stat"
	"weir/stream"
)

// watch gathers what Health is made of, while a load runs.
type watch struct {
	gate    *gate
	lagOver time.Duration
	start   time.Time
	cpu     time.Duration
	sched   *metrics.Float64Histogram // at the start
	pause   *metrics.Float64Histogram

	mu       sync.Mutex
	lateness []float64 // ms
	ttft     []float64 // ms, from schedule, of those that spoke
	own      int
	app      lag
	kernel   lag
	fd       headroom
	port     headroom
	peak     int

	quit  chan struct{}
	ended sync.WaitGroup
}

// lag counts events, and those of reads that lagged.
type lag struct{ events, late int }

func (l lag) share() stream.Maybe[float64] {
	if l.events == 0 {
		return stream.None[float64]()
	}
	return stream.Some(float64(l.late) / float64(l.events))
}

// headroom is the least share that was left of something.
type headroom struct {
	known bool
	least float64
}

func (h *headroom) see(all, used int, ok bool) {
	if !ok || all <= 0 {
		return
	}
	left := max(0, float64(all-used)/float64(all))
	if !h.known || left < h.least {
		h.known, h.least = true, left
	}
}

func (h headroom) get() stream.Maybe[float64] {
	if !h.known {
		return stream.None[float64]()
	}
	return stream.Some(round(h.least))
}

const (
	schedMetric = "/sched/latencies:seconds"
	pauseMetric = "/sched/pauses/total/gc:seconds"
)

func startWatch(g *gate, l limits) *watch {
	w := &watch{gate: g, start: time.Now(), quit: make(chan struct{})}
	w.lagOver = time.Duration(l["lag_over_ms"] * float64(time.Millisecond))
	w.cpu, _ = CPUTime()
	w.sched, w.pause = histogram(schedMetric), histogram(pauseMetric)
	w.ended.Go(w.sample)
	return w
}

// sample looks at what the machine has left, once a second.
func (w *watch) sample() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		w.look()
		select {
		case <-tick.C:
		case <-w.quit:
			return
		}
	}
}

func (w *watch) look() {
	limit, open, fdOK := descriptors()
	all, used, portOK := ports()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fd.see(limit, open, fdOK)
	w.port.see(all, used, portOK)
	w.peak = max(w.peak, w.gate.count())
}

// late notes how late a request began, its wait for a place left out.
func (w *watch) late(a *arrival, now time.Time) {
	if a.scheduled.IsZero() {
		return
	}
	if a.queued {
		now = a.released
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lateness = append(w.lateness, ms(max(0, now.Sub(a.scheduled))))
}

// see notes what finished records say of the instrument.
func (w *watch) see(records []*stream.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range records {
		if Own(r) {
			w.own++
		}
		if at, ok := firstBusiness(r); ok {
			w.ttft = append(w.ttft, ms(at+r.Lateness.Or(0)))
		}
		l := &w.app
		if r.Stamp == stream.StampKernel {
			l = &w.kernel
		}
		l.events += len(r.Events)
		for i := range r.Events {
			if n := r.Events[i].Read; n > 0 && r.Reads[n-1].LagMax.Or(0) > w.lagOver {
				l.late++
			}
		}
	}
}

func firstBusiness(r *stream.Record) (time.Duration, bool) {
	for i := range r.Events {
		if r.Events[i].Kind.Business() {
			return r.Events[i].At, true
		}
	}
	return 0, false
}

// finish makes the health of the whole load.
func (w *watch) finish(phases []PhaseResult, l limits) Health {
	close(w.quit)
	w.ended.Wait()
	w.look()
	h := Health{Limits: l, OwnDrops: w.own}
	w.pacing(&h, phases)
	h.Events = w.app.events + w.kernel.events
	h.LagShareApp, h.LagShareKern = w.app.share(), w.kernel.share()
	h.LagMaxShare = lag{h.Events, w.app.late + w.kernel.late}.share()
	h.SchedP99 = quantileSince(w.sched, histogram(schedMetric), 0.99)
	h.GCPauseMax = quantileSince(w.pause, histogram(pauseMetric), 1)
	if cpu, ok := CPUTime(); ok {
		if wall := time.Since(w.start) * time.Duration(runtime.GOMAXPROCS(0)); wall > 0 {
			h.CPUShare = stream.Some(round(float64(cpu-w.cpu) / float64(wall)))
		}
	}
	h.FDHeadroom, h.PortHeadroom = w.fd.get(), w.port.get()
	h.Judge()
	return h
}

func (w *watch) pacing(h *Health, phases []PhaseResult) {
	planned, onTime := 0, 0
	for _, p := range phases {
		h.Drops += p.Dropped
		h.OwnDrops += p.OwnDrops
		h.PeakInFlight = max(h.PeakInFlight, p.PeakInFlight)
		if p.Arrivals != KindClosed && p.Arrivals != KindSingle {
			planned += p.Planned
			onTime += p.onTime
		}
	}
	if planned > 0 {
		h.AchievedRatio = stream.Some(round(float64(onTime) / float64(planned)))
	}
	slices.Sort(w.lateness)
	slices.Sort(w.ttft)
	h.LatenessP50, h.LatenessP95 = quantile(w.lateness, stat.P50), quantile(w.lateness, stat.P95)
	h.LatenessP99, h.LatenessMax = quantile(w.lateness, stat.P99), quantile(w.lateness, stat.Fraction{A: 1, B: 1})
	h.MedianTTFT = quantile(w.ttft, stat.P50)
}

func quantile(sorted []float64, f stat.Fraction) stream.Maybe[float64] {
	if v, ok := stat.Quantile(sorted, f); ok {
		return stream.Some(round(v))
	}
	return stream.None[float64]()
}

// histogram is a copy of a runtime histogram; nil where the runtime has none.
func histogram(name string) *metrics.Float64Histogram {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	h := *s[0].Value.Float64Histogram()
	h.Counts = slices.Clone(h.Counts)
	return &h
}

// quantileSince is a quantile, in ms, of what two histograms differ by: the
// upper bound of its bucket, so that it is never too small.
func quantileSince(from, to *metrics.Float64Histogram, q float64) stream.Maybe[float64] {
	if from == nil || to == nil || len(from.Counts) != len(to.Counts) {
		return stream.None[float64]()
	}
	total := uint64(0)
	for i := range to.Counts {
		total += to.Counts[i] - from.Counts[i]
	}
	if total == 0 {
		return stream.None[float64]()
	}
	rank, seen := uint64(math.Ceil(q*float64(total))), uint64(0)
	for i := range to.Counts {
		if seen += to.Counts[i] - from.Counts[i]; seen < rank {
			continue
		}
		upper := to.Buckets[i+1]
		if math.IsInf(upper, 1) {
			upper = to.Buckets[i]
		}
		return stream.Some(round(upper * 1000))
	}
	return stream.None[float64]()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// round keeps three decimals: a microsecond, where the unit is ms.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }
