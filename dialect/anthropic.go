package dialect

import (
	"net/http"
	"strings"

	"github.com/valyala/fastjson"

	"weir/stream"
)

// anthropic is the Messages protocol (WIRE §2.5), also as Vertex, Ollama,
// DeepSeek, Kimi and others speak it.
type anthropic struct{}

func (anthropic) Name() string { return "anthropic" }

func (d anthropic) Match(h Hint) bool { return d.reason(h) != "" }

func (anthropic) reason(h Hint) string {
	switch {
	case h.pathEnds("/messages") != "":
		return "path " + h.Path
	case h.Event == "message_start" || strings.HasPrefix(h.Event, "content_block_"):
		return "first event is " + h.Event
	case h.Event == "ping" && h.says("type") && h.says("ping"):
		return "first event is a ping in its form"
	case h.says("message_start"):
		return "first frame has the type message_start"
	case h.says("overloaded_error") || h.says("rate_limit_error") || h.says("authentication_error"):
		return "first frame is an error in its form"
	case h.says("stop_reason") && h.says("content"):
		return "first frame has content and stop_reason"
	}
	return ""
}

type anthropicRequest struct {
	Model     string    `json:"model"`
	MaxTokens int       `json:"max_tokens"`
	System    string    `json:"system,omitempty"`
	Messages  []Message `json:"messages"`
	Stream    bool      `json:"stream"`
}

// anthropicVersion is the API version the requests are written in.
const anthropicVersion = "2023-06-01"

// Request asks for a message; usage always comes.
func (anthropic) Request(a Ask) (*http.Request, error) {
	u, err := a.endpoint("/v1/messages", "/v1")
	if err != nil {
		return nil, err
	}
	header := a.keyHeader("X-Api-Key", "")
	header.Set("Anthropic-Version", anthropicVersion)
	system, turns := a.system()
	return a.post(u, anthropicRequest{a.model(), a.maxTokens(), system, turns, !a.Whole}, acceptSSE, header)
}

func (anthropic) NewClassifier() Classifier {
	c := &messages{}
	c.p = c
	return c
}

type messages struct {
	frames
	started bool
	total   stream.Usage // merged: the input is told at the start, the output at the end
	hidden  int          // thinking blocks that have shown nothing
	shown   bool         // the thinking block at hand has shown something
}

func (c *messages) event(v *fastjson.Value) {
	if !isObject(v) {
		c.other("data is JSON but no object")
		return
	}
	kind := c.intern(strBytes(v.Get("type")))
	if kind != "" {
		c.name = kind
	}
	if f := faultOf(v); f != nil {
		c.fail(f)
		return
	}
	switch kind {
	case "message_start":
		c.start(v.Get("message"))
	case "content_block_start":
		c.blockStart(v.Get("content_block"))
	case "content_block_delta":
		c.blockDelta(v.Get("delta"))
	case "content_block_stop", "ping":
		c.add(stream.KindHeartbeat)
	case "message_delta":
		c.messageDelta(v)
	case "message_stop":
		c.proved(stream.ProofTerminal)
		c.done(0, "", stream.ProofTerminal)
	case "":
		c.other("object without a type")
	default:
		c.other("unknown type " + excerpt([]byte(kind)))
	}
}

// start opens the message. A second one voids the first: a retry that was
// spliced into the stream.
func (c *messages) start(m *fastjson.Value) {
	c.identify(m.Get("id"), m.Get("model"))
	if c.started {
		c.total, c.hidden = stream.Usage{}, 0
		c.restart("a second message_start")
	} else {
		c.add(stream.KindConnect)
	}
	c.started = true
	c.account(m.Get("usage"))
	if c.usage != nil {
		c.usage.Seed = true
	}
}

