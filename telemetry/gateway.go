package telemetry

import (
	"cmp"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"weir/stream"
)

// Options are what a Gateway counts by. The zero value works.
type Options struct {
	Semconv    Semconv  // "" = GenAI01
	Models     []string // the models that have a label of their own; empty: those that answered, up to ModelLimit
	ModelLimit int      // 0 = 20
	Version    string   // of weir, for weir_build_info
	Role       string   // all, edge or worker, for the same: an edge and its workers count the same answers; "" = all
}

// modelLimit is how many models have a label of their own where none is said.
const modelLimit = 20

// reasonLimit bounds every other label that is not from a fixed list: reasons,
// names of upstreams.
const reasonLimit = 100

// Gateway counts what one or several gateways do; a reloaded configuration
// counts on. Its methods may be called from any goroutine.
type Gateway struct {
	registry *prometheus.Registry
	own      ownMetrics
	pacing   pacingMetrics
	relay    relayMetrics
	sockets  socketMetrics
	genAI    genAI
	models   *names
	reasons  *names
	routes   sync.Map // route → *flow
	paced    sync.Map // route → observer of its pacing
}

// flow is what is counted for every write, looked up once per route.
type flow struct {
	added  prometheus.Observer
	events prometheus.Counter
	bytes  prometheus.Counter
}

// NewGateway makes the metrics, in a registry of their own.
func NewGateway(o Options) *Gateway {
	if o.Semconv == "" {
		o.Semconv = GenAI01
	}
	if o.ModelLimit <= 0 {
		o.ModelLimit = modelLimit
	}
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	f := factory{r}
	g := &Gateway{registry: r, own: newOwn(f), pacing: newPacing(f), relay: newRelay(f), sockets: newSockets(f), genAI: newGenAI(f, o.Semconv),
		models: newNames(o.ModelLimit, o.Models...), reasons: newNames(reasonLimit)}
	f.gauge("weir_build_info", "always 1; the version is a label, and the role: all, edge or worker", "version", "role").
		WithLabelValues(o.Version, cmp.Or(o.Role, "all")).Set(1)
	return g
}

// Handler serves the metrics: text, OpenMetrics, or protobuf where native
// histograms are asked for.
func (g *Gateway) Handler() http.Handler {
	return promhttp.HandlerFor(g.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Limit states how many requests may be in flight; 0 = there is no limit, and
// no such series.
func (g *Gateway) Limit(requests int) {
	g.own.limit.Reset()
	if requests > 0 {
		g.own.limit.WithLabelValues().Set(float64(requests))
	}
}

// Queued counts a wait for a place; reason is "" where it got one.
func (g *Gateway) Queued(route string, wait time.Duration, reason string) {
	g.own.queueWait.WithLabelValues(route).Observe(wait.Seconds())
	if reason != "" {
		g.own.refused.WithLabelValues(route, g.reasons.label(reason, true)).Inc()
	}
}

// Started counts a request that got its place; Ended must follow.
func (g *Gateway) Started(route string) { g.own.active.WithLabelValues(route).Inc() }

// Relayed counts a write to a client.
func (g *Gateway) Relayed(route string, added time.Duration, events, bytes int) {
	v, ok := g.routes.Load(route)
	if !ok {
		v, _ = g.routes.LoadOrStore(route, &flow{
			g.own.added.WithLabelValues(route), g.own.events.WithLabelValues(route), g.own.bytes.WithLabelValues(route)})
	}
	f := v.(*flow)
	f.added.Observe(added.Seconds())
	f.events.Add(float64(events))
	f.bytes.Add(float64(bytes))
}

// Retried counts an attempt that failed and had a successor.
func (g *Gateway) Retried(route, reason string) {
	g.own.retries.WithLabelValues(route, g.reasons.label(reason, true)).Inc()
}

// Cancelled counts an upstream request that was cancelled before its end.
func (g *Gateway) Cancelled(route, state, reason string, saved stream.Maybe[int]) {
	g.own.cancels.WithLabelValues(route, state, g.reasons.label(reason, true)).Inc()
	if n, ok := saved.Get(); ok && n > 0 {
		g.own.saved.WithLabelValues(route).Add(float64(n))
	}
}

// Opened counts a stream whose client was answered: by output, hold or early.
func (g *Gateway) Opened(route, by string) { g.own.openings.WithLabelValues(route, by).Inc() }

// Silent counts a stream that reached a tier of silence: log, act, tell, slow.
func (g *Gateway) Silent(route, tier string) { g.own.silences.WithLabelValues(route, tier).Inc() }

// Ended counts a request that was Started, and what came of it.
func (g *Gateway) Ended(e stream.Served) {
	a := read(e)
	o := &g.own
	model := g.models.label(a.model, a.outcome.Ended())
	upstream := g.reasons.label(e.Upstream, true)
	how := outcome(a.outcome)
	if !e.Streamed && len(e.Records) == 0 {
		how = "plain" // relayed without being looked into
	}
	o.active.WithLabelValues(e.Route).Dec()
	o.outcomes.WithLabelValues(e.Route, upstream, model, how).Inc()
	if e.Streamed {
		o.ends.WithLabelValues(e.Route, terminal(e.Terminal), g.reason(e.Reason)).Inc()
	}
	observe(o.duration, a.duration, e.Route, upstream, model, how)
	observe(o.ttft, a.ttft, e.Route, upstream, model)
	observe(o.firstText, a.firstText, e.Route, upstream, model)
	observe(o.gaps, a.gaps, e.Route, upstream, model)
	count(o.generated, o.uncounted, e.Generated.Tokens, "generated", e.Route, upstream, model)
	count(o.delivered, o.uncounted, e.Delivered.Tokens, "delivered", e.Route, upstream, model)
	g.genAI.observe(&a, model)
}

func (g *Gateway) reason(s string) string {
	if s == "" {
		return "none"
	}
	return g.reasons.label(s, true)
}

// observe makes no series where there is nothing to observe.
func observe(v *prometheus.HistogramVec, values []float64, labels ...string) {
	if len(values) == 0 {
		return
	}
	h := v.WithLabelValues(labels...)
	for _, x := range values {
		h.Observe(x)
	}
}

// count adds tokens where they are known; where not, the answer is counted as
// one that is missing from the sum.
func count(sum, missing *prometheus.CounterVec, n stream.Maybe[int], which string, labels ...string) {
	if v, ok := n.Get(); ok {
		sum.WithLabelValues(labels...).Add(float64(v))
		return
	}
	missing.WithLabelValues(append([]string{which}, labels...)...).Inc()
}

func outcome(o stream.Outcome) string {
	if o == stream.Unknown {
		return Unknown
	}
	return string(o)
}

func terminal(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
