package mock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/dialect"
	"weir/stream"
	"weir/wire"
)

// streamPath is the path that streams, where the protocol says so by path.
func (p protocol) streamPath() string {
	return strings.Replace(p.path, "{call}", "m:streamGenerateContent", 1)
}

func (p protocol) wholePath() string {
	return strings.Replace(p.path, "{call}", "m:generateContent", 1)
}

// classified is a response as the dialect reads it.
type classified struct {
	events [][]stream.Event // of each frame
	end    stream.End
	usage  *stream.Usage
}

func classify(t *testing.T, name string, frames []wire.Frame) classified {
	t.Helper()
	d, err := dialect.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	var c classified
	cl := d.NewClassifier()
	for _, f := range frames {
		var of []stream.Event
		if err := cl.Classify(f, func(e *stream.Event) { of = append(of, *e) }); err != nil {
			t.Fatal(err)
		}
		for _, e := range of {
			if e.Usage != nil {
				c.usage = e.Usage
			}
		}
		c.events = append(c.events, of)
	}
	c.end = cl.Ended()
	return c
}

func (c classified) text(k stream.Kind) string {
	var sb strings.Builder
	for _, frame := range c.events {
		for _, e := range frame {
			if e.Kind == k {
				sb.WriteString(e.Text)
			}
		}
	}
	return sb.String()
}

// TestDialectsReadTheMock holds what the dialects make of every frame against
// what the mock says it sent, frame by frame.
func TestDialectsReadTheMock(t *testing.T) {
	var truth safeBuffer
	s, err := Start(Options{Set: "ttft=30ms,gap=1ms,n=9,tokens_per_event=2", Truth: &truth})
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, &http.Transport{})
	type asked struct {
		p     protocol
		query string
		got   answer
	}
	var all []asked
	for i, p := range protocols {
		mix := "?reasoning=3&tool=4"
		if strings.Contains(p.lacks, "tool") {
			mix = "?reasoning=3"
		}
		if strings.Contains(p.lacks, "reasoning") {
			mix = "?n=9"
		}
		queries := []string{mix, "?lang=zh&crlf=1", mix + "&heartbeat_every=7ms&role_at=0s&queue=5ms&stage=plan:5ms", "?heartbeat_every=7ms&heartbeat=event", "?error_after=4"}
		if p.name == "gemini" {
			queries = append(queries, mix+"&alt=sse", "?alt=sse&heartbeat_every=7ms", "?alt=sse&heartbeat_every=7ms&heartbeat=event")
		}
		for j, q := range queries {
			id := fmt.Sprintf("%d-%d", i, j)
			all = append(all, asked{p, q, askMock(t, c, s.URL()+p.streamPath()+q, "", "X-Request-Id", id)})
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	lines := truthByID(t, truth.b.String())
	for _, a := range all {
		t.Run(a.p.path+a.query, func(t *testing.T) {
			sameAsTruth(t, a.p, a.got, lines[a.got.header.Get("X-Request-Id")])
			got := classify(t, a.p.name, a.got.frames)
			failed := strings.Contains(a.query, "error_after")
			if failed != (got.end.LastError != nil) {
				t.Errorf("error is %v", got.end.LastError)
			}
			if !failed {
				endsTruly(t, a.p, a.query, got)
			}
		})
	}
}

func truthByID(t *testing.T, log string) map[string][]truthLine {
	t.Helper()
	out := map[string][]truthLine{}
	for line := range strings.SplitSeq(strings.TrimSpace(log), "\n") {
		var l truthLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		out[l.RequestID] = append(out[l.RequestID], l)
	}
	return out
}

// sameAsTruth: a frame for each line, whose events hold the kind that the mock
// says, and one business event where that is one.
func sameAsTruth(t *testing.T, p protocol, a answer, lines []truthLine) {
	t.Helper()
	if a.frames[len(a.frames)-1].Kind != wire.Event || a.status != 200 {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	// White space between array elements is no frame; nor is an array's end.
	var framed []truthLine
	for _, l := range lines {
		if l.Bytes > 3 || p.name != "gemini" {
			framed = append(framed, l)
		}
	}
	c := classify(t, p.name, a.frames)
	if len(framed) != len(a.frames) {
		t.Fatalf("%d truth lines, %d frames:\n%s", len(framed), len(a.frames), a.body)
	}
	for i, l := range framed {
		has, business := false, 0
		for _, e := range c.events[i] {
			has = has || e.Kind.String() == l.Kind
			if e.Kind.Business() {
				business++
			}
		}
		kind, _ := stream.ParseKind(l.Kind)
		if !has || (business == 1) != kind.Business() || business > 1 {
			t.Errorf("frame %d is %s to the mock, to the dialect %v: %s", i, l.Kind, c.events[i], a.frames[i].Raw)
		}
	}
}

func endsTruly(t *testing.T, p protocol, query string, c classified) {
	t.Helper()
	if c.end.Proof < stream.ProofFinish {
		t.Errorf("end proof %q", c.end.Proof)
	}
	if c.usage == nil || c.usage.Output != stream.Some(18) {
		t.Errorf("usage %+v, want 18 output tokens", c.usage)
	}
	if args := c.text(stream.KindTool); strings.Contains(query, "tool=4") && p.name == "openai.chat" && !json.Valid([]byte(args)) {
		t.Errorf("tool arguments are no JSON: %s", args)
	}
}

// TestWholeSaysWhatTheStreamSays compares the answer as one body with the
// answer as a stream, through the dialect.
func TestWholeSaysWhatTheStreamSays(t *testing.T) {
	s := serve(t, Options{Set: "ttft=0s,gap=0s,n=9,lang=zh"})
	c := client(t, &http.Transport{})
	for _, p := range protocols {
		query := "?reasoning=3"
		if p.lacks != "" && p.name == "article" {
			query = "?n=9"
		}
		streamed := classify(t, p.name, askMock(t, c, s.URL()+p.streamPath()+query+"&alt=sse", "").frames)
		whole := askMock(t, c, s.URL()+p.wholePath()+query, `{"stream":false,"response_mode":"blocking"}`)
		if p.name == "article" { // a custom dialect knows streams only
			if whole.count(streamed.text(stream.KindText)) != 1 {
				t.Errorf("%s: %s", p.path, whole.body)
			}
			continue
		}
		body := classify(t, p.name, []wire.Frame{{Kind: wire.Body, Data: whole.body, Raw: whole.body}})
		if got, want := body.text(stream.KindText), streamed.text(stream.KindText); got != want || want == "" {
			t.Errorf("%s: whole text %q, streamed %q: %s", p.path, got, want, whole.body)
		}
		if p.name != "dify" && body.text(stream.KindReasoning) != streamed.text(stream.KindReasoning) {
			t.Errorf("%s: whole reasoning %q", p.path, body.text(stream.KindReasoning))
		}
	}
}
