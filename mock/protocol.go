package mock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"weir/stream"
)

// protocol is one dialect as the mock serves it.
type protocol struct {
	name    string
	path    string // http.ServeMux pattern without method
	read    func(r *http.Request, body request) (ask, error)
	tell    func(t teller) talk
	failure func(status int, message string) []byte // the body of an HTTP error
	lacks   string                                  // kinds of output its protocol has no events for
}

// protocols is the table of the dialects the mock speaks.
var protocols = []protocol{
	{"openai.chat", "/v1/chat/completions", readOpenAI, newOpenAIChat, failOpenAI, ""},
	{"openai.responses", "/v1/responses", readOpenAI, newResponses, failOpenAI, ""},
	{"anthropic", "/v1/messages", readAnthropic, newAnthropic, failAnthropic, ""},
	{"gemini", "/v1beta/models/{call}", readGemini, newGemini, failGemini, ""},
	{"dify", "/v1/chat-messages", readDify, newDify, failDify, ""},
	{"ollama", "/api/chat", readOllama, newOllamaChat, failOllama, ""},
	{"ollama", "/api/generate", readOllama, newOllamaGenerate, failOllama, "tool"},
	{"article", "/custom/chat", readArticle, newArticle, failArticle, "reasoning tool"},
}

// ask is what a request asked for, as far as the mock cares.
type ask struct {
	streamed   bool
	framing    framing
	mime       string
	asked      string // the model as the request writes it
	model      string // without behaviours
	promptSize int    // tokens
	usage      bool   // asked for
	usageEvery bool   // asked for in every event
}

// request is the union of the request bodies' fields that the mock reads.
type request struct {
	Model         string          `json:"model"`
	Stream        *bool           `json:"stream"`
	Messages      json.RawMessage `json:"messages"`
	Input         json.RawMessage `json:"input"`
	Contents      json.RawMessage `json:"contents"`
	Prompt        string          `json:"prompt"`
	Query         string          `json:"query"`
	ResponseMode  string          `json:"response_mode"`
	StreamOptions struct {
		IncludeUsage    bool `json:"include_usage"`
		ContinuousUsage bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
}

func (q request) ask(streamed bool) ask {
	a := ask{streamed: streamed, framing: framingSSE, mime: "text/event-stream; charset=utf-8", asked: q.Model}
	a.model, _, _ = strings.Cut(strings.TrimPrefix(q.Model, "models/"), ",")
	if !streamed {
		a.framing, a.mime = framingWhole, "application/json"
	}
	if a.model == "" {
		a.model = "mock"
	}
	a.promptSize = countTokens(q.Prompt) + countTokens(q.Query)
	for _, raw := range []json.RawMessage{q.Messages, q.Input, q.Contents} {
		a.promptSize += countJSON(raw)
	}
	return a
}

// countJSON counts the tokens of the strings that hold a prompt's words: under
// content, text, input, parts.
func countJSON(raw json.RawMessage) int {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return 0
	}
	return countValue(v)
}

func countValue(v any) (n int) {
	switch x := v.(type) {
	case string:
		return countTokens(x)
	case []any:
		for _, e := range x {
			n += countValue(e)
		}
	case map[string]any:
		for _, key := range []string{"content", "text", "input", "parts"} {
			n += countValue(x[key])
		}
	}
	return n
}

// output is one output event to be told.
type output struct {
	k     int // from 1
	kind  stream.Kind
	text  []byte
	first bool // of its kind
	last  bool // of its kind
	state map[string]any
	at    time.Duration
}

// talk tells one answer in a dialect's words: each method appends frames to p.
type talk interface {
	opensAt() stream.Maybe[time.Duration] // when open is due, where apart from the first output
	open(p *page)                         // what precedes output and holds none
	begin(p *page, wait timing)           // right before the first output
	output(p *page, o output)
	queue(p *page, d time.Duration)              // at its end
	stage(p *page, name string, d time.Duration) // at its end
	emit(p *page, name string)                   // a named event
	heartbeat(p *page, form string)              // form "" = the dialect's own
	close(p *page)                               // finish, usage, end mark
	fail(p *page)                                // the in-band error
	whole(p *page)                               // everything told so far as one body
}

// timing is what preceded the first output.
type timing struct{ prepare, queue, ttft time.Duration }

// teller is what every talk knows: the behaviour, the request, what was told.
type teller struct {
	b     *Behaviour
	ask   ask
	id    string    // of the answer, from the seed
	start time.Time // of the request, on the wall clock

	outputs, reasoning int // events told
	text, thought      []byte
	args               []byte
	argsTold           int
	seq                int // last sequence number given
	scratch            []byte
}

// took counts an output in and keeps its text for dialects that repeat it.
func (t *teller) took(o output) {
	t.outputs++
	switch o.kind {
	case stream.KindReasoning:
		t.reasoning++
		t.thought = append(t.thought, o.text...)
	case stream.KindTool:
		t.args = append(t.args, o.text...)
	default:
		t.text = append(t.text, o.text...)
	}
}

func (t *teller) opensAt() stream.Maybe[time.Duration] { return t.b.RoleAt }

// takeArgs is the piece of a tool's arguments that comes next where the
// first output of the call is its name: the second then has two pieces.
func (t *teller) takeArgs() []byte {
	piece := t.args[t.argsTold:]
	t.argsTold = len(t.args)
	return piece
}

func (t *teller) outputTokens() int    { return t.outputs * t.b.TokensPerEvent }
func (t *teller) reasoningTokens() int { return t.reasoning * t.b.TokensPerEvent }

// nextSeq numbers events from 1; output K of seq_hole skips one number.
func (t *teller) nextSeq(k int) int {
	t.seq++
	if hole, ok := t.b.SeqHole.Get(); ok && hole == k {
		t.seq++
	}
	return t.seq
}

// withState adds a business state to a JSON object that ends in "}".
func withState(obj []byte, state map[string]any) []byte {
	if len(state) == 0 {
		return obj
	}
	obj = append(obj[:len(obj)-1], `,"business_state":`...)
	return append(append(obj, jsonOf(state)...), '}')
}

const (
	created     = 1767225600 // a fixed moment, so that the same seed gives the same bytes
	toolName    = "look_up"
	failMessage = "the mock was told to fail here"
	failCode    = "mock_error"
)

// object is a JSON object under construction.
type object = map[string]any

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// plain gives talks without words for queue and stages the SSE comment.
func sayComment(p *page, what string, d time.Duration) {
	if p.framing == framingSSE {
		p.comment(fmt.Sprintf("%s %gms", what, millis(d)))
	}
}

// refuse names the output that b wants and the protocol has no events for.
func (p protocol) refuse(b *Behaviour) error {
	for name, k := range map[string]int{"reasoning": b.Reasoning, "tool": b.Tool} {
		if k > 0 && strings.Contains(p.lacks, name) {
			return fmt.Errorf("behaviour %s=%d: %s has no such events", name, k, p.path)
		}
	}
	return nil
}

// rawArgs is the arguments of a tool call as JSON, or as a string where they
// were cut short.
func rawArgs(args []byte) any {
	if json.Valid(args) {
		return json.RawMessage(args)
	}
	return string(args)
}

// queryOf is the query in (a piece of) the mock's tool arguments, for
// protocols whose calls come whole.
func queryOf(args []byte) string {
	s := strings.TrimPrefix(string(args), `{"query":"`)
	return strings.TrimSuffix(s, `"}`)
}
