package mock

import (
	"net/http"
	"strconv"
	"time"

	"weir/stream"
)

func readOpenAI(_ *http.Request, q request) (ask, error) {
	a := q.ask(q.Stream != nil && *q.Stream)
	a.usage, a.usageEvery = q.StreamOptions.IncludeUsage, q.StreamOptions.ContinuousUsage
	return a, nil
}

func failOpenAI(status int, message string) []byte {
	kind := "server_error"
	switch {
	case status == 401:
		kind = "authentication_error"
	case status == 429:
		kind = "rate_limit_error"
	case status < 500:
		kind = "invalid_request_error"
	}
	return jsonOf(object{"error": object{"message": message, "type": kind, "param": nil, "code": failCode}})
}

// openAIChat tells Chat Completions (WIRE §2.1).
type openAIChat struct {
	teller
	head  []byte // of every chunk, up to the delta's fields
	usage string
}

func newOpenAIChat(t teller) talk {
	c := &openAIChat{teller: t, usage: t.b.Usage}
	if c.usage == "" {
		switch {
		case t.ask.usageEvery:
			c.usage = "every"
		case t.ask.usage:
			c.usage = "end"
		default:
			c.usage = "none"
		}
	}
	c.head = append(c.chunkHead(), `"choices":[{"index":0,"delta":{`...)
	return c
}

func (c *openAIChat) chunkHead() []byte {
	h := append([]byte(`{"id":"chatcmpl-`), c.id...)
	h = append(h, `","object":"chat.completion.chunk","created":`...)
	h = append(strconv.AppendInt(h, created, 10), `,"model":`...)
	return append(appendString(h, []byte(c.ask.model)), ',')
}

// chunk adds one chunk with the fields of its delta (JSON, no braces).
func (c *openAIChat) chunk(p *page, kind stream.Kind, delta []byte, finish string, usage bool, state map[string]any) {
	s := append(append(c.scratch[:0], c.head...), delta...)
	s = append(s, `},"logprobs":null,"finish_reason":`...)
	if finish == "" {
		s = append(s, "null}]"...)
	} else {
		s = append(append(append(s, '"'), finish...), `"}]`...)
	}
	switch {
	case usage || c.usage == "every":
		s = append(append(s, `,"usage":`...), jsonOf(c.usageOf())...)
	case c.usage == "end":
		s = append(s, `,"usage":null`...)
	}
	s = withState(append(s, '}'), state)
	c.scratch = s
	p.event(kind, "", s)
}

func (c *openAIChat) usageOf() object {
	return object{
		"prompt_tokens": c.ask.promptSize, "completion_tokens": c.outputTokens(),
		"total_tokens":              c.ask.promptSize + c.outputTokens(),
		"completion_tokens_details": object{"reasoning_tokens": c.reasoningTokens()},
	}
}

func (c *openAIChat) open(p *page) {
	c.chunk(p, stream.KindConnect, []byte(`"role":"assistant","content":"","refusal":null`), "", false, nil)
}

func (c *openAIChat) begin(*page, timing) {}

func (c *openAIChat) output(p *page, o output) {
	c.took(o)
	var d []byte
	switch o.kind {
	case stream.KindReasoning:
		d = appendString([]byte(`"content":null,"reasoning_content":`), o.text)
	case stream.KindTool:
		d = append(d, `"tool_calls":[{"index":0,`...)
		if o.first {
			d = append(d, `"id":"call_`+c.id+`","type":"function",`...)
		}
		d = append(d, `"function":{`...)
		if o.first {
			d = append(d, `"name":"`+toolName+`",`...)
		}
		d = append(appendString(append(d, `"arguments":`...), o.text), "}}]"...)
	default:
		d = appendString([]byte(`"content":`), o.text)
	}
	c.chunk(p, o.kind, d, "", false, o.state)
}

func (c *openAIChat) queue(p *page, d time.Duration)              { sayComment(p, "queue", d) }
func (c *openAIChat) stage(p *page, name string, d time.Duration) { sayComment(p, "stage "+name, d) }
func (c *openAIChat) emit(p *page, name string) {
	p.event(stream.KindOther, name, jsonOf(object{"event": name}))
}

func (c *openAIChat) heartbeat(p *page, form string) {
	if form == "event" {
		c.chunk(p, stream.KindHeartbeat, nil, "", false, nil)
		return
	}
	p.comment("keep-alive")
}

func (c *openAIChat) finishReason() string {
	if c.b.Tool > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (c *openAIChat) close(p *page) {
	if !c.b.NoFinish {
		c.chunk(p, stream.KindDone, nil, c.finishReason(), c.usage == "finish", nil)
	}
	if c.usage == "end" || c.usage == "every" {
		s := append(c.chunkHead(), `"choices":[],"usage":`...)
		p.event(stream.KindUsage, "", append(append(s, jsonOf(c.usageOf())...), '}'))
	}
	if !c.b.NoDone {
		p.event(stream.KindDone, "", []byte("[DONE]"))
	}
}

func (c *openAIChat) fail(p *page) { p.event(stream.KindError, "", failOpenAI(500, failMessage)) }

func (c *openAIChat) whole(p *page) {
	message := object{"role": "assistant", "content": string(c.text), "refusal": nil}
	if len(c.thought) > 0 {
		message["reasoning_content"] = string(c.thought)
	}
	if c.b.Tool > 0 {
		message["tool_calls"] = []any{object{"id": "call_" + c.id, "type": "function",
			"function": object{"name": toolName, "arguments": string(c.args)}}}
	}
	choice := object{"index": 0, "message": message, "logprobs": nil}
	if !c.b.NoFinish {
		choice["finish_reason"] = c.finishReason()
	}
	body := object{"id": "chatcmpl-" + c.id, "object": "chat.completion", "created": created,
		"model": c.ask.model, "choices": []any{choice}}
	if c.b.Usage != "none" {
		body["usage"] = c.usageOf()
	}
	p.event(stream.KindText, "", jsonOf(body))
}
