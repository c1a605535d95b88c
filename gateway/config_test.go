package gateway

import (
	"strings"
	"testing"
	"time"
)

const smallest = `
listen: 127.0.0.1:8080
admin: 127.0.0.1:9091
upstreams:
  main: {urls: ["http://127.0.0.1:9000"]}
routes:
  - {path: "/v1/*", upstream: main}
`

const full = `
listen: 127.0.0.1:8080
admin: 127.0.0.1:9091
routes:
  - path: "/v1/*"
    upstream: main
    dialect: auto
    open: {mode: hold, hold: 10s}              # hold | early
    heartbeat: 15s                             # 0 = off
    retry: {attempts: 2, backoff: 200ms, first_output: 30s}
    silence: {log: 3s, act: 10s, tell: 30s}
    on_silence: mark                           # mark | retry (before first output) | end
    floor: {tokens_per_second: 0, window: 20s} # 0 = off
    resume: {enabled: false, grace: 30s}
    slow_client: {policy: detach, bytes: 1MiB, write_timeout: 10s}
    meta_event: false
limits: {streams: 5000, per_route: 0, per_key: 0, queue: 100, queue_wait: 5s, body: 8MiB, event: 16MiB}
keys: {mode: pass_through}
upstreams: {main: {urls: ["http://127.0.0.1:9000"], key_env: "", allow: []}}
log: {dir: events, store: weir.db}
`

// The full configuration says what the smallest leaves out.
func TestDefaultsAreTheFullConfiguration(t *testing.T) {
	a, err := Load("a.yaml", []byte(smallest))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Load("b.yaml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	if a.Limits != b.Limits || a.Keys != b.Keys || a.Listen != b.Listen || a.Admin != b.Admin || a.Log != b.Log {
		t.Errorf("smallest %+v\nfull %+v", a, b)
	}
	x, y := a.Routes[0], b.Routes[0]
	if x.firstOutput(2) != y.firstOutput(2) || x.early(1) != y.early(1) {
		t.Errorf("first output %s and %s", x.firstOutput(2), y.firstOutput(2))
	}
	x.Retry.FirstOutput, y.Retry.FirstOutput = nil, nil
	x.Open.Mode, y.Open.Mode = "", ""
	x.Upstream.place, y.Upstream.place = nil, nil
	if x.Open != y.Open || x.Heartbeat != y.Heartbeat || x.Retry != y.Retry || x.Silence != y.Silence || x.OnSilence != y.OnSilence ||
		x.Floor != y.Floor || x.Resume != y.Resume || x.Slow != y.Slow || x.MetaEvent != y.MetaEvent || x.Dialect != y.Dialect {
		t.Errorf("smallest %+v\nfull %+v", x, y)
	}
}

func TestOpeningAndFirstOutputFollowTheRoute(t *testing.T) {
	r := DefaultRoute()
	if r.early(1) || r.firstOutput(1) != 0 || r.firstOutput(2) != 30*time.Second {
		t.Error("defaults: hold; a limit on the first output only where another address is left")
	}
	r.Retry.Attempts = 1
	if !r.early(1) || r.early(2) {
		t.Error("one address and no retry: early")
	}
	if r.Open.Mode = Hold; r.early(1) {
		t.Error("a stated mode wins")
	}
	zero := time.Duration(0)
	if r.Retry.FirstOutput = &zero; r.firstOutput(2) != 0 {
		t.Error("0 switches the limit off")
	}
}

