package dialect

import (
	"net/http"
	"strings"

	"github.com/valyala/fastjson"

	"weir/stream"
)

// dify is the streaming protocol of Dify apps (WIRE §2.18): chat, agent,
// chatflow and workflow. The kind of an event stands in data.event.
type dify struct{}

func (dify) Name() string { return "dify" }

func (d dify) Match(h Hint) bool { return d.reason(h) != "" }

func (dify) reason(h Hint) string {
	switch {
	case h.pathEnds("/chat-messages", "/completion-messages", "/workflows/run") != "":
		return "path " + h.Path
	case h.says("event") && (h.says("task_id") || h.says("conversation_id") || h.says("workflow_run_id")):
		return "first frame has event and task_id"
	}
	return ""
}

type difyRequest struct {
	Inputs         map[string]any `json:"inputs"`
	Query          string         `json:"query,omitempty"`
	ResponseMode   string         `json:"response_mode"`
	ConversationID string         `json:"conversation_id"`
	User           string         `json:"user"`
}

// Request asks an app. The model and the length of the answer are the app's
// own settings. A workflow takes the prompt as its input "query".
func (dify) Request(a Ask) (*http.Request, error) {
	u, err := a.endpoint("/v1/chat-messages", "/v1")
	if err != nil {
		return nil, err
	}
	body := difyRequest{Inputs: map[string]any{}, ResponseMode: "streaming", User: "weir"}
	if a.Whole {
		body.ResponseMode = "blocking"
	}
	if strings.HasSuffix(u.Path, "/chat-messages") {
		body.Query = a.prompt()
	} else {
		body.Inputs["query"] = a.prompt()
	}
	return a.post(u, body, acceptSSE, a.bearer())
}

func (dify) NewClassifier() Classifier {
	c := &difyStream{thoughts: map[string]string{}}
	c.p = c
	c.pieces = func(k stream.Kind, s string) { c.delta(k, 0, s) }
	return c
}

type difyStream struct {
	frames
	think    thinker
	pieces   func(stream.Kind, string)
	thoughts map[string]string // by id, as last told: each event repeats the whole thought
}

func (c *difyStream) event(v *fastjson.Value) {
	if !isObject(v) {
		c.other("data is JSON but no object")
		return
	}
	kind := c.intern(strBytes(v.Get("event")))
	if kind != "" {
		c.name = kind
	}
	c.identify(v.Get("message_id"), nil)
	if kind == "error" {
		c.fail(fault(codeOf(v), messageOf(v)))
		return
	}
	if f := faultOf(v); f != nil {
		c.fail(f)
		return
	}
	from := len(c.out)
	c.named(kind, v)
	c.orElse(from, stream.KindHeartbeat)
}

func (c *difyStream) named(kind string, v *fastjson.Value) {
	switch kind {
	case "message", "agent_message":
		c.think.feed(str(v.Get("answer")), c.pieces)
	case "text_chunk":
		c.think.feed(str(v.Get("data").Get("text")), c.pieces)
	case "agent_thought":
		c.thought(v)
	case "message_replace", "text_replace":
		c.think = thinker{}
		c.restart("the answer was replaced")
		c.think.feed(str(v.Get("answer"))+str(v.Get("data").Get("text")), c.pieces)
	case "message_file", "tts_message":
		c.add(stream.KindMedia)
	case "tts_message_end", "ping":
	case "message_end":
		c.finish(v.Get("metadata").Get("usage"), "")
	case "workflow_finished":
		c.workflowFinished(v)
	case "":
		c.other("object without an event")
	default:
		c.phase(kind, v)
	}
}

// thought is an agent's step: its thought as it grows, its tool, the tool's
// result.
func (c *difyStream) thought(v *fastjson.Value) {
	const most = 1024
	id, thought := str(v.Get("id")), str(v.Get("thought"))
	news, grown := strings.CutPrefix(thought, c.thoughts[id])
	if !grown {
		news = thought
	}
	if len(c.thoughts) < most || c.thoughts[id] != "" {
		c.thoughts[id] = thought
	}
	c.delta(stream.KindReasoning, 0, news)
	tool := str(v.Get("tool"))
	switch {
	case tool == "":
	case str(v.Get("observation")) != "":
		c.add(stream.KindStage).Name = "tool_result"
	default:
		c.call(0, tool, tool)
	}
}

// phase is a step of a workflow: workflow_started, node_started, node_finished,
// iteration_…, loop_… or parallel_branch_….
func (c *difyStream) phase(kind string, v *fastjson.Value) {
	step := false
	for _, begin := range [...]string{"workflow_", "node_", "iteration_", "loop_", "parallel_branch_", "agent_log", "human_input_"} {
		step = step || strings.HasPrefix(kind, begin)
	}
	if !step {
		c.other("unknown event " + excerpt([]byte(kind)))
		return
	}
	data := v.Get("data")
	e := c.add(stream.KindStage)
	e.Name = kind
	for _, key := range [...]string{"title", "node_type"} {
		if s := str(data.Get(key)); s != "" {
			e.Name = s
			break
		}
	}
	e.Took = seconds(data.Get("elapsed_time"))
}

// workflowFinished ends a workflow app; in a chatflow message_end follows.
func (c *difyStream) workflowFinished(v *fastjson.Value) {
	data := v.Get("data")
	if status := str(data.Get("status")); status == "failed" || status == "stopped" && str(data.Get("error")) != "" {
		c.fail(fault(status, str(data.Get("error"))))
		return
	}
	if has(v, "conversation_id") || has(v, "message_id") {
		c.stageTook("workflow", seconds(data.Get("elapsed_time")))
		return
	}
	c.finish(nil, str(data.Get("status")))
}

func (c *difyStream) finish(usage *fastjson.Value, finish string) {
	c.think.flush(c.pieces)
	c.usage = chatUsage(usage)
	c.proved(stream.ProofTerminal)
	c.done(0, finish, stream.ProofTerminal)
}

// Flush implements Flusher.
func (c *difyStream) Flush(emit func(*stream.Event)) {
	c.flush(emit, func() { c.think.flush(c.pieces) })
}

// body is the answer of response_mode blocking.
func (c *difyStream) body(v *fastjson.Value) {
	c.identify(v.Get("message_id"), nil)
	switch data := v.Get("data"); {
	case v.Get("answer") != nil:
		c.think.feed(str(v.Get("answer")), c.pieces)
		c.finish(v.Get("metadata").Get("usage"), "")
	case has(v, "workflow_run_id") && isObject(data):
		if s := jsonText(data.Get("outputs")); s != "" {
			c.think.feed(s, c.pieces)
		}
		c.workflowFinished(v)
	}
}
