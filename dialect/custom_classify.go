package dialect

import (
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"weir/stream"
)

type customStream struct {
	frames
	spec    *spec
	choices []customChoice
	raw     []byte // the frame's data where it is text
}

type customChoice struct {
	choice
	soFar map[stream.Kind]string // of cumulative rules
}

func (c *customStream) at(i int) *customChoice {
	for len(c.choices) <= i {
		n := len(c.choices)
		c.choices = append(c.choices, customChoice{choice: choice{pieces: func(k stream.Kind, s string) { c.delta(k, n, s) }}})
	}
	return &c.choices[i]
}

func (c *customStream) plainText(b []byte) {
	if isSentinel(trimJSON(b)) {
		c.sentinel()
		return
	}
	c.raw = b
	c.event(nil)
	c.raw = nil
}

// event applies the first rule for the event's name whose conditions hold.
func (c *customStream) event(v *fastjson.Value) {
	if c.name == "" {
		c.name = c.intern(strBytes(c.spec.NameAt.get(v)))
	}
	list := c.spec.Events[c.name]
	if c.name == "" {
		list = c.spec.Events["message"]
	}
	if list == nil && c.name != "" {
		list = c.spec.Events["*"]
	}
	for _, r := range list {
		if r.holds(v) {
			c.apply(r, v)
			return
		}
	}
	switch f := faultOf(v); {
	case f != nil:
		c.fail(f)
	case isPing(c.name):
		c.add(stream.KindHeartbeat)
	case list != nil:
		c.other(fmt.Sprintf("no rule for %q holds", c.name))
	default:
		c.other(fmt.Sprintf("no rule for events named %q", c.name))
	}
}

// apply makes the events that a rule finds in v.
func (c *customStream) apply(r *rule, v *fastjson.Value) {
	f := c.spec.Fields
	c.identify(f.ID.get(v), f.Model.get(v))
	i, ok := integer(f.Choice.get(v))
	if !ok || i >= maxChoices {
		i = 0
	}
	a, from := c.at(i), len(c.out)
	a.started = true
	switch r.Kind.kind {
	case stream.KindRestart:
		c.restart("")
		*a = customChoice{choice: choice{started: true, pieces: a.pieces}}
		a.tokens.restart()
	case stream.KindError:
		e := fault(r.Code.text(v), r.Message.text(v))
		e.Recoverable = r.Recoverable
		c.fail(e)
	}
	c.output(r, a, i, v)
	c.stagesOf(r, v)
	c.usageOf(r.Usage, v)
	c.count(a, v)
	c.doneOf(r, a, i, v)
	a.tokens.settle(c.out[from:], stream.Kind.Business)
	state := c.state(r, v)
	if c.orElse(from, emptyKind(r.Kind.kind, state)); c.out[from].Kind == stream.KindOther {
		c.out[from].Note = "the dialect calls it other"
	}
	c.describe(c.out[from:], state, i, v)
}

// emptyKind is what an event is whose rule found no output in it.
func emptyKind(k stream.Kind, state *fastjson.Value) stream.Kind {
	switch {
	case !k.Business():
		return k
	case state != nil:
		return stream.KindStage
	}
	return stream.KindHeartbeat
}

// state is the business state that the event holds, or nil.
func (c *customStream) state(r *rule, v *fastjson.Value) *fastjson.Value {
	s := r.State.get(v)
	if s == nil {
		s = c.spec.Fields.State.get(v)
	}
	if !isObject(s) {
		return nil
	}
	return s
}

func (c *customStream) output(r *rule, a *customChoice, i int, v *fastjson.Value) {
	from := len(c.out)
	c.delta(stream.KindReasoning, i, c.news(r, a, stream.KindReasoning, r.Reasoning, v))
	if s := c.news(r, a, stream.KindText, r.Text, v); c.spec.ThinkTags == nil || *c.spec.ThinkTags {
		a.think.feed(s, a.pieces)
	} else {
		c.delta(stream.KindText, i, s)
	}
	c.call(i, c.callName(r, v), c.news(r, a, stream.KindTool, r.Tool, v))
	if r.Media.get(v) != nil {
		c.add(stream.KindMedia).Choice = i
	}
	for j := from; j < len(c.out); j++ {
		c.out[j].Summary = r.Summary && c.out[j].Kind == stream.KindReasoning
	}
}

// callName is the name of the tool whose call begins with the event, or "".
func (c *customStream) callName(r *rule, v *fastjson.Value) string {
	if !r.Call.set() {
		return ""
	}
	return r.Call.text(v)
}

