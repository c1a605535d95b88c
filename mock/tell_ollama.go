package mock

import (
	"net/http"
	"time"

	"weir/stream"
)

func readOllama(_ *http.Request, q request) (ask, error) {
	a := q.ask(q.Stream == nil || *q.Stream)
	if a.streamed {
		a.framing, a.mime = framingNDJSON, "application/x-ndjson"
	}
	return a, nil
}

func failOllama(_ int, message string) []byte { return jsonOf(object{"error": message}) }

// ollama tells /api/chat and /api/generate (WIRE §2.9). It has no opening
// event and no comments: queue and stages pass in silence.
type ollama struct {
	teller
	chat bool
	wait timing // before the first output
	last time.Duration
}

func newOllamaChat(t teller) talk     { return &ollama{teller: t, chat: true} }
func newOllamaGenerate(t teller) talk { return &ollama{teller: t} }

func (l *ollama) open(*page)                         {}
func (l *ollama) begin(_ *page, w timing)            { l.wait, l.last = w, w.ttft }
func (l *ollama) queue(*page, time.Duration)         {}
func (l *ollama) stage(*page, string, time.Duration) {}

func (l *ollama) emit(p *page, name string) {
	p.event(stream.KindOther, "", jsonOf(object{"event": name}))
}

// line is one object of the stream. created_at is the service's clock: the
// moment the event is due.
func (l *ollama) line(text, thinking string, done bool) object {
	line := object{"model": l.ask.model, "created_at": l.start.Add(l.last).UTC().Format(time.RFC3339Nano), "done": done}
	if !l.chat {
		line["response"] = text
		if thinking != "" {
			line["thinking"] = thinking
		}
		return line
	}
	message := object{"role": "assistant", "content": text}
	if thinking != "" {
		message["thinking"] = thinking
	}
	line["message"] = message
	return line
}

func toolCall(args []byte) []any {
	return []any{object{"function": object{"name": toolName, "arguments": object{"query": queryOf(args)}}}}
}

func (l *ollama) output(p *page, o output) {
	l.took(o)
	l.last = o.at
	var line object
	switch {
	case o.kind == stream.KindReasoning:
		line = l.line("", string(o.text), false)
	case o.kind == stream.KindTool && l.chat: // calls come whole
		line = l.line("", "", false)
		line["message"].(object)["tool_calls"] = toolCall(o.text)
	default:
		line = l.line(string(o.text), "", false)
	}
	if l.b.Usage == "every" {
		l.count(line)
	}
	p.event(o.kind, "", withState(jsonOf(line), o.state))
}

func (l *ollama) count(line object) {
	line["prompt_eval_count"], line["eval_count"] = l.ask.promptSize, l.outputTokens()
}

func (l *ollama) heartbeat(p *page, form string) {
	if form == "event" {
		p.event(stream.KindHeartbeat, "", jsonOf(l.line("", "", false)))
		return
	}
	p.comment("")
}

func (l *ollama) end(line object) {
	if !l.b.NoFinish {
		line["done_reason"] = "stop"
	}
	if l.b.Usage != "none" {
		l.count(line)
		line["total_duration"] = l.last.Nanoseconds()
		line["prompt_eval_duration"] = (l.wait.ttft - l.wait.queue - l.wait.prepare).Nanoseconds()
		line["eval_duration"] = (l.last - l.wait.ttft).Nanoseconds()
	}
}

func (l *ollama) close(p *page) {
	if l.b.NoDone {
		return
	}
	line := l.line("", "", true)
	l.end(line)
	p.event(stream.KindDone, "", jsonOf(line))
}

func (l *ollama) fail(p *page) { p.event(stream.KindError, "", failOllama(500, failMessage)) }

func (l *ollama) whole(p *page) {
	line := l.line(string(l.text), string(l.thought), true)
	if l.chat && l.b.Tool > 0 {
		line["message"].(object)["tool_calls"] = toolCall(l.args)
	}
	l.end(line)
	p.event(stream.KindText, "", jsonOf(line))
}
