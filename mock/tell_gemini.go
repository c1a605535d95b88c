package mock

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"weir/stream"
)

// readGemini reads the method out of the path: {model}:streamGenerateContent
// or {model}:generateContent. Without alt=sse a stream is a JSON array.
func readGemini(r *http.Request, q request) (ask, error) {
	call := r.PathValue("call")
	i := strings.LastIndexByte(call, ':')
	method := call[i+1:]
	if i < 0 || method != "streamGenerateContent" && method != "generateContent" {
		return ask{}, fmt.Errorf("the path ends in %q: want {model}:streamGenerateContent or {model}:generateContent", call)
	}
	q.Model = call[:i]
	a := q.ask(method == "streamGenerateContent")
	if a.streamed && r.URL.Query().Get("alt") != "sse" && r.URL.Query().Get("$alt") != "sse" {
		a.framing, a.mime = framingArray, "application/json; charset=UTF-8"
	}
	return a, nil
}

func failGemini(status int, message string) []byte {
	names := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
		429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
	name, ok := names[status]
	if !ok {
		name = "INTERNAL"
	}
	return jsonOf(object{"error": object{"code": status, "message": message, "status": name}})
}

// gemini tells generateContent (WIRE §2.8). It has no opening event.
type gemini struct {
	teller
	calls int
}

func newGemini(t teller) talk { return &gemini{teller: t} }

func (g *gemini) open(*page)                                  {}
func (g *gemini) begin(*page, timing)                         {}
func (g *gemini) queue(p *page, d time.Duration)              { sayComment(p, "queue", d) }
func (g *gemini) stage(p *page, name string, d time.Duration) { sayComment(p, "stage "+name, d) }
func (g *gemini) emit(p *page, name string) {
	p.event(stream.KindOther, name, jsonOf(object{"event": name}))
}

func (g *gemini) part(o output) object {
	switch o.kind {
	case stream.KindReasoning:
		return object{"text": string(o.text), "thought": true}
	case stream.KindTool: // calls come whole
		g.calls++
		return object{"functionCall": object{"id": fmt.Sprint("call_", g.calls), "name": toolName,
			"args": object{"query": queryOf(o.text)}}}
	}
	return object{"text": string(o.text)}
}

// chunk adds one response with its parts.
func (g *gemini) chunk(p *page, kind stream.Kind, parts []any, finish string, usage bool, state map[string]any) {
	candidate := object{"content": object{"parts": parts, "role": "model"}, "index": 0}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	body := object{"candidates": []any{candidate}, "modelVersion": g.ask.model, "responseId": g.id}
	if usage {
		body["usageMetadata"] = g.usageOf()
	}
	p.event(kind, "", withState(jsonOf(body), state))
}

// usageOf counts thoughts apart from candidates, as the service does.
func (g *gemini) usageOf() object {
	u := object{"promptTokenCount": g.ask.promptSize, "totalTokenCount": g.ask.promptSize + g.outputTokens(),
		"candidatesTokenCount": g.outputTokens() - g.reasoningTokens()}
	if g.reasoning > 0 {
		u["thoughtsTokenCount"] = g.reasoningTokens()
	}
	return u
}

func (g *gemini) output(p *page, o output) {
	g.took(o)
	g.chunk(p, o.kind, []any{g.part(o)}, "", g.b.Usage == "" || g.b.Usage == "every", o.state)
}

func (g *gemini) heartbeat(p *page, form string) {
	if form == "event" && p.framing == framingSSE {
		g.chunk(p, stream.KindHeartbeat, []any{object{"text": ""}}, "", false, nil)
		return
	}
	p.comment("keep-alive")
}

func (g *gemini) close(p *page) {
	finish := "STOP"
	if g.b.NoFinish {
		finish = ""
	}
	if finish != "" || g.b.Usage != "none" {
		g.chunk(p, stream.KindDone, []any{object{"text": ""}}, finish, g.b.Usage != "none", nil)
	}
	if p.framing == framingArray && !g.b.NoDone {
		p.closeArray()
	}
}

func (g *gemini) fail(p *page) { p.event(stream.KindError, "", failGemini(500, failMessage)) }

func (g *gemini) whole(p *page) {
	var parts []any
	if len(g.thought) > 0 {
		parts = append(parts, g.part(output{kind: stream.KindReasoning, text: g.thought}))
	}
	if len(g.text) > 0 {
		parts = append(parts, g.part(output{kind: stream.KindText, text: g.text}))
	}
	if g.b.Tool > 0 {
		parts = append(parts, g.part(output{kind: stream.KindTool, text: g.args}))
	}
	g.chunk(p, stream.KindText, parts, "STOP", g.b.Usage != "none", nil)
}
