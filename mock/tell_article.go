package mock

import (
	"net/http"
	"strconv"
	"time"

	"weir/stream"
)

func readArticle(_ *http.Request, q request) (ask, error) {
	return q.ask(q.Stream == nil || *q.Stream), nil
}

func failArticle(status int, message string) []byte {
	return jsonOf(object{"code": strconv.Itoa(status), "message": message})
}

// article tells the article's protocol: connected, meta, stage, token, done.
type article struct{ teller }

func newArticle(t teller) talk { return &article{t} }

func (a *article) open(p *page) {
	p.event(stream.KindConnect, "connected", jsonOf(object{"id": a.id}))
}

// opensAt: "connected" says at once that the request was taken.
func (a *article) opensAt() stream.Maybe[time.Duration] { return stream.Some(a.b.RoleAt.Or(0)) }

// begin states the wait. The mock prepares nothing of its own: stages have
// events, the queue its figure here, the rest of ttft is prefill.
func (a *article) begin(p *page, w timing) {
	p.event(stream.KindStage, "meta", jsonOf(object{
		"prepare_ms": 0, "queue_ms": millis(w.queue), "ttft_ms": millis(w.ttft)}))
}

func (a *article) output(p *page, o output) {
	a.took(o)
	s := append(a.scratch[:0], `{"type":"token","seq":`...)
	s = strconv.AppendInt(s, int64(a.nextSeq(o.k)), 10)
	s = appendString(append(s, `,"delta":`...), o.text)
	s = strconv.AppendInt(append(s, `,"token_count":`...), int64(a.b.TokensPerEvent), 10)
	s = strconv.AppendFloat(append(s, `,"service_time_ms":`...), millis(o.at), 'f', -1, 64)
	if a.b.Usage == "every" {
		s = append(append(s, `,"usage":`...), jsonOf(a.usageOf())...)
	}
	s = withState(append(s, '}'), o.state)
	a.scratch = s
	p.event(o.kind, "", s)
}

func (a *article) usageOf() object {
	return object{"prompt_tokens": a.ask.promptSize, "completion_tokens": a.outputTokens()}
}

// queue is said by meta.
func (a *article) queue(*page, time.Duration) {}

func (a *article) stage(p *page, name string, d time.Duration) {
	p.event(stream.KindStage, "stage", jsonOf(object{"name": name, "ms": millis(d)}))
}

func (a *article) emit(p *page, name string) {
	p.event(stream.KindStage, name, jsonOf(object{"event": name}))
}

func (a *article) heartbeat(p *page, form string) {
	if form == "event" { // with data it would be a stage of that name
		p.bare(stream.KindHeartbeat, "ping")
		return
	}
	p.comment("keep-alive")
}

func (a *article) close(p *page) {
	if a.b.NoDone {
		return
	}
	done := object{}
	if !a.b.NoFinish {
		done["finish_reason"] = "stop"
	}
	if a.b.Usage != "none" {
		done["usage"] = a.usageOf()
	}
	p.event(stream.KindDone, "done", jsonOf(done))
}

func (a *article) fail(p *page) {
	p.event(stream.KindError, "error", jsonOf(object{"code": failCode, "message": failMessage}))
}

func (a *article) whole(p *page) {
	body := object{"id": a.id, "text": string(a.text), "finish_reason": "stop", "usage": a.usageOf()}
	p.event(stream.KindText, "", jsonOf(body))
}
