package dialect

import (
	"net/http"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"weir/stream"
)

// ollama is Ollama's native protocol (WIRE §2.9): lines of JSON from /api/chat
// and /api/generate; the last one has done:true and the usage.
type ollama struct{}

func (ollama) Name() string { return "ollama" }

func (d ollama) Match(h Hint) bool { return d.reason(h) != "" }

func (ollama) reason(h Hint) string {
	switch {
	case h.pathEnds("/api/chat", "/api/generate") != "":
		return "path " + h.Path
	case h.says("created_at") && h.says("done") && (h.says("message") || h.says("response")):
		return "first frame has created_at and done"
	case strings.HasPrefix(h.ContentType, "application/x-ndjson"):
		return "content type " + h.ContentType
	}
	return ""
}

type ollamaRequest struct {
	Model    string        `json:"model"`
	Messages []Message     `json:"messages,omitempty"`
	Prompt   string        `json:"prompt,omitempty"`
	Stream   bool          `json:"stream"`
	Options  ollamaOptions `json:"options"`
}

type ollamaOptions struct {
	NumPredict int `json:"num_predict"`
}

// Request asks /api/chat, or /api/generate where the URL says so; usage always
// comes.
func (ollama) Request(a Ask) (*http.Request, error) {
	u, err := a.endpoint("/api/chat", "/v1", "/api")
	if err != nil {
		return nil, err
	}
	body := ollamaRequest{Model: a.model(), Stream: !a.Whole, Options: ollamaOptions{a.maxTokens()}}
	if strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/generate") {
		body.Prompt = a.prompt()
	} else {
		body.Messages = a.turns()
	}
	return a.post(u, body, "application/x-ndjson", a.bearer())
}

func (ollama) NewClassifier() Classifier {
	c := &ollamaLines{}
	c.p = c
	c.pieces = func(k stream.Kind, s string) { c.delta(k, 0, s) }
	return c
}

type ollamaLines struct {
	frames
	think  thinker
	tokens counter
	pieces func(stream.Kind, string)
}

func (c *ollamaLines) event(v *fastjson.Value) {
	if !isObject(v) {
		c.other("line is JSON but no object")
		return
	}
	if f := faultOf(v); f != nil {
		c.fail(f)
		return
	}
	message := v.Get("message")
	if v.Get("done") == nil && !isObject(message) && v.Get("response") == nil {
		c.other("object without message, response or done")
		return
	}
	c.identify(nil, v.Get("model"))
	from := len(c.out)
	c.output(v, message)
	c.tokens.addListed(len(array(v.Get("logprobs"))))
	if isTrue(v.Get("done")) {
		c.last(v)
	}
	c.tokens.settle(c.out[from:], stream.Kind.Business)
	c.orElse(from, stream.KindHeartbeat)
	if at, err := time.Parse(time.RFC3339Nano, string(strBytes(v.Get("created_at")))); err == nil && at.Year() > 1970 {
		c.out[from].ServiceTime = stream.Some(time.Duration(at.UnixNano()))
	}
}

func (c *ollamaLines) output(v, message *fastjson.Value) {
	c.delta(stream.KindReasoning, 0, str(message.Get("thinking")))
	c.delta(stream.KindReasoning, 0, str(v.Get("thinking")))
	c.think.feed(str(message.Get("content")), c.pieces)
	c.think.feed(str(v.Get("response")), c.pieces)
	for _, call := range array(message.Get("tool_calls")) {
		f := call.Get("function")
		c.call(0, str(f.Get("name")), toolText(f.Get("name"), f.Get("arguments")))
	}
}

// last reads the object with done:true. Its durations are in nanoseconds; a
// field that is zero is left out by the service.
func (c *ollamaLines) last(v *fastjson.Value) {
	c.think.flush(c.pieces)
	c.stageTook("load", duration(v.Get("load_duration"), time.Nanosecond))
	c.stageTook("prefill", duration(v.Get("prompt_eval_duration"), time.Nanosecond))
	u := stream.Usage{
		Input:  count(v.Get("prompt_eval_count")),
		Output: count(v.Get("eval_count")),
		Billed: count(v.Get("eval_count")),
	}
	if u.Input.Known() || u.Output.Known() {
		c.usage = &u
	}
	c.proved(stream.ProofTerminal)
	c.done(0, str(v.Get("done_reason")), stream.ProofTerminal)
}

// Flush implements Flusher.
func (c *ollamaLines) Flush(emit func(*stream.Event)) {
	c.flush(emit, func() { c.think.flush(c.pieces) })
}

func (c *ollamaLines) body(v *fastjson.Value) {
	if v.Get("done") != nil {
		c.event(v)
		c.wholeEnd()
	}
}
