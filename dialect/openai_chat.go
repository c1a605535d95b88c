package dialect

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"weir/stream"
)

// openAIChat is the Chat Completions protocol and what its many speakers make
// of it: OpenAI, Azure, DeepSeek, Groq, xAI, Mistral, Qwen, OpenRouter, vLLM,
// llama.cpp (its native /completion too) and others (WIRE §2.1–2.4, 2.11, 2.12).
type openAIChat struct{}

func (openAIChat) Name() string { return "openai.chat" }

func (d openAIChat) Match(h Hint) bool { return d.reason(h) != "" }

func (openAIChat) reason(h Hint) string {
	if p := h.pathEnds("/chat/completions", "/completions", "/completion"); p != "" {
		return "path " + p
	}
	switch {
	case h.says("choices"):
		return "first frame has choices[]"
	case h.says("content") && h.says("stop") && h.says("tokens_predicted"):
		return "first frame has content, stop and tokens_predicted (llama.cpp)"
	}
	return ""
}

func (openAIChat) NewClassifier() Classifier {
	c := &chat{}
	c.p, c.again = c, c.textAgain
	return c
}

// chat classifies one Chat Completions response.
type chat struct {
	frames
	choices []choice
	one     [1]choice // room for the first: most answers have one
	timed   bool      // the service's own timings were given

	last  int    // index of the choice that the last frame was of
	piece string // content of the frame at hand that is output as it stands; "" = none
}

// choice is what is known of one answer of the response.
type choice struct {
	started, finished, spoke bool
	thought                  bool // reasoning was shown
	think                    thinker
	tokens                   counter
	pieces                   func(stream.Kind, string) // adds what think gives out
}

// maxChoices bounds what a hostile index can make weir keep.
const maxChoices = 1024

func (c *chat) event(v *fastjson.Value) {
	if !isObject(v) {
		c.other("data is JSON but no object")
		return
	}
	c.repeat.forget()
	c.piece = ""
	c.identify(v.Get("id"), v.Get("model"))
	f := faultOf(v)
	if f != nil {
		c.fail(f)
	}
	c.readUsage(v)
	list := array(v.Get("choices"))
	if len(list) > maxChoices {
		c.other(fmt.Sprintf("%d choices in one frame; the first %d are read", len(list), maxChoices))
		list = list[:maxChoices]
	}
	switch {
	case len(list) > 0:
		for i, x := range list {
			c.choice(i, x, v, len(list) == 1, f != nil)
		}
		c.timings(v)
	case f != nil:
	case v.Get("choices") != nil:
		c.preamble(v)
		c.timings(v)
	case v.Get("content") != nil && (v.Get("stop") != nil || v.Get("tokens") != nil):
		c.completion(v)
	case c.usage == nil:
		c.preamble(v)
	}
	c.serviceTimes(v)
	if len(list) == 1 && len(c.out) == 1 && c.usage == nil && f == nil {
		c.learn(list[0], v)
	}
}

// learn keeps a frame that brought one piece of text and nothing else, if one
// with another text would have done the same.
func (c *chat) learn(x, chunk *fastjson.Value) {
	if c.piece == "" || c.out[0].Tokens.Known() || chunk.Get("timings") != nil || string(strBytes(x.Get("delta").Get("content"))) != c.piece {
		return
	}
	c.last = c.out[0].Choice
	c.repeat.learn(c.raw, c.name, `"content"`, c.piece)
}

// textAgain is event for a frame like the one that was learned. Text that may
// be a tag may be no output, and then the rest of the frame matters.
func (c *chat) textAgain(b []byte) bool {
	a := &c.choices[c.last]
	if a.think.held != "" || bytes.IndexByte(b, '<') >= 0 {
		return false
	}
	a.think.feed(text(b), a.pieces)
	c.settle(a, 0)
	return true
}

// settle is the end of a choice's frame, whose events begin at from.
func (c *chat) settle(a *choice, from int) {
	a.spoke = a.spoke || speaks(c.out[from:])
	a.thought = a.thought || thinks(c.out[from:])
	a.tokens.settle(c.out[from:], stream.Kind.Business)
}

func (c *chat) body(v *fastjson.Value) {
	if v.Get("choices") == nil && v.Get("content") == nil {
		return
	}
	c.event(v)
	c.wholeEnd()
}