// account merges a usage object, cumulative, into the message's and puts the
// result on the frame.
func (c *messages) account(u *fastjson.Value) {
	if !isObject(u) {
		return
	}
	merge := func(to *stream.Maybe[int], from *fastjson.Value) {
		if n, ok := integer(from); ok {
			*to = stream.Some(n)
		}
	}
	merge(&c.total.Input, u.Get("input_tokens"))
	merge(&c.total.Cached, u.Get("cache_read_input_tokens"))
	merge(&c.total.Output, u.Get("output_tokens"))
	merge(&c.total.Billed, u.Get("output_tokens"))
	merge(&c.total.Reasoning, u.Get("output_tokens_details").Get("thinking_tokens"))
	merge(&c.total.Reasoning, u.Get("output_tokens_details").Get("reasoning_tokens"))
	if !c.total.Input.Known() && !c.total.Output.Known() {
		return
	}
	c.usage = new(c.total)
	if c.hidden > 0 && !c.total.Reasoning.Known() {
		c.usage.Output = stream.None[int]() // it holds thinking that was not streamed, how much is not said
	}
}

// blockStart opens a content block. One that names a tool is output; a result
// of a tool that the service ran is a stage; a fallback to another model voids
// what came before.
func (c *messages) blockStart(b *fastjson.Value) {
	from := len(c.out)
	switch kind := str(b.Get("type")); {
	case strings.HasSuffix(kind, "tool_use"):
		name := str(b.Get("name"))
		c.call(0, name, name)
	case strings.HasSuffix(kind, "tool_result"):
		c.add(stream.KindStage).Name = kind
	case strings.HasSuffix(kind, "thinking"): // thinking, redacted_thinking
		c.hidden++
		c.shown = false
		c.thought(str(b.Get("thinking")))
	case kind == "fallback":
		c.restart("fallback to another model")
	default:
		c.block(b)
	}
	c.orElse(from, stream.KindConnect)
}

// block adds the output that a content block holds as a whole.
func (c *messages) block(b *fastjson.Value) {
	c.delta(stream.KindText, 0, str(b.Get("text")))
	c.thought(str(b.Get("thinking")))
}

func (c *messages) thought(s string) {
	if s == "" {
		return
	}
	if c.hidden > 0 && !c.shown {
		c.hidden--
	}
	c.shown = true
	e := c.add(stream.KindReasoning)
	e.Text, e.Summary = s, summarises(c.model)
}

// summarises reports whether a model shows its thinking only as a summary, as
// Anthropic's manual says of every Claude that thinks but 3.7: the output tokens
// then count the whole thought, not what was streamed.
func summarises(model string) bool {
	return strings.HasPrefix(model, "claude-") && !strings.HasPrefix(model, "claude-3")
}

func (c *messages) blockDelta(d *fastjson.Value) {
	from := len(c.out)
	switch kind := strBytes(d.Get("type")); string(kind) {
	case "text_delta", "compaction_delta":
		c.delta(stream.KindText, 0, str(d.Get("text"))+str(d.Get("content")))
	case "thinking_delta":
		c.thought(str(d.Get("thinking")))
	case "input_json_delta":
		c.delta(stream.KindTool, 0, str(d.Get("partial_json")))
	case "signature_delta", "citations_delta": // nothing a reader sees
	default:
		c.other("unknown delta " + excerpt(kind))
	}
	c.orElse(from, stream.KindHeartbeat)
}

func (c *messages) messageDelta(v *fastjson.Value) {
	c.account(v.Get("usage"))
	if reason := str(v.Get("delta").Get("stop_reason")); reason != "" {
		c.proved(stream.ProofFinish)
		c.done(0, reason, stream.ProofFinish)
	} else if c.usage == nil {
		c.add(stream.KindHeartbeat)
	}
}

func (c *messages) body(v *fastjson.Value) {
	if array(v.Get("content")) == nil && str(v.Get("type")) != "message" {
		return
	}
	c.identify(v.Get("id"), v.Get("model"))
	for _, b := range array(v.Get("content")) {
		c.shown = false
		if strings.HasSuffix(str(b.Get("type")), "thinking") {
			c.hidden++
		}
		if strings.HasSuffix(str(b.Get("type")), "tool_use") {
			c.call(0, str(b.Get("name")), toolText(b.Get("name"), b.Get("input")))
		} else {
			c.block(b)
		}
	}
	c.account(v.Get("usage"))
	if reason := str(v.Get("stop_reason")); reason != "" {
		c.proved(stream.ProofFinish)
		c.done(0, reason, stream.ProofFinish)
	}
	c.wholeEnd()
}
