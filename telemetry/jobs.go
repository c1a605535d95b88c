package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/stream"
)

// Jobs counts what a worker takes from the queue of requests.
type Jobs struct {
	waiting, running prometheus.Gauge
	wait             prometheus.Observer
	over             prometheus.Counter
	dropped          *prometheus.CounterVec
}

// Jobs makes the metrics of a worker, beside those of its gateway; once.
func (g *Gateway) Jobs() *Jobs {
	f := factory{g.registry}
	return &Jobs{
		waiting: f.gauge("weir_jobs_waiting", "requests of all edges that no worker has yet").WithLabelValues(),
		running: f.gauge("weir_jobs_running", "requests that this worker has").WithLabelValues(),
		wait:    f.histogram("weir_job_wait_seconds", "how long a request was in the queue until this worker had it", waitLadder).WithLabelValues(),
		over:    f.counter("weir_jobs_taken_over_total", "requests that another worker had before").WithLabelValues(),
		dropped: f.counter("weir_jobs_dropped_total", "requests that were taken and not run: gone (nobody waits), ended, lost (its worker died after output: ended with an error), redis, bad", "reason"),
	}
}

// JobTaken counts a request that this worker has now.
func (j *Jobs) JobTaken(waited stream.Maybe[time.Duration], over bool) {
	if d, ok := waited.Get(); ok {
		j.wait.Observe(d.Seconds())
	}
	if over {
		j.over.Inc()
	}
}

// JobDropped counts one that is not run.
func (j *Jobs) JobDropped(reason string) { j.dropped.WithLabelValues(reason).Inc() }

// Jobs states how many wait for a worker, and how many run here.
func (j *Jobs) Jobs(waiting int64, running int) {
	j.waiting.Set(float64(waiting))
	j.running.Set(float64(running))
}
