package gateway

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"weir/stream"
)

const chatUsage = `data: {"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":17,"total_tokens":20,"completion_tokens_details":{"reasoning_tokens":5}}}` + "\n\n"

func responsesEvent(data string) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
	return "event: " + kind + "\ndata: " + data + "\n\n"
}

// What an answer's tokens are, in every dialect: by the usage that its service
// stated, else by counts per event, else missing, and never 0.
func TestTokensOfAnAnswer(t *testing.T) {
	delta := responsesEvent(`{"type":"response.output_text.delta","sequence_number":1,"item_id":"i","output_index":0,"content_index":0,"delta":"a"}`)
	usage := `"usage":{"input_tokens":3,"output_tokens":9,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":12}`
	logprobs := strings.Replace(chat("a"), `"finish_reason":null`, `"logprobs":{"content":[{"token":"a","logprob":-1,"top_logprobs":[]},{"token":"b","logprob":-1,"top_logprobs":[]}]},"finish_reason":null`, 1)
	for name, c := range map[string]struct {
		path                 string
		answer               []string
		generated, delivered stream.Maybe[int]
		by                   string
	}{
		"chat, stated, thought was hidden": {"/v1/chat/completions", []string{chat("a"), chat("b"), chatFinish, chatUsage, chatDone}, stream.Some(17), stream.Some(12), fromUsage},
		"chat, stated by none":             {"/v1/chat/completions", []string{chat("a"), chat("b"), chatFinish, chatDone}, stream.None[int](), stream.None[int](), ""},
		"chat, counted":                    {"/v1/chat/completions", []string{logprobs, logprobs, chatFinish, chatDone}, stream.Some(4), stream.Some(4), fromEvents},
		"chat, counted in part":            {"/v1/chat/completions", []string{logprobs, chat("b"), chatFinish, chatDone}, stream.None[int](), stream.None[int](), ""},
		"chat, a count that is none":       {"/v1/chat/completions", []string{chat("a"), chatFinish, strings.Replace(strings.Replace(chatUsage, ":17", ":0", 1), ":5", ":0", 1), chatDone}, stream.None[int](), stream.None[int](), ""},
		"responses":                        {"/v1/responses", []string{delta, responsesEvent(`{"type":"response.completed","sequence_number":2,"response":{"id":"r","status":"completed",` + usage + `}}`)}, stream.Some(9), stream.Some(9), fromUsage},
		"responses that failed":            {"/v1/responses", []string{delta, responsesEvent(`{"type":"response.failed","sequence_number":2,"response":{"id":"r","status":"failed","error":{"code":"server_error","message":"no"},` + usage + `}}`)}, stream.Some(9), stream.None[int](), fromUsage},
		"anthropic":                        {"/v1/messages", []string{anthropicText, anthropicStop, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"}, stream.Some(6), stream.Some(6), fromUsage},
		"anthropic, cut":                   {"/v1/messages", []string{anthropicText}, stream.None[int](), stream.None[int](), ""},
		"ollama":                           {"/api/chat", []string{`{"model":"m","message":{"role":"assistant","content":"a"},"done":false}` + "\n", `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":2,"eval_count":8}` + "\n"}, stream.Some(8), stream.Some(8), fromUsage},
		"gemini":                           {"/v1beta/models/m:streamGenerateContent?alt=sse", []string{`data: {"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":4,"thoughtsTokenCount":3}}` + "\n\n"}, stream.Some(7), stream.Some(4), fromUsage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := start(t, small, scripted(t, func(w http.ResponseWriter, r *http.Request) {
				if c.path != "/api/chat" {
					sse(c.answer...)(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/x-ndjson")
				_, _ = io.WriteString(w, strings.Join(c.answer, ""))
			}))
			resp := post(t, g.url+c.path, ask1, "X-Request-Id", "tokens-of-it")
			_, _ = io.ReadAll(resp.Body) // it may be cut
			until(t, "it ended", func() bool { return len(g.all()) == 1 })
			e := g.all()[0]
			if e.Generated.Tokens != c.generated || e.Delivered.Tokens != c.delivered || e.Generated.Source != c.by {
				t.Errorf("generated %+v, delivered %+v; want %v and %v by %q", e.Generated, e.Delivered, c.generated, c.delivered, c.by)
			}
			sum := g.g.done.find("tokens-of-it", anonymous)
			if sum == nil || sum.Generated != e.Generated || sum.Delivered != e.Delivered {
				t.Errorf("the record has %+v", sum)
			}
			want, ok := c.generated.Get()
			if got := e.Records[0].Facts.Extra; ok && got["tokens_generated"] != strconv.Itoa(want) || !ok && got["tokens_generated"] != "" || got["tokens_generated_by"] != c.by {
				t.Errorf("the log has %v", got)
			}
		})
	}
}

// Of an answer that its client did not get whole only counts say what it got.
func TestTokensThatDidNotArrive(t *testing.T) {
	whole := []*stream.Record{{Outcome: stream.Complete, Usage: &stream.Usage{Output: stream.Some(17)}}}
	for name, c := range map[string]struct {
		s    *session
		want stream.Maybe[int]
		by   string
	}{
		"stated":             {&session{result: result{generated: Amount{Events: 2}}}, stream.None[int](), ""},
		"stated and counted": {&session{result: result{generated: Amount{Events: 2}, counted: true, genTokens: 16}, tokens: 9}, stream.Some(9), fromEvents},
	} {
		sum := &summary{Generated: c.s.generated, Delivered: Amount{Events: 1}}
		sum.count(c.s, whole)
		if sum.Generated.Tokens != stream.Some(17) || sum.Delivered.Tokens != c.want || sum.Delivered.Source != c.by {
			t.Errorf("%s: generated %+v, delivered %+v", name, sum.Generated, sum.Delivered)
		}
	}
}

// A cancel can have saved what was asked for less what has certainly come, at
// most: where nobody counts, one token of what was said.
func TestTokensSavedAtMost(t *testing.T) {
	logprobs := strings.Replace(chat("a"), `"finish_reason":null`, `"logprobs":{"content":[{"token":"a","logprob":-1,"top_logprobs":[]},{"token":"b","logprob":-1,"top_logprobs":[]}]},"finish_reason":null`, 1)
	usage := strings.Replace(chat("a"), `"choices"`, `"usage":{"prompt_tokens":3,"completion_tokens":40,"total_tokens":43},"choices"`, 1)
	for name, c := range map[string]struct {
		path, ask, answer string
		want              stream.Maybe[int]
	}{
		"nobody counts":       {"/v1/chat/completions", `{"stream":true,"max_tokens":500}`, chat("a") + chat("b"), stream.Some(499)},
		"counted per event":   {"/v1/chat/completions", `{"stream":true,"max_completion_tokens":500}`, logprobs + logprobs, stream.Some(496)},
		"stated as it comes":  {"/v1/chat/completions", `{"stream":true,"max_tokens":500}`, usage, stream.Some(460)},
		"more than asked":     {"/v1/chat/completions", `{"stream":true,"max_tokens":30}`, usage, stream.Some(0)},
		"two answers":         {"/v1/chat/completions", `{"stream":true,"max_tokens":500,"n":2}`, chat("a"), stream.Some(999)},
		"no limit asked":      {"/v1/chat/completions", `{"stream":true}`, chat("a"), stream.None[int]()},
		"a seed is no count":  {"/v1/messages", `{"stream":true,"max_tokens":500}`, anthropicText, stream.Some(499)},
		"gemini":              {"/v1beta/models/m:streamGenerateContent?alt=sse", `{"generationConfig":{"maxOutputTokens":100,"candidateCount":2}}`, `data: {"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"}}]}` + "\n\n", stream.Some(199)},
		"ollama":              {"/api/chat", `{"options":{"num_predict":100}}`, `{"model":"m","message":{"role":"assistant","content":"a"},"done":false}` + "\n", stream.Some(99)},
		"ollama, without end": {"/api/chat", `{"options":{"num_predict":-1}}`, `{"model":"m","message":{"role":"assistant","content":"a"},"done":false}` + "\n", stream.None[int]()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			format := "text/event-stream"
			if strings.HasPrefix(name, "ollama") {
				format = "application/x-ndjson"
			}
			g := start(t, small, scripted(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", format)
				_, _ = io.WriteString(w, c.answer)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}))
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			resp, err := tryPost(ctx, g.url+c.path, c.ask, "X-Request-Id", "saved-by-it")
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.ReadFull(resp.Body, make([]byte, len(c.answer)))
			leave()
			_ = resp.Body.Close()
			until(t, "it ended", func() bool { return len(g.all()) == 1 })
			g.mu.Lock()
			defer g.mu.Unlock()
			if err != nil || len(g.saved) != 1 || g.saved[0] != c.want {
				t.Fatalf("saved %v, want %v (%v, %v)", g.saved, c.want, g.cancelled, err)
			}
			most, ok := c.want.Get()
			if got := g.ended[0].Records[0].Facts.Extra["tokens_saved_at_most"]; ok && got != strconv.Itoa(most) || !ok && got != "" {
				t.Errorf("the log has %q", got)
			}
			if sum := g.g.done.find("saved-by-it", anonymous); sum == nil || sum.Saved != c.want {
				t.Errorf("the record has %+v", sum)
			}
		})
	}
}
