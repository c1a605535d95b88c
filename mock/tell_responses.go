package mock

import (
	"time"

	"weir/stream"
)

// responses tells the Responses API (WIRE §2.6).
type responses struct {
	teller
	index int // of the open output item
	item  stream.Kind
	items []any // finished
	part  []byte
}

func newResponses(t teller) talk {
	t.seq = -1 // sequence_number begins at 0
	return &responses{teller: t, index: -1}
}

// say adds an event whose name is its type, numbered.
func (r *responses) say(p *page, kind stream.Kind, name string, fields object) {
	r.sayK(p, kind, name, fields, 0, nil)
}

func (r *responses) sayK(p *page, kind stream.Kind, name string, fields object, k int, state map[string]any) {
	fields["type"], fields["sequence_number"] = name, r.nextSeq(k)
	p.event(kind, name, withState(jsonOf(fields), state))
}

func (r *responses) response(status string, output []any) object {
	return object{"id": "resp_" + r.id, "object": "response", "created_at": created, "status": status,
		"model": r.ask.model, "output": output, "usage": nil, "error": nil, "incomplete_details": nil,
		"instructions": nil, "metadata": object{}, "parallel_tool_calls": true, "temperature": 1, "top_p": 1,
		"tool_choice": "auto", "tools": []any{}}
}

func (r *responses) open(p *page) {
	if r.b.Queue > 0 {
		r.say(p, stream.KindConnect, "response.created", object{"response": r.response("queued", []any{})})
		r.say(p, stream.KindStage, "response.queued", object{"response": r.response("queued", []any{})})
		return
	}
	r.say(p, stream.KindConnect, "response.created", object{"response": r.response("in_progress", []any{})})
	r.inProgress(p)
}

func (r *responses) inProgress(p *page) {
	r.say(p, stream.KindConnect, "response.in_progress", object{"response": r.response("in_progress", []any{})})
}

// opensAt: a queued response is created before it waits.
func (r *responses) opensAt() stream.Maybe[time.Duration] {
	if r.b.Queue > 0 {
		return stream.Some(min(r.b.RoleAt.Or(0), r.b.Queue))
	}
	return r.b.RoleAt
}

func (r *responses) begin(*page, timing) {}

// itemOf is the output item of a kind, with what it holds so far.
func (r *responses) itemOf(kind stream.Kind, status, text string, content []any) object {
	switch kind {
	case stream.KindReasoning:
		return object{"id": "rs_" + r.id, "type": "reasoning", "status": status, "summary": []any{}, "content": content}
	case stream.KindTool:
		return object{"id": "fc_" + r.id, "type": "function_call", "status": status, "call_id": "call_" + r.id,
			"name": toolName, "arguments": text}
	}
	return object{"id": "msg_" + r.id, "type": "message", "status": status, "role": "assistant", "content": content}
}

func (r *responses) partOf(kind stream.Kind, text string) object {
	if kind == stream.KindReasoning {
		return object{"type": "reasoning_text", "text": text}
	}
	return object{"type": "output_text", "annotations": []any{}, "logprobs": []any{}, "text": text}
}

// at is where a delta belongs.
func (r *responses) at(kind stream.Kind, more object) object {
	more["item_id"], more["output_index"] = r.itemOf(kind, "", "", nil)["id"], r.index
	if kind != stream.KindTool {
		more["content_index"] = 0
	}
	return more
}

func (r *responses) output(p *page, o output) {
	r.took(o)
	if o.kind != r.item {
		r.closeItem(p)
		r.index, r.item = r.index+1, o.kind
		r.addItem(p, o)
		if o.kind == stream.KindTool {
			return // the item names the tool: that is the output
		}
	}
	r.part = append(r.part, o.text...)
	text := o.text
	if o.kind == stream.KindTool {
		text = r.takeArgs()
	}
	fields := r.at(o.kind, object{"delta": string(text)})
	name := "response.output_text.delta"
	switch o.kind {
	case stream.KindReasoning:
		name = "response.reasoning_text.delta"
	case stream.KindTool:
		name = "response.function_call_arguments.delta"
	default:
		fields["logprobs"] = []any{}
	}
	r.sayK(p, o.kind, name, fields, o.k, o.state)
}

