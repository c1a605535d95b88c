package mock

import (
	"fmt"
	"net/http"
	"time"

	"weir/stream"
)

func readDify(_ *http.Request, q request) (ask, error) {
	switch q.ResponseMode {
	case "", "streaming":
		return q.ask(true), nil
	case "blocking":
		return q.ask(false), nil
	}
	return ask{}, fmt.Errorf("response_mode %q: want streaming or blocking", q.ResponseMode)
}

func failDify(status int, message string) []byte {
	return jsonOf(object{"status": status, "code": failCode, "message": message})
}

// dify tells chat-messages (WIRE §2.18). It has no opening event; stages are
// workflow nodes.
type dify struct {
	teller
	nodes int
}

func newDify(t teller) talk { return &dify{teller: t} }

func (d *dify) open(*page)                        {}
func (d *dify) begin(*page, timing)               {}
func (d *dify) queue(p *page, wait time.Duration) { sayComment(p, "queue", wait) }

func (d *dify) say(p *page, kind stream.Kind, event string, fields object, state map[string]any) {
	fields["event"], fields["task_id"], fields["message_id"] = event, "task-"+d.id, "message-"+d.id
	fields["conversation_id"], fields["created_at"] = "conversation-"+d.id, created
	p.event(kind, "", withState(jsonOf(fields), state))
}

func (d *dify) stage(p *page, name string, took time.Duration) {
	d.nodes++
	d.say(p, stream.KindStage, "node_finished", object{"workflow_run_id": "run-" + d.id, "data": object{
		"id": fmt.Sprint("node-", d.nodes), "node_id": fmt.Sprint("node-", d.nodes), "node_type": "tool", "title": name,
		"index": d.nodes, "status": "succeeded", "elapsed_time": took.Seconds()}}, nil)
}

func (d *dify) emit(p *page, name string) { d.say(p, stream.KindOther, name, object{}, nil) }

func (d *dify) output(p *page, o output) {
	d.took(o)
	switch o.kind {
	case stream.KindReasoning:
		d.thoughtOf(p, o, object{"thought": string(o.text), "tool": "", "tool_input": ""})
	case stream.KindTool:
		d.thoughtOf(p, o, object{"thought": "", "tool": toolName, "tool_input": string(o.text)})
	default:
		d.say(p, o.kind, "message", object{"answer": string(o.text)}, o.state)
	}
}

func (d *dify) thoughtOf(p *page, o output, fields object) {
	fields["id"], fields["position"], fields["observation"] = fmt.Sprint("thought-", o.k), o.k, ""
	d.say(p, o.kind, "agent_thought", fields, o.state)
}

func (d *dify) heartbeat(p *page, form string) {
	if form == "comment" {
		p.comment("keep-alive")
		return
	}
	p.bare(stream.KindHeartbeat, "ping")
}

func (d *dify) metadata() object {
	if d.b.Usage == "none" {
		return object{}
	}
	return object{"usage": object{"prompt_tokens": d.ask.promptSize, "completion_tokens": d.outputTokens(),
		"total_tokens": d.ask.promptSize + d.outputTokens()}}
}

// close: message_end is end and finish in one; finish=0 has nothing to leave out.
func (d *dify) close(p *page) {
	if !d.b.NoDone {
		d.say(p, stream.KindDone, "message_end", object{"id": "message-" + d.id, "metadata": d.metadata()}, nil)
	}
}

func (d *dify) fail(p *page) {
	d.say(p, stream.KindError, "error", object{"status": 500, "code": failCode, "message": failMessage}, nil)
}

func (d *dify) whole(p *page) {
	d.say(p, stream.KindText, "message", object{"id": "message-" + d.id, "mode": "chat", "answer": string(d.text),
		"metadata": d.metadata()}, nil)
}
