package chaos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"weir/client"
)

// outcome is what became of a stream, as its client saw it.
type outcome string

const (
	whole   outcome = "whole"   // all that the service said
	failed  outcome = "error"   // a prefix of it, and one error
	gapped  outcome = "gap"     // a prefix of it, and the word that the rest is not kept
	refused outcome = "refused" // nothing, and an error instead of an answer
	broken  outcome = "broken"  // a prefix of it, and a broken connection that its client cannot resume

	lost    outcome = "lost"    // less than the service said, and no word of it
	doubled outcome = "doubled" // something twice, or a word after the last
	hung    outcome = "hung"    // no end
)

// faults are the outcomes that must not be.
var faults = []outcome{lost, doubled, hung}

// verdict says what became of a stream, and why where that is not plain.
func (g *got) verdict() (outcome, string) {
	if g.late {
		return hung, fmt.Sprintf("%d of %d events came", len(g.events), len(g.full))
	}
	n := 0
	for n < len(g.events) && n < len(g.full) && same(g.events[n], g.full[n]) {
		n++
	}
	if n == len(g.events) {
		return g.prefix(n)
	}
	last := g.events[n]
	reason, isError := reasonOf(last)
	switch {
	case isError && n < len(g.events)-1:
		return doubled, fmt.Sprintf("%d events after the error %s", len(g.events)-1-n, reason)
	case isError && n == len(g.full):
		return doubled, "the error " + reason + " after the end"
	case isError && g.err != nil && !errors.Is(g.err, errCut): // which is ours, and came after the end
		return doubled, fmt.Sprintf("the error %s and then %v", reason, g.err)
	case isError && reason == "weir_gap":
		return gapped, reason
	case isError:
		return failed, reason
	case n == len(g.full), before(last, g.full[:n]):
		return doubled, fmt.Sprintf("event %d of %d: %.200q", n+1, len(g.full), last.Data)
	}
	return lost, fmt.Sprintf("event %d of %d is %.200q and not %.200q", n+1, len(g.full), last.Data, g.full[n].Data)
}

// prefix is the verdict on a stream whose events are the service's first n.
func (g *got) prefix(n int) (outcome, string) {
	var status *client.StatusError
	switch {
	case n == len(g.full):
		return whole, ""
	case g.err == nil:
		return lost, fmt.Sprintf("a clean end after %d of %d events", n, len(g.full))
	case errors.Is(g.err, client.ErrGap):
		return gapped, "weir_gap"
	case n == 0:
		return refused, short(g.err)
	case errors.As(g.err, &status), errors.Is(g.err, client.ErrGaveUp):
		return failed, short(g.err)
	case g.kind == plainly, errors.Is(g.err, client.ErrUnproven):
		return broken, short(g.err)
	}
	return failed, short(g.err)
}

// same reports whether two events are one.
func same(a, b client.Event) bool { return a.Name == b.Name && bytes.Equal(a.Data, b.Data) }

func before(e client.Event, all []client.Event) bool {
	for _, o := range all {
		if same(e, o) {
			return true
		}
	}
	return false
}

// reasonOf is the reason of an error of the gateway's own.
func reasonOf(e client.Event) (reason string, ok bool) {
	var body struct {
		Error *struct {
			Reason, Code any
		}
	}
	if json.Unmarshal(e.Data, &body) != nil || body.Error == nil {
		return "", false
	}
	for _, v := range []any{body.Error.Reason, body.Error.Code} {
		if s, ok := v.(string); ok && s != "" {
			return s, true
		}
	}
	return "unnamed", true
}

// short is an error without what differs from stream to stream.
func short(err error) string {
	text := err.Error()
	var status *client.StatusError
	if errors.As(err, &status) {
		reason, _ := reasonOf(client.Event{Data: []byte(status.Body)})
		return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status.Status, reason))
	}
	for _, known := range []string{"connection refused", "connection reset", "unexpected EOF", "EOF", "was cut", "closed network connection", "did not end"} {
		if strings.Contains(text, known) {
			return known
		}
	}
	return text
}