// addItem opens an output item.
func (r *responses) addItem(p *page, o output) {
	kind, k := stream.KindConnect, 0
	if o.kind == stream.KindTool {
		kind, k = o.kind, o.k
	}
	r.sayK(p, kind, "response.output_item.added", object{"output_index": r.index,
		"item": r.itemOf(o.kind, "in_progress", "", []any{})}, k, nil)
	if o.kind != stream.KindTool {
		r.say(p, stream.KindConnect, "response.content_part.added", r.at(o.kind, object{"part": r.partOf(o.kind, "")}))
	}
}

// closeItem ends the open item: its texts are repeated whole.
func (r *responses) closeItem(p *page) {
	if r.item == stream.KindOther {
		return
	}
	kind, text := r.item, string(r.part)
	if kind == stream.KindTool {
		text = string(r.args)
	}
	var content []any
	switch kind {
	case stream.KindTool:
		r.say(p, stream.KindHeartbeat, "response.function_call_arguments.done", r.at(kind, object{"arguments": text, "name": toolName}))
	case stream.KindReasoning:
		r.say(p, stream.KindHeartbeat, "response.reasoning_text.done", r.at(kind, object{"text": text}))
	default:
		r.say(p, stream.KindHeartbeat, "response.output_text.done", r.at(kind, object{"text": text, "logprobs": []any{}}))
	}
	if kind != stream.KindTool {
		content = []any{r.partOf(kind, text)}
		r.say(p, stream.KindHeartbeat, "response.content_part.done", r.at(kind, object{"part": content[0]}))
	}
	item := r.itemOf(kind, "completed", text, content)
	r.say(p, stream.KindHeartbeat, "response.output_item.done", object{"output_index": r.index, "item": item})
	r.items = append(r.items, item)
	r.item, r.part = stream.KindOther, r.part[:0]
}

func (r *responses) queue(p *page, _ time.Duration) {
	r.inProgress(p)
}
func (r *responses) stage(p *page, name string, d time.Duration) { sayComment(p, "stage "+name, d) }
func (r *responses) emit(p *page, name string)                   { r.say(p, stream.KindOther, name, object{}) }

func (r *responses) heartbeat(p *page, form string) {
	if form == "event" {
		r.say(p, stream.KindHeartbeat, "keepalive", object{})
		return
	}
	p.comment("keep-alive")
}

func (r *responses) usageOf() any {
	if r.b.Usage == "none" {
		return nil
	}
	return object{"input_tokens": r.ask.promptSize, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": r.outputTokens(), "output_tokens_details": object{"reasoning_tokens": r.reasoningTokens()},
		"total_tokens": r.ask.promptSize + r.outputTokens()}
}

func (r *responses) close(p *page) {
	r.closeItem(p)
	if r.b.NoDone {
		return
	}
	status := "completed"
	if r.b.NoFinish {
		status = "" // a terminal event that does not say how it ended
	}
	done := r.response(status, r.items)
	done["usage"] = r.usageOf()
	r.say(p, stream.KindDone, "response.completed", object{"response": done})
}

func (r *responses) fail(p *page) {
	r.say(p, stream.KindError, "error", object{"code": failCode, "message": failMessage, "param": nil})
	failed := r.response("failed", []any{})
	failed["error"] = object{"code": "server_error", "message": failMessage}
	r.say(p, stream.KindDone, "response.failed", object{"response": failed})
}

func (r *responses) whole(p *page) {
	var items []any
	for _, it := range []struct {
		kind stream.Kind
		text []byte
	}{{stream.KindReasoning, r.thought}, {stream.KindText, r.text}, {stream.KindTool, r.args}} {
		if len(it.text) > 0 {
			items = append(items, r.itemOf(it.kind, "completed", string(it.text), []any{r.partOf(it.kind, string(it.text))}))
		}
	}
	body := r.response("completed", items)
	body["usage"] = r.usageOf()
	p.event(stream.KindText, "", jsonOf(body))
}
