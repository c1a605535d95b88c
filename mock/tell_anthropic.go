package mock

import (
	"net/http"
	"time"

	"weir/stream"
)

func readAnthropic(_ *http.Request, q request) (ask, error) {
	return q.ask(q.Stream != nil && *q.Stream), nil
}

func failAnthropic(status int, message string) []byte {
	kinds := map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
		404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"}
	kind, ok := kinds[status]
	if !ok {
		kind = "api_error"
	}
	return jsonOf(object{"type": "error", "error": object{"type": kind, "message": message}})
}

// anthropic tells Messages (WIRE §2.5).
type anthropic struct {
	teller
	index int         // of the open content block
	block stream.Kind // the open block's kind; KindOther = none open
}

func newAnthropic(t teller) talk { return &anthropic{teller: t, index: -1} }

// say adds an event whose name is its type.
func (a *anthropic) say(p *page, kind stream.Kind, name string, fields object, state map[string]any) {
	fields["type"] = name
	p.event(kind, name, withState(jsonOf(fields), state))
}

func (a *anthropic) open(p *page) {
	a.say(p, stream.KindConnect, "message_start", object{"message": object{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.ask.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": a.ask.promptSize, "output_tokens": 1},
	}}, nil)
}

func (a *anthropic) begin(*page, timing) {}

func (a *anthropic) output(p *page, o output) {
	a.took(o)
	if o.kind != a.block {
		a.openBlock(p, o)
	}
	if o.kind == stream.KindTool && o.first {
		return // the block's start names the tool: that is the output
	}
	delta := object{"type": "text_delta", "text": string(o.text)}
	switch o.kind {
	case stream.KindReasoning:
		delta = object{"type": "thinking_delta", "thinking": string(o.text)}
	case stream.KindTool:
		delta = object{"type": "input_json_delta", "partial_json": string(a.takeArgs())}
	}
	a.say(p, o.kind, "content_block_delta", object{"index": a.index, "delta": delta}, o.state)
}

func (a *anthropic) openBlock(p *page, o output) {
	a.closeBlock(p)
	a.index, a.block = a.index+1, o.kind
	block, class := object{"type": "text", "text": ""}, stream.KindConnect
	switch o.kind {
	case stream.KindReasoning:
		block = object{"type": "thinking", "thinking": "", "signature": ""}
	case stream.KindTool:
		block = object{"type": "tool_use", "id": "toolu_" + a.id, "name": toolName, "input": object{}}
		if o.last {
			block["input"] = rawArgs(o.text)
		}
		class = stream.KindTool
	}
	a.say(p, class, "content_block_start", object{"index": a.index, "content_block": block}, nil)
	if a.index == 0 {
		a.heartbeat(p, "event") // the service pings after the first block's start
	}
}

func (a *anthropic) closeBlock(p *page) {
	if a.block == stream.KindOther {
		return
	}
	if a.block == stream.KindReasoning {
		a.say(p, stream.KindHeartbeat, "content_block_delta", object{"index": a.index,
			"delta": object{"type": "signature_delta", "signature": "bW9jaw=="}}, nil)
	}
	a.say(p, stream.KindHeartbeat, "content_block_stop", object{"index": a.index}, nil)
	a.block = stream.KindOther
}

func (a *anthropic) queue(p *page, d time.Duration)              { sayComment(p, "queue", d) }
func (a *anthropic) stage(p *page, name string, d time.Duration) { sayComment(p, "stage "+name, d) }
func (a *anthropic) emit(p *page, name string)                   { a.say(p, stream.KindOther, name, object{}, nil) }

func (a *anthropic) heartbeat(p *page, form string) {
	if form == "comment" {
		p.comment("keep-alive")
		return
	}
	a.say(p, stream.KindHeartbeat, "ping", object{}, nil)
}

func (a *anthropic) stopReason() any {
	switch {
	case a.b.NoFinish:
		return nil
	case a.b.Tool > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (a *anthropic) close(p *page) {
	a.closeBlock(p)
	end := object{"delta": object{"stop_reason": a.stopReason(), "stop_sequence": nil}}
	if a.b.Usage != "none" {
		end["usage"] = object{"output_tokens": a.outputTokens()}
	}
	if !a.b.NoFinish || a.b.Usage != "none" {
		a.say(p, stream.KindDone, "message_delta", end, nil)
	}
	if !a.b.NoDone {
		a.say(p, stream.KindDone, "message_stop", object{}, nil)
	}
}

func (a *anthropic) fail(p *page) {
	a.say(p, stream.KindError, "error", object{"error": object{"type": "overloaded_error", "message": failMessage}}, nil)
}

func (a *anthropic) whole(p *page) {
	var content []any
	if len(a.thought) > 0 {
		content = append(content, object{"type": "thinking", "thinking": string(a.thought), "signature": "bW9jaw=="})
	}
	if len(a.text) > 0 {
		content = append(content, object{"type": "text", "text": string(a.text)})
	}
	if a.b.Tool > 0 {
		content = append(content, object{"type": "tool_use", "id": "toolu_" + a.id, "name": toolName, "input": rawArgs(a.args)})
	}
	p.event(stream.KindText, "", jsonOf(object{"id": "msg_" + a.id, "type": "message", "role": "assistant",
		"model": a.ask.model, "content": content, "stop_reason": a.stopReason(), "stop_sequence": nil,
		"usage": object{"input_tokens": a.ask.promptSize, "output_tokens": a.outputTokens()}}))
}
