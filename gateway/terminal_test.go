package gateway

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"weir/stream"
	"weir/wire"
)

// frames decodes a body.
func frames(t *testing.T, format, body string) []wire.Frame {
	t.Helper()
	d, err := wire.New(format, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var list []wire.Frame
	keep := func(f wire.Frame) {
		f.Data, f.Event = append([]byte(nil), f.Data...), append([]byte(nil), f.Event...)
		list = append(list, f)
	}
	if err := errors.Join(d.Feed([]byte(body), keep), d.Close(keep)); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestTruncatedStreamsEndInAnError(t *testing.T) {
	m := startMock(t, "ttft=2ms,gap=1ms,n=10")
	g := start(t, small, m.URL())
	for _, fault := range []struct{ set, reason string }{
		{"truncate_after=4", "upstream_truncated"},
		{"reset_after=4", "upstream_reset"},
	} {
		for _, d := range dialects {
			t.Run(d.name+" "+fault.set, func(t *testing.T) {
				path := d.path + "?" + fault.set
				if strings.Contains(d.path, "?") {
					path = d.path + "&" + fault.set
				}
				body := text(t, post(t, g.url+path, d.body, "X-Request-Id", "request-77"))
				format := map[string]string{"gemini array": "json-array", "ollama": "ndjson"}[d.name]
				if format == "" {
					format = "sse"
				}
				list := frames(t, format, body)
				last := list[len(list)-1]
				checkError(t, d.name, last, fault.reason)
				n := strings.Count(body, fault.reason+`"`)
				if n == 0 || strings.Count(body, "request-77") == 0 {
					t.Errorf("reason or request id missing in %s", last.Data)
				}
				if !strings.Contains(string(last.Data), `"events_sent":4,"usage":`) {
					t.Errorf("4 events were sent: %s", last.Data)
				}
				for _, f := range list[:len(list)-1] {
					if strings.Contains(string(f.Data), fault.reason) {
						t.Errorf("a second error frame: %s", f.Data)
					}
				}
				if last.Kind == wire.Unterminated {
					t.Errorf("the error frame has no end: %q", body)
				}
			})
		}
	}
	for _, e := range g.all() {
		if e.Terminal != "error" || len(e.Records) == 0 {
			t.Errorf("%s: terminal %q, %d records", e.Route, e.Terminal, len(e.Records))
		} else if o := e.Records[0].Outcome; o != stream.Truncated && o != stream.Reset {
			t.Errorf("%s: outcome %s", e.Records[0].Dialect, o)
		}
	}
}

// The error that ends a stream says what the service had stated of its tokens.
func TestErrorFrameSaysTheUsage(t *testing.T) {
	counted := `data: {"choices":[{"delta":{"content":"b"}}],"usage":{"prompt_tokens":5,"completion_tokens":2}}` + "\n\n"
	for want, events := range map[string][]string{
		`"events_sent":1,"usage":"unknown"`:                            {chat("a")},
		`"events_sent":2,"usage":{"input_tokens":5,"output_tokens":2}`: {chat("a"), counted},
		`"events_sent":3,"usage":{"input_tokens":5,"output_tokens":2}`: {chat("a"), counted, chat("c")},
	} {
		g := start(t, small, scripted(t, sse(events...)))
		if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); strings.Count(got, want) != 1 {
			t.Errorf("want %s: %q", want, got)
		}
	}
}

// checkError holds an error frame to the form that the dialect's SDK raises.
func checkError(t *testing.T, name string, f wire.Frame, reason string) {
	t.Helper()
	var v struct {
		Type   string
		Event  string
		Code   any
		Status any
		Error  json.RawMessage
		Seq    int64 `json:"sequence_number"`
	}
	if err := json.Unmarshal(f.Data, &v); err != nil {
		t.Fatalf("%v in %q", err, f.Data)
	}
	var e struct {
		Type, Message, Reason string
		Code, Status          any
		Retryable             bool
	}
	_ = json.Unmarshal(v.Error, &e)
	event := string(f.Event)
	ok := e.Message != "" && e.Reason == reason && e.Retryable
	switch name {
	case "openai.chat":
		ok = ok && event == "" && e.Code == reason
	case "openai.responses":
		ok = ok && event == "error" && v.Type == "error" && v.Code == reason && v.Seq > 0
	case "anthropic":
		ok = ok && event == "error" && v.Type == "error" && e.Type == "api_error"
	case "gemini", "gemini array":
		ok = ok && event == "" && e.Code == float64(502) && e.Status == "UNAVAILABLE"
	case "dify":
		ok = v.Event == "error" && event == "" && v.Code == reason && v.Status == float64(502)
	case "ollama":
		ok = len(v.Error) > 2 && v.Error[0] == '"'
	case "article":
		ok = ok && event == "error" && v.Code == reason
	default:
		t.Fatal("no form of", name)
	}
	if !ok {
		t.Errorf("%s: event %q data %s", name, event, f.Data)
	}
}

// A finish reason was seen: the answer is whole, only its last frame is missing.
func TestMissingSentinelIsAdded(t *testing.T) {
	for _, c := range []struct{ name, path, sent, want string }{
		{"chat", "/v1/chat/completions", chat("a") + chatFinish, chat("a") + chatFinish + chatDone},
		{"chat, cut by a reset", "/v1/chat/completions", chat("a") + chatFinish + "reset", chat("a") + chatFinish + chatDone},
		{"chat, unterminated sentinel", "/v1/chat/completions", chat("a") + chatFinish + "data: [DONE]", chat("a") + chatFinish + chatDone},
		{"anthropic", "/v1/messages", anthropicText + anthropicStop, anthropicText + anthropicStop + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, reset := strings.CutSuffix(c.sent, "reset")
			up := scripted(t, sse(body))
			if reset {
				up = scripted(t, sse(body, "20ms", "reset"))
			}
			g := start(t, small, up)
			if got := text(t, post(t, g.url+c.path, ask1)); got != c.want {
				t.Errorf("got %q", got)
			}
			if e := g.all()[0]; e.Terminal != "done" {
				t.Errorf("terminal %q", e.Terminal)
			}
		})
	}
}

