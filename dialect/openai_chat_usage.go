package dialect

import (
	"time"

	"github.com/valyala/fastjson"

	"weir/stream"
)

// readUsage takes a chunk's usage. Groq writes it in two places of one chunk:
// it counts once.
func (c *chat) readUsage(v *fastjson.Value) {
	u := v.Get("usage")
	if !isObject(u) {
		u = v.Get("x_groq").Get("usage")
	}
	c.usage = chatUsage(u)
}

// chatUsage brings an OpenAI usage object to stream's terms; nil where it
// counts nothing. Output includes reasoning: xAI's completion_tokens does not,
// which shows by total = prompt + completion + reasoning.
func chatUsage(u *fastjson.Value) *stream.Usage {
	if !isObject(u) {
		return nil
	}
	prompt, hasPrompt := integer(u.Get("prompt_tokens"))
	completion, hasCompletion := integer(u.Get("completion_tokens"))
	if !hasPrompt && !hasCompletion {
		return nil
	}
	var out stream.Usage
	if hasPrompt {
		out.Input = stream.Some(prompt)
	}
	cached := [...]*fastjson.Value{u.Get("prompt_tokens_details").Get("cached_tokens"), u.Get("prompt_cache_hit_tokens"), u.Get("cached_tokens")}
	for _, x := range cached {
		if n, ok := integer(x); ok && !out.Cached.Known() {
			out.Cached = stream.Some(n)
		}
	}
	reasoning, hasReasoning := integer(u.Get("completion_tokens_details").Get("reasoning_tokens"))
	if !hasReasoning {
		reasoning, hasReasoning = integer(u.Get("reasoning_tokens"))
	}
	if hasReasoning {
		out.Reasoning = stream.Some(reasoning)
	}
	if hasCompletion {
		out.Output, out.Billed = stream.Some(completion), stream.Some(completion)
		total, ok := integer(u.Get("total_tokens"))
		if ok && hasPrompt && reasoning > 0 && total == prompt+completion+reasoning {
			out.Output = stream.Some(completion + reasoning)
		}
	}
	return &out
}

// progress is llama.cpp's prompt_progress: the prefill phase, not output. Its
// duration is known when the whole prompt has been read.
func (c *chat) progress(i int, v *fastjson.Value) bool {
	p := v.Get("prompt_progress")
	if !isObject(p) {
		return false
	}
	e := c.add(stream.KindStage)
	e.Choice, e.Name = i, "prefill"
	total, okTotal := integer(p.Get("total"))
	processed, okProcessed := integer(p.Get("processed"))
	if okTotal && okProcessed && processed >= total {
		e.Took, c.timed = duration(p.Get("time_ms"), time.Millisecond), true
	}
	return true
}

// timings gives llama.cpp's own prefill time, once, with the final chunk
// (timings_per_token repeats it in each): the finish or, where usage was asked
// for, the usage alone after it.
func (c *chat) timings(v *fastjson.Value) {
	t := v.Get("timings")
	final := c.saysDone() || c.usage != nil && len(array(v.Get("choices"))) == 0
	if c.timed || !isObject(t) || !final {
		return
	}
	c.timed = true
	c.stageTook("prefill", duration(t.Get("prompt_ms"), time.Millisecond))
}

// serviceTimes gives the waiting and prompt times that Groq (in its usage) and
// Cerebras (time_info) state, in seconds.
func (c *chat) serviceTimes(v *fastjson.Value) {
	if c.usage == nil && v.Get("time_info") == nil {
		return
	}
	for _, t := range [...]*fastjson.Value{v.Get("usage"), v.Get("x_groq").Get("usage"), v.Get("time_info")} {
		if c.timed || !isObject(t) {
			continue
		}
		queue, prompt := seconds(t.Get("queue_time")), seconds(t.Get("prompt_time"))
		c.timed = queue.Known() || prompt.Known()
		c.stageTook("queue", queue)
		c.stageTook("prefill", prompt)
	}
}

func (c *frames) stageTook(name string, took stream.Maybe[time.Duration]) {
	if took.Known() {
		e := c.add(stream.KindStage)
		e.Name, e.Took = name, took
	}
}

// saysDone reports whether the frame at hand ends an answer.
func (c *frames) saysDone() bool {
	for i := range c.out {
		if c.out[i].Kind == stream.KindDone {
			return true
		}
	}
	return false
}

// speaks reports whether one of the events is output.
func speaks(events []stream.Event) bool {
	for i := range events {
		if events[i].Kind.Business() {
			return true
		}
	}
	return false
}

// completion is a chunk of llama.cpp's native /completion: {"content","tokens",
// "stop"}, the last one with stop true, which is the protocol's terminal event.
func (c *chat) completion(v *fastjson.Value) {
	from := len(c.out)
	i, _ := integer(v.Get("index"))
	if i >= maxChoices {
		i = 0
	}
	a := c.at(i)
	a.started = true
	last := isTrue(v.Get("stop"))
	a.think.feed(str(v.Get("content")), a.pieces)
	if !has(v, "prompt_progress") { // which lists a token 0 that is none
		a.tokens.addListed(len(array(v.Get("tokens"))))
	}
	if n, ok := integer(v.Get("tokens_predicted")); ok && !last {
		a.tokens.cumulative(n)
	}
	if last {
		c.completionEnd(i, a, v)
	}
	a.spoke = a.spoke || speaks(c.out[from:])
	a.tokens.settle(c.out[from:], stream.Kind.Business)
	if len(c.out) == from && !c.progress(i, v) {
		c.add(stream.KindHeartbeat).Choice = i
	}
}

func (c *chat) completionEnd(i int, a *choice, v *fastjson.Value) {
	a.think.flush(a.pieces)
	a.finished = true
	c.usage = &stream.Usage{}
	if n, ok := integer(v.Get("tokens_evaluated")); ok {
		c.usage.Input = stream.Some(n)
	}
	if n, ok := integer(v.Get("timings").Get("cache_n")); ok {
		c.usage.Cached = stream.Some(n)
	}
	if n, ok := integer(v.Get("tokens_predicted")); ok {
		c.usage.Output, c.usage.Billed = stream.Some(n), stream.Some(n)
	}
	c.proved(stream.ProofTerminal)
	c.done(i, str(v.Get("stop_type")), stream.ProofTerminal)
	c.timings(v)
}