// preamble is a chunk without choices that is neither error nor usage alone.
func (c *chat) preamble(v *fastjson.Value) {
	switch {
	case has(v, "prompt_filter_results"):
		c.add(stream.KindConnect)
	case c.progress(0, v):
	case c.usage != nil:
	case v.Get("choices") != nil:
		c.add(stream.KindHeartbeat)
	default:
		c.other("object without choices")
	}
}

// at returns the choice's state, made when it is first seen.
func (c *chat) at(i int) *choice {
	if c.choices == nil {
		c.choices = c.one[:0]
	}
	for len(c.choices) <= i {
		n := len(c.choices)
		c.choices = append(c.choices, choice{pieces: func(k stream.Kind, s string) { c.delta(k, n, s) }})
	}
	return &c.choices[i]
}

func (c *chat) choice(position int, x, chunk *fastjson.Value, only, failed bool) {
	i, ok := integer(x.Get("index"))
	if !ok {
		i = min(position, maxChoices-1)
	}
	if i >= maxChoices {
		c.other(fmt.Sprintf("choice index %d is beyond %d", i, maxChoices-1))
		return
	}
	a, from := c.at(i), len(c.out)
	a.started = true
	delta := x.Get("delta")
	if !isObject(delta) && !a.spoke { // a whole message; after deltas it only repeats them
		delta = x.Get("message")
	}
	c.output(i, a, delta, x)
	c.countTokens(a, x, chunk, only)
	over := a.finished
	if finish := str(x.Get("finish_reason")); finish != "" && finish != "null" {
		c.finish(i, a, finish, failed)
	}
	c.settle(a, from)
	switch {
	case len(c.out) > from || failed:
	case over && c.usage != nil: // the usage is the event
	case c.progress(i, chunk):
	case has(delta, "role"), len(array(delta.Get("tool_calls"))) > 0:
		c.add(stream.KindConnect).Choice = i
	default:
		c.add(stream.KindHeartbeat).Choice = i
	}
}

// output adds the reasoning, text, tool and media deltas of a choice.
func (c *chat) output(i int, a *choice, delta, x *fastjson.Value) {
	c.reasoning(i, delta)
	switch content := delta.Get("content"); {
	case content == nil:
	case content.Type() == fastjson.TypeString:
		s := str(content)
		if a.think.held == "" && strings.IndexByte(s, '<') < 0 {
			c.piece = s
		}
		a.think.feed(s, a.pieces)
	default:
		c.parts(i, a, array(content))
	}
	c.delta(stream.KindText, i, str(delta.Get("refusal")))
	if s := strBytes(x.Get("text")); len(s) > 0 { // legacy completions
		a.think.feed(text(s), a.pieces)
	}
	c.audio(i, delta)
	for _, call := range array(delta.Get("tool_calls")) {
		c.toolCall(i, call.Get("function"))
		c.toolCall(i, call.Get("custom"))
	}
	c.toolCall(i, delta.Get("function_call"))
	if e := x.Get("error"); e != nil {
		if f := errorField(e, x); f != nil {
			c.fail(f).Choice = i
		}
	}
}

// reasoning takes reasoning_content, else reasoning (some servers send both,
// alike), else the details.
func (c *chat) reasoning(i int, delta *fastjson.Value) {
	from := len(c.out)
	details := array(delta.Get("reasoning_details"))
	for _, key := range [...]string{"reasoning_content", "reasoning"} {
		if len(c.out) == from {
			c.delta(stream.KindReasoning, i, str(delta.Get(key)))
		}
	}
	if len(c.out) == from {
		for _, d := range details {
			c.delta(stream.KindReasoning, i, str(d.Get("text"))+str(d.Get("summary")))
		}
	}
	if len(details) > 0 && str(details[0].Get("type")) == "reasoning.summary" {
		for j := from; j < len(c.out); j++ {
			c.out[j].Summary = true
		}
	}
}

