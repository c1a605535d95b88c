package dialect

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/valyala/fastjson"

	"weir/stream"
)

// gemini is Google's streamGenerateContent (WIRE §2.8), as SSE or as elements
// of a JSON array. It has no end mark but the finish reason.
type gemini struct{}

func (gemini) Name() string { return "gemini" }

func (d gemini) Match(h Hint) bool { return d.reason(h) != "" }

func (gemini) reason(h Hint) string {
	switch {
	case h.pathEnds(geminiStream, geminiWhole) != "":
		return "path " + h.Path
	case h.says("candidates"):
		return "first frame has candidates[]"
	case h.says("usageMetadata") || h.says("promptFeedback"):
		return "first frame has usageMetadata or promptFeedback"
	}
	return ""
}

const (
	geminiStream = ":streamGenerateContent"
	geminiWhole  = ":generateContent"
)

type geminiRequest struct {
	Contents          []geminiContent  `json:"contents"`
	SystemInstruction *geminiContent   `json:"systemInstruction,omitempty"`
	GenerationConfig  generationConfig `json:"generationConfig"`
}

type geminiContent struct {
	Role  string       `json:"role,omitempty"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text string `json:"text"`
}

type generationConfig struct {
	MaxOutputTokens int `json:"maxOutputTokens"`
}

// Request asks for content; streamed or whole is said by the path's method, so
// a full URL keeps everything but that. Usage always comes.
func (gemini) Request(a Ask) (*http.Request, error) {
	u, err := a.endpoint("/v1beta/models/"+url.PathEscape(a.model())+geminiStream, "/v1beta", "/v1")
	if err != nil {
		return nil, err
	}
	q := u.Query()
	if before, ok := strings.CutSuffix(u.Path, geminiStream); ok && a.Whole {
		u.Path, u.RawPath = before+geminiWhole, ""
		q.Del("alt")
	} else if before, ok := strings.CutSuffix(u.Path, geminiWhole); ok && !a.Whole {
		u.Path, u.RawPath = before+geminiStream, ""
	}
	if !a.Whole && strings.HasSuffix(u.Path, geminiStream) && !strings.Contains(a.URL, geminiStream) {
		q.Set("alt", "sse")
	}
	u.RawQuery = q.Encode()
	system, turns := a.system()
	body := geminiRequest{GenerationConfig: generationConfig{a.maxTokens()}}
	if system != "" {
		body.SystemInstruction = &geminiContent{Parts: []geminiPart{{system}}}
	}
	for _, m := range turns {
		role := m.Role
		if role == "assistant" {
			role = "model"
		}
		body.Contents = append(body.Contents, geminiContent{role, []geminiPart{{m.Content}}})
	}
	return a.post(u, body, acceptSSE, a.keyHeader("X-Goog-Api-Key", ""))
}

func (gemini) NewClassifier() Classifier {
	c := &generate{}
	c.p = c
	return c
}

type generate struct {
	frames
	candidates []candidate
	answer     counter // of text and tool tokens
	thoughts   counter
}

type candidate struct{ started, finished bool }

func (c *generate) event(v *fastjson.Value) {
	if !isObject(v) {
		c.other("data is JSON but no object")
		return
	}
	if f := faultOf(v); f != nil {
		c.fail(f)
		return
	}
	c.identify(v.Get("responseId"), v.Get("modelVersion"))
	meta := v.Get("usageMetadata")
	c.usage = geminiUsage(meta)
	list, from := array(v.Get("candidates")), len(c.out)
	list = list[:min(len(list), maxChoices)]
	for i, x := range list {
		c.candidate(i, x)
	}
	if len(c.candidates) == 1 && !c.isBody { // the counts are of all candidates together
		c.countTokens(from, meta)
	}
	if reason := str(v.Get("promptFeedback").Get("blockReason")); reason != "" {
		c.proved(stream.ProofFinish)
		c.done(0, reason, stream.ProofFinish).Note = "the prompt was blocked"
	}
	switch {
	case len(c.out) > from || c.usage != nil:
	case meta != nil || v.Get("candidates") != nil:
		c.add(stream.KindHeartbeat)
	default:
		c.other("object without candidates")
	}
}

func (c *generate) candidate(position int, x *fastjson.Value) {
	i, ok := integer(x.Get("index"))
	if !ok {
		i = position
	}
	if i >= maxChoices {
		c.other("candidate index beyond the limit")
		return
	}
	for len(c.candidates) <= i {
		c.candidates = append(c.candidates, candidate{})
	}
	c.candidates[i].started = true
	from := len(c.out)
	for _, p := range array(x.Get("content").Get("parts")) {
		c.part(i, p)
	}
	if reason := str(x.Get("finishReason")); reason != "" && reason != "FINISH_REASON_UNSPECIFIED" {
		c.candidates[i].finished = true
		c.done(i, reason, stream.ProofFinish)
	}
	if len(c.out) == from {
		c.add(stream.KindHeartbeat).Choice = i
	}
}

// part adds one part of a candidate's content. A thoughtSignature is opaque
// and no output.
func (c *generate) part(i int, p *fastjson.Value) {
	kind := stream.KindText
	if isTrue(p.Get("thought")) {
		kind = stream.KindReasoning
	}
	c.delta(kind, i, str(p.Get("text")))
	switch call := p.Get("functionCall"); {
	case isObject(call):
		c.functionCall(i, call)
	case has(p, "inlineData"), has(p, "fileData"):
		c.add(stream.KindMedia).Choice = i
	case has(p, "executableCode"):
		c.delta(stream.KindTool, i, str(p.Get("executableCode").Get("code")))
	case has(p, "codeExecutionResult"):
		e := c.add(stream.KindStage)
		e.Choice, e.Name = i, "code_execution_result"
	}
}

// functionCall is a whole call, or pieces of its arguments (Vertex).
func (c *generate) functionCall(i int, call *fastjson.Value) {
	from := len(c.out)
	if s := jsonText(call.Get("args")); s != "{}" {
		c.delta(stream.KindTool, i, s)
	}
	for _, p := range array(call.Get("partialArgs")) {
		c.delta(stream.KindTool, i, scalar(p.Get("stringValue"))+scalar(p.Get("numberValue"))+scalar(p.Get("boolValue")))
	}
	name := str(call.Get("name"))
	if len(c.out) == from {
		c.delta(stream.KindTool, i, name)
	}
	if len(c.out) > from {
		c.out[from].Tool = name
	}
}

// countTokens turns the cumulative counts into tokens of this frame's events.
// Thoughts that were not shown are on no event.
func (c *generate) countTokens(from int, meta *fastjson.Value) {
	if n, ok := integer(meta.Get("candidatesTokenCount")); ok {
		c.answer.cumulative(n)
	}
	if n, ok := integer(meta.Get("thoughtsTokenCount")); ok {
		c.thoughts.cumulative(n)
	}
	c.thoughts.settle(c.out[from:], func(k stream.Kind) bool { return k == stream.KindReasoning })
	c.answer.settle(c.out[from:], func(k stream.Kind) bool { return k.Business() && k != stream.KindReasoning })
}

// Ended implements Classifier: a finish reason on every candidate proves the end.
func (c *generate) Ended() stream.End {
	end := c.end
	all := len(c.candidates) > 0
	for _, x := range c.candidates {
		all = all && (x.finished || !x.started)
	}
	if all {
		end.Proof = max(end.Proof, stream.ProofFinish)
	}
	return end
}

func (c *generate) body(v *fastjson.Value) {
	if v.Get("candidates") == nil && v.Get("promptFeedback") == nil {
		return
	}
	c.event(v)
	c.wholeEnd()
}

// geminiUsage reads usageMetadata: candidatesTokenCount excludes thoughts. Nil
// where it counts nothing (it may hold only a traffic type until the end).
func geminiUsage(u *fastjson.Value) *stream.Usage {
	if !isObject(u) {
		return nil
	}
	out := stream.Usage{
		Input:     count(u.Get("promptTokenCount")),
		Cached:    count(u.Get("cachedContentTokenCount")),
		Reasoning: count(u.Get("thoughtsTokenCount")),
		Billed:    count(u.Get("candidatesTokenCount")),
	}
	if out.Billed.Known() || out.Reasoning.Known() {
		out.Output = stream.Some(out.Billed.Or(0) + out.Reasoning.Or(0))
	}
	if !out.Input.Known() && !out.Output.Known() {
		return nil
	}
	return &out
}
