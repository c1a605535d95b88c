package dialect

import (
	"net/http"
	"strings"

	"github.com/valyala/fastjson"

	"weir/stream"
)

// openAIResponses is the Responses protocol (WIRE §2.6): typed, numbered
// events, a terminal event, no sentinel of its own. Its relatives on a
// WebSocket (Realtime) use the same names, so they are read as well.
type openAIResponses struct{}

func (openAIResponses) Name() string { return "openai.responses" }

func (d openAIResponses) Match(h Hint) bool { return d.reason(h) != "" }

func (openAIResponses) reason(h Hint) string {
	switch {
	case h.pathEnds("/responses") != "":
		return "path " + h.Path
	case strings.HasPrefix(h.Event, "response."):
		return "first event is " + h.Event
	case h.says("object") && h.says("response") && h.says("output"):
		return "first frame is a response object"
	case h.saysPrefix("response.") || h.says("sequence_number") && h.says("type"):
		return "first frame has a type response.… or a sequence_number"
	}
	return ""
}

type responsesRequest struct {
	Model           string    `json:"model"`
	Input           []Message `json:"input"`
	MaxOutputTokens int       `json:"max_output_tokens,omitempty"`
	Stream          bool      `json:"stream"`
}

// Request asks for a response; usage always comes in the terminal event.
func (openAIResponses) Request(a Ask) (*http.Request, error) {
	u, err := a.endpoint("/v1/responses", "/v1")
	if err != nil {
		return nil, err
	}
	header := a.bearer()
	if isAzure(u) {
		header = a.keyHeader("Api-Key", "")
	}
	return a.post(u, responsesRequest{a.model(), a.turns(), a.maxTokens(), !a.Whole}, acceptSSE, header)
}

func (openAIResponses) NewClassifier() Classifier {
	c := &responses{}
	c.p, c.numbered = c, true
	return c
}

type responses struct {
	frames
	spoke  bool
	tokens counter
}

func (c *responses) event(v *fastjson.Value) {
	if !isObject(v) {
		c.other("data is JSON but no object")
		return
	}
	kind := c.intern(strBytes(v.Get("type")))
	if kind != "" {
		c.name = kind
	}
	if isPing(kind) {
		c.add(stream.KindHeartbeat)
		return
	}
	r := v.Get("response")
	c.identify(r.Get("id"), r.Get("model"))
	from := len(c.out)
	if f := faultOf(v); f != nil {
		c.fail(f)
	} else {
		c.typed(kind, v, r)
	}
	c.orElse(from, stream.KindHeartbeat)
	c.tokens.addListed(len(array(v.Get("logprobs"))))
	c.tokens.settle(c.out[from:], stream.Kind.Business)
	c.spoke = c.spoke || speaks(c.out[from:])
}

// typed classifies an event by its type.
func (c *responses) typed(kind string, v, r *fastjson.Value) {
	switch kind {
	case "response.output_text.delta", "response.text.delta", "response.refusal.delta",
		"response.audio_transcript.delta", "response.audio.transcript.delta", "response.output_audio_transcript.delta":
		c.delta(stream.KindText, 0, str(v.Get("delta")))
	case "response.reasoning_text.delta", "response.reasoning.delta":
		c.delta(stream.KindReasoning, 0, str(v.Get("delta")))
	case "response.reasoning_summary_text.delta", "response.reasoning_summary.delta":
		c.summary(v.Get("delta"))
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta", "response.mcp_call_arguments.delta",
		"response.mcp_call.arguments.delta", "response.code_interpreter_call_code.delta", "response.code_interpreter_call.code.delta":
		c.delta(stream.KindTool, 0, str(v.Get("delta")))
	case "response.audio.delta", "response.output_audio.delta", "response.image_generation_call.partial_image":
		c.add(stream.KindMedia)
	case "response.created", "response.in_progress", "response.content_part.added", "response.reasoning_summary_part.added",
		"session.created", "session.updated", "conversation.item.added", "conversation.item.created", "conversation.created":
		c.add(stream.KindConnect)
	case "response.queued":
		c.add(stream.KindStage).Name = "queue"
	case "response.output_item.added":
		c.itemAdded(v.Get("item"))
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		c.terminal(kind, r)
	case "response.keepalive": // a heartbeat, as any frame without output
	default:
		c.byName(kind)
	}
}

// summary adds reasoning that is only told in summary.
func (c *responses) summary(v *fastjson.Value) {
	if s := str(v); s != "" {
		e := c.add(stream.KindReasoning)
		e.Text, e.Summary = s, true
	}
}

