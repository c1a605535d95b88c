package dialect

import (
	"strings"
	"testing"
)

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		hint Hint
		name string
		why  string
	}{
		{Hint{}, "openai.chat", "assumed"},
		{Hint{Path: "/v1/messages"}, "anthropic", "path /v1/messages"},
		{Hint{Path: "/v1/chat/completions"}, "openai.chat", "path /v1/chat/completions"},
		{Hint{Path: "/completion"}, "openai.chat", "path /completion"},
		{Hint{Path: "/v1/responses"}, "openai.responses", "path /v1/responses"},
		{Hint{Path: "/v1beta/models/g:streamGenerateContent"}, "gemini", "path"},
		{Hint{Path: "/v1/chat-messages"}, "dify", "path /v1/chat-messages"},
		{Hint{Path: "/api/generate"}, "ollama", "path /api/generate"},
		{Hint{Path: "/custom/chat"}, "article", "path /custom/chat"},
		{Hint{Path: "/chat", ContentType: "application/x-ndjson"}, "ollama", "content type application/x-ndjson"},
		{Hint{Path: "/x", First: []byte(`data: {"id":"c","choices":[]}`)}, "openai.chat", "first frame has choices[]"},
		{Hint{Path: "/x", Event: "message_start"}, "anthropic", "first event is message_start"},
		{Hint{Event: "ping", First: []byte(`{"type": "ping"}`)}, "anthropic", "first event is a ping in its form"},
		{Hint{Path: "/x", Event: "connected"}, "article", "first event is connected"},
		{Hint{First: []byte(`{"type": "response.created", "response"`)}, "openai.responses", "first frame has a type response."},
		{Hint{First: []byte(`{"candidates": [`)}, "gemini", "first frame has candidates[]"},
		{Hint{Path: "/v1/messages", First: []byte(`{"choices":[{"delta":{"content":"\"message_start\""}}]}`)}, "openai.chat", "first frame has choices[], though path /v1/messages is that of anthropic"},
		{Hint{Path: "/v1beta/models/g:streamGenerateContent", Event: "meta", First: []byte(`{"prepare_ms":1,"queue_ms":0}`)}, "gemini", "path"},
		{Hint{Path: "/x", Event: "meta", First: []byte(`{"prepare_ms":1,"queue_ms":0}`)}, "article", "first frame"},
		{Hint{Path: "/v1/messages", First: []byte(`{"error":"nothing known"}`)}, "anthropic", "path /v1/messages"},
	} {
		d, why := Detect(c.hint)
		if d.Name() != c.name || !strings.HasPrefix(why, c.why) {
			t.Errorf("%+v: %s because %q, want %s because %q", c.hint, d.Name(), why, c.name, c.why)
		}
	}
}

func TestDecides(t *testing.T) {
	for first, want := range map[string]bool{`{"choices":[]}`: true, `{"error":{"message":"no"}}`: false, ``: false, `{}`: false} {
		if got := Decides(Hint{First: []byte(first)}); got != want {
			t.Errorf("%s tells: %t", first, got)
		}
	}
}

func TestMatchNeedsAHint(t *testing.T) {
	for _, d := range All {
		if d.Match(Hint{}) {
			t.Errorf("%s matches an empty hint", d.Name())
		}
	}
}

func TestLookup(t *testing.T) {
	for _, d := range All {
		got, err := Lookup(d.Name())
		if err != nil || got.Name() != d.Name() {
			t.Errorf("%s: %v", d.Name(), err)
		}
	}
	_, err := Lookup("opanai")
	if err == nil || !strings.Contains(err.Error(), "openai.chat, openai.responses, anthropic, gemini, dify, ollama, article") {
		t.Errorf("error is %v", err)
	}
}
