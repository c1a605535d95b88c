package telemetry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"weir/stream"
)

// Semconv says which of OpenTelemetry's GenAI conventions names follow.
type Semconv string

// The conventions. All of them are still in development, which is why there is
// a switch.
const (
	GenAI01  Semconv = "0.1"  // semantic-conventions-genai v0.1.0: gen_ai.client.inference.…
	GenAI141 Semconv = "1.41" // semantic-conventions up to v1.41.1: gen_ai.client.operation.…
	Both     Semconv = "both"
)

// ParseSemconv reads the switch; "" is GenAI01.
func ParseSemconv(s string) (Semconv, error) {
	switch v := Semconv(s); v {
	case "":
		return GenAI01, nil
	case GenAI01, GenAI141, Both:
		return v, nil
	}
	return "", fmt.Errorf("no GenAI convention is called %q; write 0.1, 1.41 or both", s)
}

// The ladders of the conventions, in seconds and tokens.
var (
	durationLadder = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokenLadder    = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)

// genAIName is one metric of one convention. A gateway is a client of the
// model service, so that only client metrics are here.
type genAIName struct {
	semconv Semconv
	name    string // as the convention has it
	unit    string
	ladder  []float64 // nil: a counter
	token   string    // gen_ai.token.type, where the metric has it
	failed  bool      // the metric has error.type
	of      func(*answer) []float64
	help    string
}

// genAINames are the conventions' names, and where their values come from.
// Rows of the same name are one metric.
var genAINames = []genAIName{
	{GenAI141, "gen_ai.client.operation.duration", "s", durationLadder, "", true, ofDuration, "duration of a request to the model service, retries included"},
	{GenAI141, "gen_ai.client.operation.time_to_first_chunk", "s", durationLadder, "", false, ofTTFT, "time to the first output of a stream"},
	{GenAI141, "gen_ai.client.operation.time_per_output_chunk", "s", durationLadder, "", false, ofChunks, "time between two arrivals of output"},
	{GenAI141, "gen_ai.client.token.usage", "{token}", tokenLadder, "input", false, ofInput, "tokens of a request, as the service states them"},
	{GenAI141, "gen_ai.client.token.usage", "{token}", tokenLadder, "output", false, ofOutput, "tokens of a request, as the service states them"},

	{GenAI01, "gen_ai.client.inference.duration", "s", durationLadder, "", true, ofDuration, "duration of a request to the model service, retries included"},
	{GenAI01, "gen_ai.client.inference.time_to_first_chunk", "s", durationLadder, "", false, ofTTFT, "time to the first output of a stream"},
	{GenAI01, "gen_ai.client.inference.time_per_output_chunk", "s", durationLadder, "", false, ofChunks, "time between two arrivals of output"},
	{GenAI01, "gen_ai.client.inference.usage.input_tokens", "{token}", nil, "", false, ofInput, "input tokens, as the service states them"},
	{GenAI01, "gen_ai.client.inference.usage.output_tokens", "{token}", nil, "", false, ofOutput, "output tokens, as the service states them"},
	{GenAI01, "gen_ai.client.inference.usage.cache_read.input_tokens", "{token}", nil, "", false, ofCached, "input tokens read from a cache, as the service states them"},
	{GenAI01, "gen_ai.client.inference.usage.reasoning.output_tokens", "{token}", nil, "", false, ofReasoning, "output tokens of reasoning, as the service states them"},
	{GenAI01, "gen_ai.client.inference.operation.input_tokens", "{token}", tokenLadder, "", false, ofInput, "input tokens of a request, as the service states them"},
	{GenAI01, "gen_ai.client.inference.operation.output_tokens", "{token}", tokenLadder, "", false, ofOutput, "output tokens of a request, as the service states them"},
}

func ofDuration(a *answer) []float64  { return a.duration }
func ofTTFT(a *answer) []float64      { return a.ttft }
func ofChunks(a *answer) []float64    { return a.chunks }
func ofInput(a *answer) []float64     { return a.input }
func ofOutput(a *answer) []float64    { return a.output }
func ofCached(a *answer) []float64    { return a.cached }
func ofReasoning(a *answer) []float64 { return a.reasoning }

// translated is the name as OpenTelemetry's rules write it for Prometheus.
func (n genAIName) translated() string {
	name := strings.ReplaceAll(n.name, ".", "_")
	if n.unit == "s" {
		name += "_seconds"
	}
	if n.ladder == nil {
		name += "_total"
	}
	return name
}

func (n genAIName) labels() []string {
	l := []string{"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model"}
	if n.token != "" {
		l = append(l, "gen_ai_token_type")
	}
	if n.failed {
		l = append(l, "error_type")
	}
	return l
}

// genAI is the conventions' metrics, those that the switch asks for.
type genAI struct {
	rows       []genAIName
	histograms map[string]*prometheus.HistogramVec
	counters   map[string]*prometheus.CounterVec
}

func newGenAI(f factory, s Semconv) genAI {
	g := genAI{histograms: map[string]*prometheus.HistogramVec{}, counters: map[string]*prometheus.CounterVec{}}
	for _, n := range genAINames {
		if s != Both && n.semconv != s {
			continue
		}
		g.rows = append(g.rows, n)
		name := n.translated()
		switch {
		case g.histograms[name] != nil:
		case n.ladder == nil:
			g.counters[name] = f.counter(name, n.help, n.labels()...)
		default:
			g.histograms[name] = f.histogram(name, n.help, n.ladder, n.labels()...)
		}
	}
	return g
}

func (g genAI) observe(a *answer, model string) {
	base := []string{operation(a.dialect), provider(a.dialect), model}
	for _, n := range g.rows {
		values := n.of(a)
		labels := slices.Clone(base)
		if n.token != "" {
			labels = append(labels, n.token)
		}
		if n.failed {
			labels = append(labels, errorType(a.outcome))
		}
		if n.ladder != nil {
			observe(g.histograms[n.translated()], values, labels...)
			continue
		}
		for _, v := range values {
			g.counters[n.translated()].WithLabelValues(labels...).Add(v)
		}
	}
}

// errorType is error.type: the outcome of what did not end; "" is no label.
func errorType(o stream.Outcome) string {
	switch {
	case o.Ended():
		return ""
	case o == stream.Unknown:
		return "_OTHER"
	}
	return string(o)
}

func operation(dialect string) string {
	if dialect == "gemini" {
		return "generate_content"
	}
	return "chat"
}

// provider is the flavour of the protocol, which is what a gateway knows of
// whoever is behind it.
func provider(dialect string) string {
	switch family, _, _ := strings.Cut(dialect, "."); family {
	case "gemini":
		return "gcp.gemini"
	case "":
		return Unknown
	default:
		return family
	}
}