const (
	anthropicText = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n"
	anthropicStop = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":6}}\n\n"
)

// What follows the terminal frame is not passed on, and a service that does
// not close its answer is not waited for.
func TestNothingFollowsTheTerminalFrame(t *testing.T) {
	whole := chat("a") + chatFinish + chatDone
	for name, up := range map[string]http.HandlerFunc{
		"twice, in one write": sse(whole + chatDone + chat("late")),
		"twice, later":        sse(whole, "10ms", chatDone),
		"comments for ever":   sse(whole, ": hb\n\n", "50ms", ": hb\n\n", "wait"),
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, small, scripted(t, up))
			if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); got != whole {
				t.Errorf("got %q", got)
			}
		})
	}
}

// Bifrost #6784: no sentinel, and comments for ever.
func TestFinishReasonAndCommentsForEver(t *testing.T) {
	g := start(t, small, scripted(t, func(w http.ResponseWriter, r *http.Request) {
		sse(chat("a")+chatFinish)(w, r)
		for r.Context().Err() == nil {
			sse(": hb\n\n", "300ms")(w, r)
		}
	}))
	got := text(t, post(t, g.url+"/v1/chat/completions", ask1))
	if strings.ReplaceAll(got, ": hb\n\n", "") != chat("a")+chatFinish+chatDone {
		t.Errorf("got %q", got)
	}
}

// An error that the service states after output is the terminal frame: another
// is not added.
func TestInBandErrorIsTheTerminalFrame(t *testing.T) {
	m := startMock(t, "ttft=2ms,gap=1ms,n=10,error_after=3")
	g := start(t, small, m.URL())
	for _, d := range dialects {
		if d.name == "gemini array" {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			direct := text(t, post(t, m.URL()+d.path, d.body, "X-Request-Id", "request-1"))
			if got := text(t, post(t, g.url+d.path, d.body, "X-Request-Id", "request-1")); unstamped(got) != unstamped(direct) {
				t.Errorf("direct %q\nthrough %q", direct, got)
			}
		})
	}
	for _, e := range g.all() {
		if e.Terminal != "error" || e.Records[0].Outcome != stream.ErrorMid {
			t.Errorf("%s: %q %s", e.Records[0].Dialect, e.Terminal, e.Records[0].Outcome)
		}
	}
}

// A service nobody knows ends when it ends.
func TestUnknownProtocol(t *testing.T) {
	body := "event: tick\ndata: one\n\ndata: two\r\n\r\nevent: end\n\nx: y\ndata: unterminated"
	g := start(t, small, scripted(t, sse(body)))
	if got := text(t, post(t, g.url+"/our/own/stream", `{"stream":true}`)); got != body && got != body+"\n\n" {
		t.Errorf("got %q", got)
	}
	g = start(t, small, scripted(t, sse("data: one\n\n", "20ms", "reset")))
	resp := post(t, g.url+"/our/own/stream", `{"stream":true}`)
	b, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(b), "event: error\n") || !strings.Contains(string(b), "upstream_reset") {
		t.Errorf("%q %v", b, err)
	}
}

func TestEventAboveTheLimit(t *testing.T) {
	g := start(t, small+"limits: {event: 64KiB}\n", scripted(t, sse(chat("a"), chat(strings.Repeat("x", 70<<10)), chatDone)))
	got := text(t, post(t, g.url+"/v1/chat/completions", ask1))
	if !strings.HasPrefix(got, chat("a")) || !strings.Contains(got, `"code":"event_too_large"`) || len(got) > 1000 {
		t.Errorf("got %.500q", got)
	}
}
