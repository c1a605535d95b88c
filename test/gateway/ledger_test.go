package gateway

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/telemetry"
)

// The counters of tokens move in every dialect that states a usage, by what it
// states; an answer that nobody counted is counted as one, and a client that
// leaves can have saved what it asked for less what certainly came.
func TestTokensAreCounted(t *testing.T) {
	const chunk = `data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}` + "\n\n"
	const end = `data: {"id":"c","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	answers := map[string]string{
		"/v1/chat/completions": chunk + end + `data: {"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":11,"total_tokens":14}}` + "\n\ndata: [DONE]\n\n",
		"/v1/responses": "event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","sequence_number":1,"item_id":"i","output_index":0,"content_index":0,"delta":"a"}` + "\n\n" +
			"event: response.completed\n" + `data: {"type":"response.completed","sequence_number":2,"response":{"id":"r","model":"m","status":"completed","usage":{"input_tokens":3,"output_tokens":13,"total_tokens":16}}}` + "\n\n",
		"/v1/messages": "event: message_start\n" + `data: {"type":"message_start","message":{"id":"a","model":"m","usage":{"input_tokens":3,"output_tokens":1}}}` + "\n\n" +
			"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}` + "\n\n" +
			"event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":17}}` + "\n\n" +
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		"/api/chat":                      `{"model":"m","message":{"role":"assistant","content":"a"},"done":false}` + "\n" + `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":19}` + "\n",
		"/uncounted/v1/chat/completions": chunk + end + "data: [DONE]\n\n",
		"/left/v1/chat/completions":      chunk,
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", map[bool]string{true: "application/x-ndjson", false: "text/event-stream"}[r.URL.Path == "/api/chat"])
		_, _ = io.WriteString(w, answers[r.URL.Path])
		_ = http.NewResponseController(w).Flush()
		if strings.HasPrefix(r.URL.Path, "/left/") {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(service.Close)
	count := telemetry.NewGateway(telemetry.Options{})
	at := startBefore(t, service.URL, setup{name: "ledger"}, count)
	for path, answer := range answers {
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, at+path, strings.NewReader(`{"model":"m","stream":true,"max_tokens":500}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = io.ReadFull(resp.Body, make([]byte, len(answer))); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		leave()
		_ = resp.Body.Close()
	}
	eventually(t, "all are counted", func() bool {
		return strings.Contains(metrics(t, count), `weir_gateway_requests_active{route="/*"} 0`)
	})
	text := metrics(t, count)
	const labels = `{model="m",route="/*",upstream="main"}`
	for _, line := range []string{
		"weir_gateway_generated_tokens_total" + labels + " 60",
		"weir_gateway_delivered_tokens_total" + labels + " 60",
		`weir_gateway_saved_tokens_total{route="/*"} 499`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%s is not in\n%s", line, grep(text, "tokens"))
		}
	}
	if got := grep(text, "weir_gateway_uncounted_answers_total{"); strings.Count(got, `tokens="generated"`) == 0 || strings.Count(got, `tokens="delivered"`) == 0 {
		t.Errorf("the answers that nobody counted: %s", got)
	}
}
