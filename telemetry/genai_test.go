package telemetry

import (
	"slices"
	"strings"
	"testing"

	"weir/stream"
)

// text is the conventions' own: old name, new name, instrument, unit. "-" is
// a name that a convention does not have.
const text = `
gen_ai.client.operation.duration              gen_ai.client.inference.duration                            histogram s
gen_ai.client.operation.time_to_first_chunk   gen_ai.client.inference.time_to_first_chunk                 histogram s
gen_ai.client.operation.time_per_output_chunk gen_ai.client.inference.time_per_output_chunk               histogram s
gen_ai.client.token.usage                     -                                                           histogram {token}
-                                             gen_ai.client.inference.usage.input_tokens                  counter   {token}
-                                             gen_ai.client.inference.usage.output_tokens                 counter   {token}
-                                             gen_ai.client.inference.usage.cache_read.input_tokens       counter   {token}
-                                             gen_ai.client.inference.usage.reasoning.output_tokens       counter   {token}
-                                             gen_ai.client.inference.operation.input_tokens              histogram {token}
-                                             gen_ai.client.inference.operation.output_tokens             histogram {token}
`

func TestNamesAreTheConventions(t *testing.T) {
	type metric struct {
		semconv                Semconv
		name, instrument, unit string
	}
	var want, got []metric
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		for i, s := range []Semconv{GenAI141, GenAI01} {
			if f[i] != "-" {
				want = append(want, metric{s, f[i], f[2], f[3]})
			}
		}
	}
	for _, n := range genAINames {
		instrument := "histogram"
		if n.ladder == nil {
			instrument = "counter"
		}
		if m := (metric{n.semconv, n.name, instrument, n.unit}); !slices.Contains(got, m) {
			got = append(got, m)
		}
	}
	for _, m := range want {
		if !slices.Contains(got, m) {
			t.Errorf("missing: %+v", m)
		}
	}
	for _, m := range got {
		if !slices.Contains(want, m) {
			t.Errorf("not of the conventions: %+v", m)
		}
	}
}

func TestSwitch(t *testing.T) {
	const (
		newer = `gen_ai_client_inference_time_to_first_chunk_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="m"} 1`
		older = `gen_ai_client_operation_time_to_first_chunk_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="m"} 1`
		fault = `gen_ai_client_inference_duration_seconds_count{error_type="truncated",gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="m"} 1`
		sound = `gen_ai_client_inference_duration_seconds_count{error_type="",gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="m"} 1`
		sum   = `gen_ai_client_inference_usage_input_tokens_total{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="m"} 14`
		in    = `gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="m",gen_ai_token_type="input"} 14`
		out   = `gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="m",gen_ai_token_type="output"} 10`
	)
	for s, has := range map[Semconv][]string{
		GenAI01: {newer, fault, sound, sum}, GenAI141: {older, in, out}, Both: {newer, older, fault, sound, sum, in, out},
	} {
		got := scrape(t, all(s).Handler())
		for _, line := range []string{newer, older, fault, sound, sum, in, out} {
			if strings.Contains(got, line+"\n") != slices.Contains(has, line) {
				t.Errorf("%s: %s: wanted %v", s, line, slices.Contains(has, line))
			}
		}
	}
}

func TestParseSemconv(t *testing.T) {
	for _, s := range []string{"", "0.1", "1.41", "both"} {
		if _, err := ParseSemconv(s); err != nil {
			t.Error(err)
		}
	}
	if _, err := ParseSemconv("2.0"); err == nil || !strings.Contains(err.Error(), "0.1, 1.41 or both") {
		t.Errorf("2.0: %v", err)
	}
}

func TestAttributes(t *testing.T) {
	for dialect, want := range map[string][2]string{
		"openai.chat": {"chat", "openai"}, "openai.responses": {"chat", "openai"}, "anthropic": {"chat", "anthropic"},
		"gemini": {"generate_content", "gcp.gemini"}, "ollama": {"chat", "ollama"}, "": {"chat", "unknown"},
	} {
		if got := [2]string{operation(dialect), provider(dialect)}; got != want {
			t.Errorf("%s: %v, want %v", dialect, got, want)
		}
	}
	if errorType(stream.Unknown) != "_OTHER" || errorType(stream.Gapped) != "" || errorType(stream.Reset) != "reset" {
		t.Error("error.type")
	}
}
