package mock

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"weir/wire"
)

const chat, custom = "/v1/chat/completions", "/custom/chat"

// nameCase shows what one behaviour name does on the wire.
type nameCase struct {
	name   string
	path   string // with a query; "ttft=0s&gap=0s&n=4" is the mock's default
	header string // Accept-Encoding
	holds  func(a answer) bool
}

// textEvents is how a text delta begins in openai.chat and the article.
const textEvents, tokenEvents = `"delta":{"content":"`, `"type":"token"`

var nameCases = []nameCase{
	{"ttft", chat + "?ttft=150ms", "", func(a answer) bool { return a.at[0] >= 150*time.Millisecond }},
	{"gap", chat + "?gap=60ms", "", func(a answer) bool { return a.last() >= 180*time.Millisecond }},
	{"gap", chat + "?gap=uniform:30ms:40ms", "", func(a answer) bool { return a.last() >= 90*time.Millisecond }},
	{"n", chat + "?n=7", "", func(a answer) bool { return a.count(`"role"`) == 1 && a.count(`"completion_tokens":7`) == 1 }},
	{"n", chat + "?n=0", "", func(a answer) bool {
		return a.count(`[DONE]`) == 1 && a.count(`"completion_tokens":0`) == 1 && a.count("content\":\"") == 1
	}},
	{"tokens_per_event", chat + "?tokens_per_event=3", "", func(a answer) bool {
		return a.count(textEvents) == 4 && a.count(`"completion_tokens":12`) == 1
	}},
	{"lang", chat + "?lang=zh", "", func(a answer) bool { return utf8.RuneCount(a.body) < len(a.body) }},
	{"seed", chat + "?seed=9", "", func(a answer) bool {
		return a.count(`chatcmpl-`) > 0 && a.count(`"id":"chatcmpl-9151337c180b6732"`) == 0
	}},
	{"role_at", chat + "?role_at=0s&ttft=150ms", "", func(a answer) bool {
		return a.index(`"role"`) == 0 && a.at[0] < a.at[1] && a.last() >= 150*time.Millisecond
	}},
	{"reasoning", chat + "?reasoning=2", "", func(a answer) bool {
		return a.count(`"reasoning_content":"`) == 2 && a.count(textEvents) == 2 && a.count(`"reasoning_tokens":2`) == 1
	}},
	{"tool", chat + "?tool=2", "", func(a answer) bool {
		return a.count(`"tool_calls":[`) == 2 && a.count(`"finish_reason":"tool_calls"`) == 1 && a.count(textEvents) == 2
	}},
	{"queue", custom + "?queue=100ms", "", func(a answer) bool {
		return a.count(`"queue_ms":100`) == 1 && a.last() >= 100*time.Millisecond
	}},
	{"queue", "/v1/responses?queue=60ms&ttft=100ms", "", func(a answer) bool {
		return a.index("response.created") == 0 && a.index("response.queued") == 1 && a.index("response.in_progress") == 2 && a.at[0] < a.at[1]
	}},
	{"stage", custom + "?stage=plan:30ms,search:50ms", "", func(a answer) bool {
		return a.index(`"name":"plan"`) == 1 && a.index(`"name":"search"`) == 2 && a.last() >= 80*time.Millisecond
	}},
	{"emit", custom + "?emit=handoff@2,tool_timeout@3", "", func(a answer) bool {
		return a.count(`handoff`) == 1 && a.index(`tool_timeout`) == a.index(`"seq":3`)-1
	}},
	{"state", custom + "?state=decision:refund@2,amount:12.5@2", "", func(a answer) bool {
		return strings.Contains(string(a.frames[a.index(`"seq":2`)].Data), `"business_state":{"amount":12.5,"decision":"refund"}`)
	}},
	{"heartbeat_every", chat + "?ttft=130ms&heartbeat_every=40ms", "", func(a answer) bool {
		return a.kinds(wire.Comment) == 3 && a.frames[0].Kind == wire.Comment
	}},
	{"heartbeat", custom + "?ttft=100ms&heartbeat_every=40ms&heartbeat=event", "", func(a answer) bool {
		return a.kinds(wire.DataLess) == 2 && a.kinds(wire.Comment) == 0
	}},
	{"flush_bytes", chat + "?n=20&gap=2ms&flush_bytes=3000", "", func(a answer) bool {
		return len(a.reads) <= 3 && a.count(textEvents) == 20
	}},
	{"flush_every", chat + "?n=20&gap=5ms&flush_every=40ms", "", func(a answer) bool {
		return len(a.reads) <= 6 && a.at[0] >= 40*time.Millisecond && a.count(textEvents) == 20
	}},
	{"gzip", chat + "?n=20&gap=5ms&gzip=1", "gzip", func(a answer) bool {
		return a.header.Get("Content-Encoding") == "gzip" && len(a.reads) > 10 && strings.Contains(unzip(a.body), "[DONE]")
	}},
	{"gzip", chat + "?n=20&gap=5ms&gzip=buffer", "gzip", func(a answer) bool {
		return len(a.reads) <= 2 && a.last() >= 80*time.Millisecond && strings.Contains(unzip(a.body), "[DONE]")
	}},
	{"gzip", chat + "?gzip=1", "identity", func(a answer) bool { return a.count("[DONE]") == 1 }},
	{"crlf", chat + "?crlf=1", "", func(a answer) bool {
		return bytes.Count(a.body, []byte("\n")) == bytes.Count(a.body, []byte("\r\n")) && a.count(textEvents) == 4
	}},
	{"nospace", chat + "?nospace=1", "", func(a answer) bool { return bytes.HasPrefix(a.body, []byte(`data:{`)) }},
	{"cut", chat + "?lang=zh&n=2&cut=utf8", "", func(a answer) bool {
		at := 0
		for _, n := range a.reads {
			at += n
			if !utf8.Valid(a.body[:at]) {
				return a.count(textEvents) == 2
			}
		}
		return false
	}},
	{"cut", chat + "?n=2&cut=crlf", "", func(a answer) bool {
		return a.body[a.reads[0]-1] == '\r' && a.body[a.reads[0]] == '\n' && a.count(textEvents) == 2
	}},
	{"usage", chat + "?usage=finish", "", func(a answer) bool { return a.index(`"total_tokens"`) == a.index(`"stop"`) }},
	{"usage", chat + "?usage=every", "", func(a answer) bool { return a.count(`"total_tokens"`) == 7 }},
	{"usage", chat + "?usage=none", "", func(a answer) bool { return a.count(`"total_tokens"`) == 0 }},
	{"usage", chat + "?usage=end", "", func(a answer) bool { return a.index(`"total_tokens":6`) == a.index(`[DONE]`)-1 }},
	{"done", chat + "?done=0", "", func(a answer) bool { return a.count("[DONE]") == 0 && a.count(`"stop"`) == 1 }},
	{"finish", chat + "?finish=0", "", func(a answer) bool { return a.count("[DONE]") == 1 && a.count(`"stop"`) == 0 }},
	{"blank", chat + "?blank=0", "", func(a answer) bool { return a.frames[len(a.frames)-1].Kind == wire.Unterminated }},
	{"truncate_after", chat + "?truncate_after=2", "", func(a answer) bool {
		return a.err == nil && a.count(textEvents) == 2 && a.count("[DONE]")+a.count(`"stop"`) == 0
	}},
	{"truncate_after", chat + "?truncate_after=2&blank=0", "", func(a answer) bool {
		return a.count(textEvents) == 2 && a.frames[len(a.frames)-1].Kind == wire.Unterminated
	}},
	{"reset_after", chat + "?reset_after=2", "", func(a answer) bool {
		return errors.Is(a.err, syscall.ECONNRESET) && a.count(textEvents) == 2
	}},
	{"error_after", chat + "?error_after=2", "", func(a answer) bool {
		return a.err == nil && a.index(`"error":{`) == 3 && len(a.frames) == 4
	}},
	{"stall_after", chat + "?stall_after=2&stall=150ms", "", func(a answer) bool { return a.last()-a.at[0] >= 120*time.Millisecond }},
	{"stall", chat + "?stall_after=4&stall=150ms", "", func(a answer) bool { return a.last()-a.at[0] >= 120*time.Millisecond }},
	{"seq_hole", custom + "?seq_hole=3", "", func(a answer) bool { return a.count(`"seq":3,`) == 0 && a.count(`"seq":5,`) == 1 }},
	{"seq_hole", "/v1/responses?seq_hole=2", "", func(a answer) bool {
		return a.index(`"sequence_number":5,`) < 0 && a.index(`"sequence_number":6,`) > 0
	}},
	{"error", chat + "?error=first200", "", func(a answer) bool {
		return a.status == 200 && len(a.frames) == 1 && a.index(`"error":{`) == 0
	}},
	{"error", chat + "?error=json200", "", func(a answer) bool {
		return a.status == 200 && a.header.Get("Content-Type") == "application/json" && a.frames[0].Kind == wire.Body
	}},
	{"status", chat + "?status=503", "", func(a answer) bool { return a.status == 503 && a.count(`"error":{`) == 1 }},
	{"retry_after", chat + "?status=429&retry_after=1500ms", "", func(a answer) bool {
		return a.header.Get("Retry-After") == "2" && a.count("rate_limit_error") == 1
	}},
}

func unzip(b []byte) string {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return err.Error()
	}
	out, err := io.ReadAll(r)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

func TestNames(t *testing.T) {
	s := serve(t, Options{Set: "ttft=0s,gap=0s,n=4"})
	shown := map[string]bool{"hang_after": true} // TestHang
	for _, c := range nameCases {
		shown[c.name] = true
		t.Run(strings.Trim(c.path, "/"), func(t *testing.T) {
			t.Parallel()
			header := []string{"X-Request-Id", "r"}
			if c.header != "" {
				header = append(header, "Accept-Encoding", c.header)
			}
			a := askMock(t, client(t, &http.Transport{}), s.URL()+c.path, "", header...)
			if len(a.frames) == 0 && !strings.Contains(c.path, "gzip") || !c.holds(a) {
				t.Errorf("%s: status %d, error %v, reads %v at %v:\n%s", c.path, a.status, a.err, a.reads, a.at, a.body)
			}
		})
	}
	for _, n := range Names {
		if !shown[n.Name] {
			t.Errorf("behaviour %s has no test", n.Name)
		}
	}
}
