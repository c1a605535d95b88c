package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The ladders of our own histograms, in seconds. Gaps of 5 to 8 ms are usual,
// which the conventions' ladder from 10 ms cannot tell apart.
var (
	waitLadder = []float64{0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}
	ttftLadder = []float64{0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160}
	gapLadder  = []float64{0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 8, 30}
	// Those of OpenTelemetry's HTTP conventions end at 10 s; streams last longer.
	serverLadder = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120, 300}
	addedLadder  = []float64{0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 10}
)

// ownMetrics are those that OpenTelemetry has no name for.
type ownMetrics struct {
	active, limit                               *prometheus.GaugeVec
	queueWait, duration                         *prometheus.HistogramVec
	ttft, firstText, gaps, added                *prometheus.HistogramVec
	refused, outcomes, ends, silences, openings *prometheus.CounterVec
	retries, cancels, saved                     *prometheus.CounterVec
	generated, delivered, uncounted             *prometheus.CounterVec
	events, bytes                               *prometheus.CounterVec
	served                                      *prometheus.HistogramVec
	reloads, panics                             *prometheus.CounterVec
	reloaded, configured                        *prometheus.GaugeVec
}

func newOwn(f factory) ownMetrics {
	answer := []string{"route", "upstream", "model"}
	return ownMetrics{
		active:    f.gauge("weir_gateway_requests_active", "requests that have a place", "route"),
		limit:     f.gauge("weir_gateway_requests_limit", "places there are; absent without a limit"),
		queueWait: f.histogram("weir_gateway_queue_wait_seconds", "wait for a place, of those who got none as well", waitLadder, "route"),
		refused:   f.counter("weir_gateway_refused_total", "requests that got no place, by reason", "route", "reason"),
		duration:  f.histogram("weir_gateway_request_duration_seconds", "from the request to the end of the upstream's answer", durationLadder, append(answer, "outcome")...),
		ttft:      f.histogram("weir_gateway_ttft_seconds", "from the request to the first output of the model; streams without output are in the outcomes only", ttftLadder, answer...),
		firstText: f.histogram("weir_gateway_first_text_seconds", "from the request to the first visible text", ttftLadder, answer...),
		gaps:      f.histogram("weir_gateway_gap_seconds", "between two arrivals of output, those around tools and stages left out", gapLadder, answer...),
		outcomes:  f.counter("weir_gateway_outcomes_total", "answers by how the upstream ended them", append(answer, "outcome")...),
		ends:      f.counter("weir_gateway_ends_total", "streams by the last frame that the client got, and why the gateway ended them", "route", "terminal", "reason"),
		openings:  f.counter("weir_gateway_openings_total", "streams whose client was answered: by the first output, when the hold ended, or early; the last two commit 200 before it", "route", "by"),
		silences:  f.counter("weir_gateway_silences_total", "streams without progress for the time of a tier (log, act, tell), or below the floor (slow)", "route", "tier"),
		retries:   f.counter("weir_gateway_retries_total", "attempts that failed before the first output and had a successor", "route", "reason"),
		cancels:   f.counter("weir_gateway_cancels_total", "upstream requests cancelled before their end", "route", "state", "reason"),
		saved:     f.counter("weir_gateway_saved_tokens_total", "the most tokens that cancelling can have saved: the limit that was asked for, less what certainly came", "route"),
		generated: f.counter("weir_gateway_generated_tokens_total", "output tokens that the upstream generated: as it states, what the model thought included, else as counted per event", answer...),
		delivered: f.counter("weir_gateway_delivered_tokens_total", "of those, the ones written to the client; what was thought and not shown is none", answer...),
		uncounted: f.counter("weir_gateway_uncounted_answers_total", "answers whose tokens nobody stated or counted, so that they are missing from the sums", append([]string{"tokens"}, answer...)...),
		events:    f.counter("weir_gateway_relayed_events_total", "events written to clients", "route"),
		bytes:     f.counter("weir_gateway_relayed_bytes_total", "bytes written to clients", "route"),
		added:     f.histogram("weir_gateway_added_latency_seconds", "from the oldest upstream read in a write to the client to the end of that write", addedLadder, "route"),

		served: f.histogram("http_server_request_duration_seconds", "from a request of a client to the end of its answer, refused ones as well", serverLadder,
			"http_request_method", "http_response_status_code", "http_route", "url_scheme", "error_type"),

		panics:     f.counter("weir_gateway_panics_total", "failures of the gateway's own that ended one stream or socket, by where: any is a mistake in it", "where"),
		reloads:    f.counter("weir_gateway_config_reloads_total", "configurations that were read while the gateway ran: taken_up, or refused so that the one before stayed", "result"),
		reloaded:   f.gauge("weir_gateway_config_last_reload_successful", "1 where the newest configuration is in force, 0 where it was refused"),
		configured: f.gauge("weir_gateway_config_last_reload_success_timestamp_seconds", "when the configuration in force was taken up"),
	}
}

// factory makes registered metrics.
type factory struct{ r prometheus.Registerer }

func (f factory) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	f.r.MustRegister(v)
	return v
}

func (f factory) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	f.r.MustRegister(v)
	return v
}

// histogram is a classic and a native one in one: who scrapes decides. The
// growth of 1.1 per bucket is at most 5 % of error; more than 160 buckets
// widen, and shrink again after an hour.
func (f factory) histogram(name, help string, ladder []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: ladder,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
	}, labels)
	f.r.MustRegister(v)
	return v
}