// parts is a content array (Mistral): thinking, text and other parts.
func (c *chat) parts(i int, a *choice, list []*fastjson.Value) {
	for _, p := range list {
		switch kind := strBytes(p.Get("type")); string(kind) {
		case "text", "output_text":
			a.think.feed(str(p.Get("text")), a.pieces)
		case "refusal":
			c.delta(stream.KindText, i, str(p.Get("refusal")))
		case "thinking":
			c.delta(stream.KindReasoning, i, str(p.Get("thinking")))
			for _, q := range array(p.Get("thinking")) {
				c.delta(stream.KindReasoning, i, str(q.Get("text")))
			}
		case "image_url", "input_audio", "audio", "image":
			c.add(stream.KindMedia).Choice = i
		default:
			e := c.add(stream.KindOther)
			e.Choice, e.Note = i, "content part "+excerpt(kind)
		}
	}
}

func (c *chat) audio(i int, delta *fastjson.Value) {
	if a := delta.Get("audio"); isObject(a) {
		if len(strBytes(a.Get("data"))) > 0 {
			c.add(stream.KindMedia).Choice = i
		}
		c.delta(stream.KindText, i, str(a.Get("transcript")))
	}
	if len(array(delta.Get("images"))) > 0 {
		c.add(stream.KindMedia).Choice = i
	}
}

// toolCall adds a tool event where there are arguments or a name.
func (c *chat) toolCall(i int, f *fastjson.Value) {
	if !isObject(f) {
		return
	}
	c.call(i, str(f.Get("name")), toolText(f.Get("name"), f.Get("arguments"), f.Get("input")))
}

// toolText is the piece of arguments, or the name where there are none yet.
func toolText(name *fastjson.Value, arguments ...*fastjson.Value) string {
	none := ""
	for _, v := range arguments {
		switch s := jsonText(v); s {
		case "":
		case "{}":
			none = s
		default:
			return s
		}
	}
	if s := str(name); s != "" {
		return s
	}
	return none
}

// countTokens reads the counts a chunk may hold: one logprob or one token id
// per token, or the cumulative usage of a chunk with one choice.
func (c *chat) countTokens(a *choice, x, chunk *fastjson.Value, only bool) {
	n := len(array(x.Get("token_ids")))
	if lp := x.Get("logprobs"); n == 0 && isObject(lp) {
		n = len(array(lp.Get("content"))) + len(array(lp.Get("refusal"))) + len(array(lp.Get("tokens")))
	}
	a.tokens.addListed(n)
	if !only || c.isBody {
		return
	}
	if c.usage == nil {
		if n, ok := integer(chunk.Get("timings").Get("predicted_n")); ok { // llama.cpp, timings_per_token
			a.tokens.cumulative(n)
		}
		return
	}
	if n, ok := c.usage.Output.Get(); ok {
		a.thought = a.thought || thinks(c.out)
		if !a.thought { // reasoning that was not shown is on no event
			n -= c.usage.Reasoning.Or(0)
		}
		a.tokens.cumulative(n)
	}
}

// thinks reports whether one of the events is reasoning.
func thinks(events []stream.Event) bool {
	for i := range events {
		if events[i].Kind == stream.KindReasoning {
			return true
		}
	}
	return false
}

func (c *chat) finish(i int, a *choice, reason string, failed bool) {
	a.think.flush(a.pieces)
	if reason == "error" {
		if !failed && c.end.LastError == nil {
			c.fail(&stream.Fault{Code: "error", Message: "finish_reason is error"}).Choice = i
		}
		return
	}
	a.finished = true
	c.done(i, reason, stream.ProofFinish)
}

// Flush implements Flusher: text held for a <think> that never came.
func (c *chat) Flush(emit func(*stream.Event)) {
	c.flush(emit, func() {
		for i := range c.choices {
			c.choices[i].think.flush(c.choices[i].pieces)
		}
	})
}

// Ended implements Classifier: a finish reason on every started choice proves
// the end, whatever else came.
func (c *chat) Ended() stream.End {
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

// seconds is a JSON number of seconds as a duration; missing where it is none.
func seconds(v *fastjson.Value) stream.Maybe[time.Duration] { return duration(v, time.Second) }

// duration is a JSON number in the given unit; missing where it is none, is
// negative or above 292 years.
func duration(v *fastjson.Value, unit time.Duration) stream.Maybe[time.Duration] {
	f, ok := number(v)
	if d := f * float64(unit); ok && d >= 0 && d < 1<<63 {
		return stream.Some(time.Duration(d))
	}
	return stream.None[time.Duration]()
}
