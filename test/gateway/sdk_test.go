package gateway

import (
	"slices"
	"strings"
	"testing"

	"weir/telemetry"
)

// driver is an SDK as test/sdk has it.
type driver struct {
	name  string
	atEnd bool // hands text out only with the whole answer: none after an error
	ids   bool // its wire format can carry ids
	done  bool // a finish reason without the last event is a whole answer
}

var drivers = []driver{
	{name: "openai-chat", ids: true, done: true},
	{name: "openai-responses", ids: true},
	{name: "anthropic", ids: true, done: true},
	{name: "anthropic-stream", ids: true, done: true, atEnd: true},
	{name: "gemini"},
	{name: "ollama-chat"},
	{name: "ollama-generate"},
	{name: "ai", ids: true, done: true},
	{name: "go-openai-1", ids: true, done: true},
	{name: "go-openai-3", ids: true, done: true},
	{name: "go-openai-3-responses", ids: true},
	{name: "go-anthropic", ids: true, done: true},
	{name: "py-openai", ids: true, done: true},
	{name: "py-openai-responses", ids: true},
	{name: "py-anthropic", ids: true, done: true},
}

// The requests that every SDK must read as it reads them directly.
const (
	quick = "ttft=1ms,gap=1ms,tokens_per_event=2,"
	plain = quick + "n=8,seed=7"
	slow  = "ttft=120ms,gap=30ms,tokens_per_event=2,n=8,seed=7"
)

// beating has heartbeats of the service itself, with a blank line, which kill
// openai-go 1.x: there, what the gateway does for ids is a help.
const beating = quick + "n=8,seed=7,gap=10ms,heartbeat_every=3ms"

var same = []string{
	plain,
	slow,
	quick + "n=20,seed=7,lang=zh,cut=utf8",
	plain + ",crlf=1,cut=crlf",
	plain + ",nospace=1",
	beating,
	quick + "n=9,reasoning=4,seed=7",
	quick + "n=9,reasoning=2,tool=4,seed=7",
	plain + ",error_after=3",
	plain + ",status=400",
	plain + ",usage=none",
}

// The requests whose answers break off: what an SDK alone may not notice.
var broken = []string{plain + ",truncate_after=3", plain + ",reset_after=3"}

// whole is answered without its last event: the gateway completes it.
const whole = plain + ",done=0"

// early fails before any output: where the gateway still holds the stream, that
// is a real HTTP status.
const early = plain + ",error=first200"

// setup is a configuration of the gateway with something in it that could hurt
// an SDK.
type setup struct {
	name    string
	route   string // YAML of the route's further keys
	headers string // of every request, as JSON
	can     func(driver) bool
}

var setups = []setup{
	{name: "defaults", can: driver.starts},
	{name: "heartbeats, short hold, resumable", route: "open: {mode: hold, hold: 20ms}, heartbeat: 10ms, silence: {log: 10ms, act: 20ms, tell: 40ms}, resume: {enabled: true, grace: 1s}"},
	{name: "early", route: "open: {mode: early}, heartbeat: 10ms"},
	{name: "resume with ids", route: "heartbeat: 10ms", headers: `{"weir-resume":"1"}`, can: driver.hasIDs},
}

// starts leaves out the SDKs of Python, which take a second to start: what
// follows tries more of them.
func (d driver) starts() bool { return !strings.HasPrefix(d.name, "py-") }

func (d driver) hasIDs() bool { return d.ids || d.name == "gemini" } // gemini's must be left out

func TestOfficialSDKs(t *testing.T) {
	p := installed(t)
	m, count := upstream(t), telemetry.NewGateway(telemetry.Options{Semconv: telemetry.Both})
	urls := map[string]string{}
	for _, c := range setups {
		urls[c.name] = start(t, m, c, count)
	}
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			direct := p.run(t, d.name, m.URL(), "", same)
			for _, c := range setups {
				if c.can == nil || c.can(d) {
					t.Run(c.name, func(t *testing.T) { d.test(t, p.run(t, d.name, urls[c.name], c.headers, all), direct) })
				}
			}
		})
	}
}

var all = slices.Concat(same, broken, []string{whole, early})

// test holds what the SDK read through the gateway against what it read
// directly.
func (d driver) test(t *testing.T, through, direct map[string]result) {
	t.Helper()
	for _, settings := range same {
		helped := settings == beating && through[settings].line == direct[plain].line
		if through[settings].line != direct[settings].line && !helped {
			t.Errorf("%s:\nthrough the gateway %s\nthe service itself  %s", settings, through[settings].line, direct[settings].line)
		}
	}
	for _, settings := range broken {
		switch r := through[settings]; {
		case r.Error == nil:
			t.Errorf("%s: the SDK raised nothing, and gave %q", settings, r.Text)
		case !d.atEnd && (r.Text == "" || !strings.HasPrefix(direct[plain].Text, r.Text)):
			t.Errorf("%s: text %q before the error, want what came", settings, r.Text)
		}
	}
	if d.done && through[whole].line != direct[plain].line {
		t.Errorf("without the last event: %s, want %s", through[whole].line, direct[plain].line)
	}
	if r := through[early]; r.Error == nil || !strings.Contains(r.Error.Message, "told to fail") {
		t.Errorf("error before the first output: %s, want the service's own words raised", r.line)
	}
}

// result is what the driver prints for one request, and the line itself.
type result struct {
	line  string
	Text  string
	Error *struct{ Name, Message string }
}