// news is the text at p, or what it adds to the text so far where the protocol
// repeats all of it in every event.
func (c *customStream) news(r *rule, a *customChoice, k stream.Kind, p *jsonPath, v *fastjson.Value) string {
	if !p.set() {
		return ""
	}
	s := p.text(v)
	if c.raw != nil {
		s = text(c.raw)
	}
	if !r.Cumulative || s == "" {
		return s
	}
	if a.soFar == nil {
		a.soFar = map[stream.Kind]string{}
	}
	news, grown := strings.CutPrefix(s, a.soFar[k])
	a.soFar[k] = s
	if !grown {
		return s
	}
	return news
}

func (c *customStream) stagesOf(r *rule, v *fastjson.Value) {
	for _, s := range r.stages {
		unit := time.Second
		if s.millis {
			unit = time.Millisecond
		}
		c.stageTook(s.name, duration(s.path.get(v), unit))
	}
	if r.Kind.kind != stream.KindStage || len(r.stages) > 0 {
		return
	}
	e := c.add(stream.KindStage)
	if e.Name = r.Stage.text(v); e.Name == "" {
		e.Name = c.name
	}
	if e.Took = duration(r.TookMs.get(v), time.Millisecond); !e.Took.Known() {
		e.Took = seconds(r.TookS.get(v))
	}
}

func (c *customStream) usageOf(u *usageSpec, v *fastjson.Value) {
	if u == nil {
		return
	}
	out := stream.Usage{
		Input:     count(u.Input.get(v)),
		Cached:    count(u.Cached.get(v)),
		Output:    count(u.Output.get(v)),
		Reasoning: count(u.Reasoning.get(v)),
		Billed:    count(u.Output.get(v)),
	}
	if u.ReasoningApart && out.Output.Known() {
		out.Output = stream.Some(out.Output.Or(0) + out.Reasoning.Or(0))
	}
	if out.Input.Known() || out.Output.Known() {
		c.usage = new(out)
	}
}

// count reads the tokens that the event itself states.
func (c *customStream) count(a *customChoice, v *fastjson.Value) {
	if n, ok := integer(c.spec.Fields.Tokens.get(v)); ok {
		a.tokens.add(n)
	}
	if n, ok := integer(c.spec.Fields.TokensTotal.get(v)); ok {
		a.tokens.cumulative(n)
	}
}

// doneOf adds the end: the terminal event of a rule of kind done, or a finish
// reason that stands on another event.
func (c *customStream) doneOf(r *rule, a *customChoice, i int, v *fastjson.Value) {
	reason := r.Finish.text(v)
	if reason == "null" {
		reason = ""
	}
	switch {
	case r.Kind.kind == stream.KindDone:
		c.flushAll()
		c.proved(stream.ProofTerminal)
		c.done(i, reason, stream.ProofTerminal)
	case reason != "":
		a.think.flush(a.pieces)
		a.finished = true
		c.done(i, reason, stream.ProofFinish)
	}
}

// describe puts what the frame states of itself on its first event.
func (c *customStream) describe(events []stream.Event, state *fastjson.Value, i int, v *fastjson.Value) {
	e := &events[0]
	if n, ok := integer(c.spec.Fields.Seq.get(v)); ok {
		e.ServiceSeq = stream.Some(int64(n))
	}
	e.ServiceTime = duration(c.spec.Fields.ServiceTimeMs.get(v), time.Millisecond)
	if state != nil {
		if b := []byte(text(state.MarshalTo(nil))); fastjson.ValidateBytes(b) == nil {
			e.State = b
		} else {
			e.Note = "the business state is not valid JSON"
		}
	}
	for j := range events {
		if !events[j].Kind.Business() { // output has its choice
			events[j].Choice = i
		}
	}
}

func (c *customStream) flushAll() {
	for i := range c.choices {
		c.choices[i].think.flush(c.choices[i].pieces)
	}
}

// Flush implements Flusher.
func (c *customStream) Flush(emit func(*stream.Event)) {
	c.flush(emit, c.flushAll)
}

// Ended implements Classifier: where choices name a finish reason, all of them
// prove the end.
func (c *customStream) Ended() stream.End {
	end := c.end
	all := len(c.choices) > 0
	for i := range c.choices {
		all = all && (c.choices[i].finished || !c.choices[i].started)
	}
	if all {
		end.Proof = max(end.Proof, stream.ProofFinish)
	}
	return end
}

func (c *customStream) body(v *fastjson.Value) {
	if c.spec.Whole == nil {
		c.event(v)
		return
	}
	if c.spec.Whole.holds(v) {
		c.apply(c.spec.Whole, v)
		c.wholeEnd()
	}
}
