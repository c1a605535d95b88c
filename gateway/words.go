package gateway

import (
	"strings"

	"weir/dialect"
	"weir/stream"
	"weir/wire"
)

// words is what a client is told of a failure after its headers went out: the
// service's own message, where its refusal has one, as the client would have
// got it by HTTP. The dialect has taken out what looks like a key.
func (x *exchange) words(f *failure) string {
	if f.reason != "in_band" && !strings.HasPrefix(f.reason, "http_") {
		return f.text
	}
	d := x.dialect
	if d == nil {
		d, _ = dialect.Detect(dialect.Hint{Path: x.path})
	}
	text := f.text
	_ = d.NewClassifier().Classify(wire.Frame{Kind: wire.Body, Data: f.body, Raw: f.body}, func(e *stream.Event) {
		if e.Kind == stream.KindError && e.Fault != nil && e.Fault.Message != "" {
			text = e.Fault.Message
		}
	}) // what is no JSON has no message
	return text
}
