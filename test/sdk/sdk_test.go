package sdk

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/peer"
	"weir/mock"
)

// result is what driver.mjs prints for one request.
type result struct {
	Text      string
	Reasoning string
	Tools     []struct{ Name, Args string }
	Pieces    int
	Finish    *string
	Usage     *struct{ Input, Output, Reasoning *int }
	Error     *struct {
		Name, Message string
		Status        *int
	}
}

// driver is one SDK's way to read, and what is known of that way.
type driver struct {
	name   string
	finish string // reason of an answer that ended by itself
	tools  int    // calls that four pieces make: 1, or 4 where the protocol has only whole calls, or none
	atEnd  bool   // text is handed out only with the whole answer: none after an error
	// apart: reasoning tokens are beside the output tokens, not among them.
	apart bool
	// honest: the SDK raises where the stream ends without its end mark. The
	// others return what came as if it were the answer: why weir looks itself.
	honest bool
}

var drivers = []driver{
	{name: "openai-chat", finish: "stop", tools: 1},
	{name: "openai-responses", finish: "completed", tools: 1},
	{name: "anthropic", finish: "end_turn", tools: 1},
	{name: "anthropic-stream", finish: "end_turn", tools: 1, atEnd: true, honest: true},
	{name: "gemini", finish: "STOP", tools: 4, apart: true},
	{name: "ollama-chat", finish: "stop", tools: 4, honest: true},
	{name: "ollama-generate", finish: "stop", honest: true},
	{name: "ai", finish: "stop", tools: 1, honest: true},
}

const quick = "ttft=1ms,gap=1ms,tokens_per_event=2,"

// The requests of each driver, one Node process for all.
const (
	plain     = quick + "n=8,seed=7"
	chinese   = quick + "n=20,seed=7,lang=zh,cut=utf8"
	crlf      = plain + ",crlf=1,cut=crlf"
	nospace   = plain + ",nospace=1"
	beating   = quick + "n=8,seed=7,gap=10ms,heartbeat_every=3ms"
	thinking  = quick + "n=9,reasoning=4,seed=7"
	calling   = quick + "n=9,reasoning=2,tool=4,seed=7"
	failing   = plain + ",error_after=3"
	refused   = plain + ",status=400"
	truncated = plain + ",truncate_after=3"
)

var requests = []string{plain, chinese, crlf, nospace, beating, thinking, calling, failing, refused, truncated}

func TestOfficialSDKs(t *testing.T) {
	node := installed(t)
	srv, err := mock.Start(mock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	want := map[string]string{plain: whole(t, srv.URL(), plain), chinese: whole(t, srv.URL(), chinese)}
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) { d.test(t, node, srv.URL(), want) })
	}
}

// installed finds node, where the SDKs are there too.
func installed(t *testing.T) (node string) {
	t.Helper()
	node = peer.Program(t, "node")
	if _, err := os.Stat(filepath.Join("node_modules", "ai")); err != nil {
		peer.Missing(t, "node_modules", "run make peers")
	}
	return node
}

// test runs the driver's requests and holds what the SDK read against want,
// the whole answers by settings.
func (d driver) test(t *testing.T, node, url string, want map[string]string) {
	got := run(t, node, d.name, url)
	for settings, text := range map[string]string{
		plain: want[plain], chinese: want[chinese], crlf: want[plain], nospace: want[plain], beating: want[plain],
	} {
		r := got[settings]
		if r.Error != nil {
			t.Errorf("%s: the SDK raised %+v", settings, *r.Error)
			continue
		}
		if r.Text != text {
			t.Errorf("%s: text %q, want %q", settings, r.Text, text)
		}
		if r.Finish == nil || *r.Finish != d.finish {
			t.Errorf("%s: finish %v, want %s", settings, deref(r.Finish), d.finish)
		}
	}
	if r := got[plain]; r.Pieces != 8 {
		t.Errorf("plain: %d pieces, want 8", r.Pieces)
	} else if r.Usage == nil || deref(r.Usage.Output) != 16 || r.Usage.Input == nil {
		t.Errorf("plain: usage %+v, want 16 output tokens and the input tokens", r.Usage)
	}
	d.testThinking(t, got[thinking])
	if d.tools > 0 {
		d.testCalling(t, got[calling])
	}
	d.testFaults(t, got)
}

func (d driver) testThinking(t *testing.T, r result) {
	switch output := 18; {
	case r.Error != nil:
		t.Errorf("reasoning: the SDK raised %+v", *r.Error)
	case r.Reasoning == "" || r.Text == "":
		t.Errorf("reasoning: reasoning %q and text %q, want both", r.Reasoning, r.Text)
	case r.Usage == nil:
		t.Error("reasoning: no usage")
	default:
		if d.apart {
			output = 10
		}
		if deref(r.Usage.Output) != output {
			t.Errorf("reasoning: %v output tokens, want %d", deref(r.Usage.Output), output)
		}
	}
}

func (d driver) testCalling(t *testing.T, r result) {
	switch {
	case r.Error != nil:
		t.Errorf("tool: the SDK raised %+v", *r.Error)
	case len(r.Tools) != d.tools:
		t.Errorf("tool: calls %+v, want %d", r.Tools, d.tools)
	case r.Reasoning == "" || r.Text == "":
		t.Errorf("tool: reasoning %q and text %q, want both before the call", r.Reasoning, r.Text)
	}
	for _, call := range r.Tools {
		if call.Name == "" || !json.Valid([]byte(call.Args)) {
			t.Errorf("tool: call %+v, want a name, and JSON as its arguments", call)
		}
	}
}

func (d driver) testFaults(t *testing.T, got map[string]result) {
	if r := got[failing]; r.Error == nil {
		t.Errorf("error_after: the SDK raised nothing, and gave %q", r.Text)
	} else if !d.atEnd && r.Pieces != 3 {
		t.Errorf("error_after: %d pieces before the error, want 3", r.Pieces)
	}
	if r := got[refused]; r.Error == nil || deref(r.Error.Status) != 400 {
		t.Errorf("status=400: the SDK raised %+v", r.Error)
	}
	if r := got[truncated]; (r.Error != nil) != d.honest {
		t.Errorf("truncate_after: the SDK raised %+v; known to raise: %v", r.Error, d.honest)
	}
}

// run gives the results of every request by its settings.
func run(t *testing.T, node, name, url string) map[string]result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node, append([]string{"driver.mjs", name, url}, requests...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, stderr.String())
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != len(requests) {
		t.Fatalf("%s: %d results for %d requests:\n%s", name, len(lines), len(requests), out)
	}
	got := map[string]result{}
	for i, line := range lines {
		var r result
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v in %s", name, err, line)
		}
		got[requests[i]] = r
	}
	return got
}

// whole asks for the answer as one body, without an SDK: the text that every
// stream with these settings must add up to, whatever its protocol.
func whole(t *testing.T, url, settings string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions",
		strings.NewReader(`{"model":"mock","messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Weir-Mock", settings)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil || len(body.Choices) != 1 || body.Choices[0].Message.Content == "" {
		t.Fatalf("whole answer: %v, %+v", err, body)
	}
	return body.Choices[0].Message.Content
}

// deref makes a missing value printable: it is nil.
func deref[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}