// itemAdded opens an output item: a tool call with its name is output, the
// others are preamble.
func (c *responses) itemAdded(item *fastjson.Value) {
	from := len(c.out)
	switch t := str(item.Get("type")); {
	case t == "function_call" || t == "custom_tool_call" || t == "mcp_call":
		name := str(item.Get("name"))
		c.call(0, name, name)
	case strings.HasSuffix(t, "_call"): // web_search_call, file_search_call …: run by the service
		c.add(stream.KindStage).Name = t
	}
	c.orElse(from, stream.KindConnect)
}

// byName classifies the families of events that need no list: repeats of what
// was streamed, and phases of tools that the service runs.
func (c *responses) byName(kind string) {
	rest, ok := strings.CutPrefix(kind, "response.")
	family, _, _ := strings.Cut(rest, ".")
	switch {
	case !ok && kind == "":
		c.other("object without a type")
	case ok && (strings.HasSuffix(family, "_call") || family == "mcp_list_tools") && !strings.HasSuffix(kind, ".done"):
		c.add(stream.KindStage).Name = family
	case ok && (strings.HasSuffix(kind, ".done") || strings.HasSuffix(kind, ".added")):
		c.add(stream.KindHeartbeat)
	case kind == "error": // one that states nothing
		c.fail(&stream.Fault{Code: "error"})
	default:
		c.other("unknown type " + excerpt([]byte(kind)))
	}
}

// terminal is the event that ends the response. A failure that an error event
// has told already is not told twice.
func (c *responses) terminal(kind string, r *fastjson.Value) {
	status := str(r.Get("status"))
	if status == "" {
		status = strings.TrimPrefix(kind, "response.")
	}
	c.usage = responsesUsage(r.Get("usage"))
	if status == "failed" {
		c.failed(r)
		return
	}
	if !c.spoke { // a server that streams nothing but the end
		c.output(r)
	}
	if s := str(r.Get("incomplete_details").Get("reason")); s != "" {
		status = s
	}
	c.proved(stream.ProofTerminal)
	c.done(0, status, stream.ProofTerminal)
}

func (c *responses) failed(r *fastjson.Value) {
	if c.end.LastError != nil {
		c.done(0, "failed", stream.ProofNone).Note = "repeats the error before it"
		return
	}
	f := faultOf(r)
	if f == nil {
		f = &stream.Fault{Code: "failed", Message: "the response failed without saying why"}
	}
	c.fail(f)
}

// output adds the items of a finished response.
func (c *responses) output(r *fastjson.Value) {
	for _, item := range array(r.Get("output")) {
		switch string(strBytes(item.Get("type"))) {
		case "message":
			for _, p := range array(item.Get("content")) {
				c.delta(stream.KindText, 0, str(p.Get("text"))+str(p.Get("refusal")))
			}
		case "reasoning":
			for _, p := range array(item.Get("content")) {
				c.delta(stream.KindReasoning, 0, str(p.Get("text")))
			}
			for _, p := range array(item.Get("summary")) {
				c.summary(p.Get("text"))
			}
		case "function_call", "custom_tool_call", "mcp_call":
			c.call(0, str(item.Get("name")), toolText(item.Get("name"), item.Get("arguments"), item.Get("input")))
		case "image_generation_call":
			c.add(stream.KindMedia)
		}
	}
}

func (c *responses) body(v *fastjson.Value) {
	if v.Get("output") == nil && str(v.Get("object")) != "response" {
		return
	}
	c.identify(v.Get("id"), v.Get("model"))
	c.terminal("response.completed", v)
}

// responsesUsage reads a Responses usage object, whose output_tokens include
// reasoning; nil where it counts nothing.
func responsesUsage(u *fastjson.Value) *stream.Usage {
	if !isObject(u) {
		return nil
	}
	out := stream.Usage{
		Input:     count(u.Get("input_tokens")),
		Cached:    count(u.Get("input_tokens_details").Get("cached_tokens")),
		Output:    count(u.Get("output_tokens")),
		Reasoning: count(u.Get("output_tokens_details").Get("reasoning_tokens")),
		Billed:    count(u.Get("output_tokens")),
	}
	if !out.Input.Known() && !out.Output.Known() {
		return nil
	}
	return &out
}

// count is a whole number, missing where v is none.
func count(v *fastjson.Value) stream.Maybe[int] {
	if n, ok := integer(v); ok {
		return stream.Some(n)
	}
	return stream.None[int]()
}
