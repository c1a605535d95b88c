package gateway

import (
	"testing"

	"weir/telemetry"
)

// OpenAI's own way to go on with an answer, starting_after, works through the
// gateway with the SDKs that have it: what they read in two parts is what they
// read in one, while the answer is made and after its end.
func TestResponsesAreRetrievedFrom(t *testing.T) {
	p := installed(t)
	m, count := upstream(t), telemetry.NewGateway(telemetry.Options{})
	url := start(t, m, setup{name: "resumable", route: "heartbeat: 10ms, resume: {enabled: true, grace: 10s}"}, count)
	for resumed, whole := range map[string]string{
		"openai-responses-resumed":    "openai-responses",
		"go-openai-3-resumed":         "go-openai-3-responses",
		"py-openai-responses-resumed": "py-openai-responses",
	} {
		t.Run(resumed, func(t *testing.T) {
			t.Parallel()
			// Each of its own seed: the mock names its answers by it.
			requests := []string{plain, quick + "n=8,seed=8,gap=30ms", quick + "n=20,seed=9,lang=zh,cut=utf8"}
			const failing = quick + "n=8,seed=10,error_after=5"
			direct := p.run(t, whole, m.URL(), "", requests)
			got := p.run(t, resumed, url, "", append(requests, failing))
			for _, settings := range requests {
				if got[settings].line != direct[settings].line {
					t.Errorf("%s:\nin two parts %s\nin one       %s", settings, got[settings].line, direct[settings].line)
				}
			}
			if r := got[failing]; r.Error == nil {
				t.Errorf("an error in the second part was not raised: %s", r.line)
			}
		})
	}
}