func TestMistakesAreTold(t *testing.T) {
	t.Setenv("WEIR_TEST_URL", "http://user:hunter2@host")
	const routes = "routes:\n- {path: /a, upstream: main}\n"
	const ups = "upstreams: {main: {urls: [\"http://a\"]}}\n"
	for _, c := range []struct{ yaml, want string }{
		{"", "g.yaml:1:1: upstreams is missing"},
		{ups, "g.yaml:1:1: the document: routes is missing"},
		{"upstreams: {main: {urls: []}}\n" + routes, "g.yaml:1:19: upstreams.main: urls is missing"},
		{"upstreams: {main: {urls: [\"ftp://a\"]}}\n" + routes, "g.yaml:1:27: upstreams.main.urls[0]: a URL begins with"},
		{"upstreams: {main: {urls: [\"http://u:p@a\"]}}\n" + routes, "holds no user or password"},
		{"upstreams: {main: {urls: [\"${WEIR_TEST_URL}\"]}}\n" + routes, "the value of ${WEIR_TEST_URL} is no good"},
		{"upstreams: {main: {urls: [\"http://a\"], allow: [10.0.0.0/33]}}\n" + routes, "g.yaml:1:48: upstreams.main.allow[0]: \"10.0.0.0/33\" is no range"},
		{ups + "routes:\n- {path: /a, upstream: other}\n", "g.yaml:3:24: routes[0].upstream: no upstream is called \"other\"; there are main"},
		{ups + "routes:\n- {path: a, upstream: main}\n", "g.yaml:3:3: routes[0]: path is \"a\"; it must begin with /"},
		{ups + "routes:\n- {path: /a*b, upstream: main}\n", "a * may stand only at its end"},
		{ups + "routes:\n- {path: /weir/x, upstream: main}\n", "are the gateway's own"},
		{ups + "routes:\n- {path: /a}\n", "upstream is missing"},
		{ups + routes + "- {path: /a, upstream: main}\n", "g.yaml:4:24: routes[1].upstream: another route has the path /a already"},
		{ups + "routes:\n- {path: /a, upstream: main, dialect: opanai}\n", "g.yaml:3:39: routes[0].dialect: no dialect is called \"opanai\""},
		{ups + "routes:\n- {path: /a, upstream: main, heartbeat: 1ms}\n", "heartbeat is 1ms"},
		{ups + "routes:\n- {path: /a, upstream: main, heartbeat: 15}\n", "g.yaml:3:41: routes[0].heartbeat: \"15\" is no good; it takes a duration"},
		{ups + "routes:\n- {path: /a, upstream: main, silence: {log: 5s, act: 2s}}\n", "must not fall"},
		{ups + "routes:\n- {path: /a, upstream: main, slow_client: {bytes: 1PB}}\n", "g.yaml:3:51: routes[0].slow_client.bytes: \"1PB\" is no size"},
		{ups + "routes:\n- {path: /a, upstream: main, on_silence: kill}\n", "\"kill\" is not one of mark, retry, end"},
		{ups + "routes:\n- {path: /a, upstream: main, retry: {attempts: 0}}\n", "retry.attempts is 0"},
		{ups + routes + "listen: nowhere\n", "listen: \"nowhere\" is no address"},
		{ups + routes + "limits: {streams: -1}\n", "g.yaml:4:9: limits: a limit is negative"},
		{ups + routes + "keys: {mode: file}\n", "keys: mode file needs file"},
		{ups + routes + "keys: {mode: open}\n", "g.yaml:4:14: keys.mode: \"open\" is not one of pass_through, file"},
		{ups + routes + "tls: {cert: a.pem}\n", "tls: give both"},
		{ups + routes + "rotues: []\n", "g.yaml:4:1: unknown key \"rotues\"; allowed: listen, admin, tls, upstreams, routes"},
	} {
		_, err := Load("g.yaml", []byte(c.yaml))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "g.yaml:") {
			t.Errorf("%s\n got %v\nwant %s", c.yaml, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a secret was told: %v", err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"upstreams: {main: {urls: [\"http://a\"], key_env: WEIR_TEST_NOT_SET}}\nroutes: [{path: /a, upstream: main}]\n", "the environment variable WEIR_TEST_NOT_SET is not set"},
		{"upstreams: {main: {urls: [\"http://a\"], cacert: none.pem}}\nroutes: [{path: /a, upstream: main}]\n", "cacert: open none.pem"},
		{"upstreams: {main: {urls: [\"http://a\"]}}\nroutes: [{path: /a, upstream: main, dialect: none.yaml}]\n", "the dialect's file cannot be read"},
		{"upstreams: {main: {urls: [\"http://a\"]}}\nroutes: [{path: /a, upstream: main}]\nkeys: {mode: file, file: none.yaml}\n", "the file of keys cannot be read"},
	} {
		conf, err := Load("g.yaml", []byte(c.yaml))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(conf, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestTheMostSpecificRouteWins(t *testing.T) {
	u := &upstream{Upstream: Upstream{URLs: []URL{mustURL("http://a")}}}
	c := &Config{Routes: []Route{{Path: "/*", Upstream: Ref{Name: "m"}}, {Path: "/v1/*", Upstream: Ref{Name: "m"}}, {Path: "/v1/chat", Upstream: Ref{Name: "m"}}}}
	routes, err := newRoutes(c, map[string]*upstream{"m": u})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/": "/*", "/v1": "/v1/*", "/v1/": "/v1/*", "/v1/chat": "/v1/chat", "/v1/chat/x": "/v1/*", "/v2": "/*"} {
		if r := findRoute(routes, path); r == nil || r.Path != want {
			t.Errorf("%s: %+v, want %s", path, r, want)
		}
	}
}
