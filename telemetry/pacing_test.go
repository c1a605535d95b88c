package telemetry

import (
	"strings"
	"testing"
)

func TestPacingIsCounted(t *testing.T) {
	g := NewGateway(Options{})
	g.Paced("/v1/*", 0)
	g.Paced("/v1/*", 100*ms)
	g.Rhythm("/v1/*", 80*ms, 10*ms)
	g.Limited("/v1/*", 250*ms)
	text := scrape(t, g.Handler())
	for _, line := range []string{
		`weir_gateway_pacing_delay_seconds_count{route="/v1/*"} 2`,
		`weir_gateway_pacing_delay_seconds_sum{route="/v1/*"} 0.1`,
		`weir_gateway_pacing_delay_seconds_bucket{route="/v1/*",le="0.05"} 1`,
		`weir_gateway_pacing_gap_stddev_seconds_sum{route="/v1/*",side="before"} 0.08`,
		`weir_gateway_pacing_gap_stddev_seconds_sum{route="/v1/*",side="after"} 0.01`,
		`weir_gateway_output_wait_seconds_sum{route="/v1/*"} 0.25`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("missing %s", line)
		}
	}
}
