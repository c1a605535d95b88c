package dialect

import (
	"net/http"

	"github.com/valyala/fastjson"

	"weir/stream"
)

// acme is the protocol of Acme's assistant.
type acme struct{}

func (acme) Name() string { return "acme" }

func (d acme) Match(h Hint) bool { return d.reason(h) != "" }

// reason says what made the dialect match; "" means it does not.
func (acme) reason(h Hint) string {
	switch {
	case h.pathEnds("/assist") != "":
		return "path " + h.Path
	case h.says("acme_version"):
		return "first frame has acme_version"
	}
	return ""
}

func (acme) Request(a Ask) (*http.Request, error) {
	u, err := a.endpoint("/v1/assist", "/v1")
	if err != nil {
		return nil, err
	}
	body := map[string]any{"question": a.prompt(), "limit": a.maxTokens(), "stream": !a.Whole}
	return a.post(u, body, acceptSSE, a.bearer())
}

func (acme) NewClassifier() Classifier {
	c := &acmeStream{}
	c.p = c
	return c
}

// acmeStream classifies one response. frames gives it what all have in common:
// comments, pings, sentinels, error forms, cut-off tails, HTML pages.
type acmeStream struct {
	frames
	tokens counter
}

// event gives one frame's JSON its meaning.
func (c *acmeStream) event(v *fastjson.Value) {
	if f := faultOf(v); f != nil {
		c.fail(f)
		return
	}
	from := len(c.out)
	c.delta(stream.KindReasoning, 0, str(v.Get("thought")))
	c.delta(stream.KindText, 0, str(v.Get("text")))
	if n, ok := integer(v.Get("tokens")); ok {
		c.tokens.add(n)
	}
	if has(v, "end") {
		c.usage = chatUsage(v.Get("usage"))
		c.proved(stream.ProofTerminal)
		c.done(0, str(v.Get("end")), stream.ProofTerminal)
	}
	c.tokens.settle(c.out[from:], stream.Kind.Business)
	c.orElse(from, stream.KindHeartbeat)
}

// body reads a whole answer.
func (c *acmeStream) body(v *fastjson.Value) { c.event(v) }
