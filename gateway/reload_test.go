package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/peer"
	"weir/relay"
)

// frontRig is a Front that listens.
type frontRig struct {
	*kept
	t    *testing.T
	f    *Front
	url  string
	logs *peer.Output
}

func configOf(t *testing.T, config string, args ...any) Config {
	t.Helper()
	c, err := Load("gateway.yaml", []byte(fmt.Sprintf(config, args...)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func startFront(t *testing.T, config string, args ...any) *frontRig {
	t.Helper()
	log := relay.NewMemory(relay.MemoryOptions{})
	k, logs := &kept{}, &peer.Output{}
	f, err := NewFront(configOf(t, config, args...), Options{Sink: k, Observer: k, Log: log, Logger: slog.New(slog.NewTextHandler(logs, nil))})
	if err != nil {
		t.Fatal(err)
	}
	url := listen(t, f, f.Close, log.Close)
	return &frontRig{kept: k, t: t, f: f, url: url, logs: logs}
}

func (f *frontRig) reload(config string, args ...any) {
	f.t.Helper()
	if err := f.f.Reload(configOf(f.t, config, args...)); err != nil {
		f.t.Fatal(err)
	}
}

// A hundred changes under load: no request fails, and each is served by one
// configuration from its beginning to its end.
func TestReloadUnderLoad(t *testing.T) {
	// no hexadecimal names: streams have ids
	answer := func(name string) string {
		return scripted(t, sse(chatRole, chat(name), "1ms", chat(name), "1ms", chat(name), chatFinish, chatDone))
	}
	urls := []string{answer("zyzy"), answer("xwxw")}
	g := startFront(t, resuming, urls[0])
	ctx, stop := context.WithCancel(t.Context())
	var asked atomic.Int64
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			header := []string{}
			if i%2 == 0 {
				header = []string{"weir-resume", "1"}
			}
			for ctx.Err() == nil {
				resp, err := tryPost(context.Background(), g.url+"/v1/chat/completions", ask1, header...)
				if err != nil {
					t.Error(err)
					return
				}
				b, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				body := string(b)
				a, z := strings.Count(body, "zyzy"), strings.Count(body, "xwxw")
				if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(body, "[DONE]") || !(a == 3 && z == 0 || a == 0 && z == 3) {
					t.Errorf("status %d, %v:\n%s", resp.StatusCode, err, body)
					return
				}
				asked.Add(1)
			}
		})
	}
	for i := range 100 {
		before := asked.Load()
		g.reload(resuming, urls[(i+1)%2])
		until(t, "requests go on", func() bool { return asked.Load() > before || t.Failed() })
	}
	stop()
	clients.Wait()
	until(t, "every former configuration is freed", func() bool { return g.f.Former() == 0 })
	if n := g.f.InFlight(); n != 0 {
		t.Errorf("%d places are taken", n)
	}
}

// A stream of before the change goes on, counts in the new limits, and is
// found by those who follow, stop or look it up.
func TestReloadKeepsStreams(t *testing.T) {
	const one = "limits: {streams: 1, queue: 0}" + resuming
	old, other := newStepped(t), scripted(t, sse(chatRole, chat("new"), chatFinish, chatDone))
	g := startFront(t, resuming, old.url)
	resp := post(t, g.url+"/v1/chat/completions", ask1, "X-Request-Id", "before-it")
	r := bufio.NewReader(resp.Body)
	old.next <- chat("one")
	got := readEvents(t, r, 1)

	g.reload(one, other)
	if refused := post(t, g.url+"/v1/chat/completions", ask1); refused.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a second stream under a limit of one: %s", refused.Status)
	}
	if n := g.f.Former(); n != 1 {
		t.Errorf("%d former configurations in use", n)
	}
	follower := get(t, g.url+"/weir/streams/"+resp.Header.Get("Weir-Stream"))
	old.next <- chat("two")
	got += readEvents(t, r, 1)
	if followed := readEvents(t, bufio.NewReader(follower.Body), 2); followed != got {
		t.Errorf("the client has\n%s\nthe follower\n%s", got, followed)
	}
	stop := post(t, g.url+"/weir/streams/"+resp.Header.Get("Weir-Stream")+"/stop", "")
	if stop.StatusCode != http.StatusNoContent {
		t.Errorf("stop: %s", stop.Status)
	}
	if rest, _ := io.ReadAll(r); !strings.Contains(string(rest), `"stopped"`) {
		t.Errorf("after the stop: %s", rest)
	}
	until(t, "the former configuration is freed", func() bool { return g.f.Former() == 0 && g.f.InFlight() == 0 })
	if record := text(t, get(t, g.url+"/weir/records/before-it")); !strings.Contains(record, `"request_id":"before-it"`) {
		t.Errorf("record: %s", record)
	}
	if body := text(t, post(t, g.url+"/v1/chat/completions", ask1)); !strings.Contains(body, "new") {
		t.Errorf("the new configuration: %s", body)
	}
}

// A request that waits for a place gets one when the limit grows.
func TestReloadLetsWaitersIn(t *testing.T) {
	const limit = "limits: {streams: %d, queue: 5, queue_wait: 30s}" + small
	m := newStepped(t)
	g := startFront(t, limit, 1, m.url)
	first := post(t, g.url+"/v1/chat/completions", ask1)
	defer first.Body.Close()
	in := make(chan string, 1)
	go func() {
		resp, err := tryPost(context.Background(), g.url+"/v1/chat/completions", ask1)
		if err != nil {
			in <- err.Error()
			return
		}
		in <- resp.Status
		_ = resp.Body.Close()
	}()
	until(t, "it waits", func() bool {
		g.f.all.gate.mu.Lock()
		defer g.f.all.gate.mu.Unlock()
		return len(g.f.all.gate.waiting) == 1
	})
	g.reload(limit, 2, m.url)
	if status := <-in; status != "200 OK" {
		t.Error(status)
	}
}

func TestReloadRefused(t *testing.T) {
	up := scripted(t, sse(chatRole, chat("kept"), chatFinish, chatDone))
	g := startFront(t, small, up)
	cert, key := mockCert(t)
	for _, c := range []struct{ name, config, says string }{
		{"listen", "listen: 127.0.0.1:1" + small, "listen cannot change while the gateway runs; restart it"},
		{"admin", "admin: 127.0.0.1:1" + small, "admin cannot change"},
		{"log", "log: {dir: elsewhere}" + small, "log cannot change"},
		{"tls on", fmt.Sprintf("tls: {cert: %q, key: %q}", cert, key) + small, "tls cannot be switched on or off"},
		{"keys", "keys: {mode: file, file: /nowhere/keys.yaml}" + small, "the file of keys cannot be read"},
		{"dialect", "routes: [{path: /a, upstream: main, dialect: nowhere.yaml}]\nupstreams: {main: {urls: [%q]}}", "nowhere.yaml"},
		{"service key", "routes: [{path: /a, upstream: main}]\nupstreams: {main: {urls: [%q], key_file: /nowhere/key}}", "key_file"},
	} {
		err := g.f.Reload(configOf(t, c.config, up))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
		if body := text(t, post(t, g.url+"/v1/chat/completions", ask1)); !strings.Contains(body, "kept") {
			t.Errorf("%s: the configuration before does not serve: %s", c.name, body)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := g.f.Drain(ctx); err != nil {
		t.Error(err)
	}
	if err := g.f.Reload(configOf(t, small, up)); err == nil {
		t.Error("a gateway that closes took up a configuration")
	}
}

func TestWatch(t *testing.T) {
	name := fileOf(t, "a.yaml", "one")
	other := fileOf(t, "b.yaml", "one")
	var mu sync.Mutex
	files := []string{name}
	var changes atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	looks := make(chan struct{}, 1)
	now := make(chan os.Signal, 1)
	done.Go(func() {
		Watch(ctx, time.Millisecond, now, func() []string {
			select {
			case looks <- struct{}{}:
			default:
			}
			mu.Lock()
			defer mu.Unlock()
			return files
		}, func(bool) { changes.Add(1) })
	})
	look := func() {
		for range 4 { // the one that is under way, two that see it, and the one that may be in the channel
			<-looks
		}
	}
	write := func(file, content string) {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look()
	for i, c := range []struct {
		name string
		do   func()
		want int64
	}{
		{"nothing", func() {}, 0},
		{"written with the same content", func() { write(name, "one") }, 0},
		{"touched", func() { _ = os.Chtimes(name, time.Now(), time.Now().Add(time.Hour)) }, 0},
		{"another content of the same size", func() { write(name, "two") }, 1},
		{"gone", func() { _ = os.Remove(name) }, 2},
		{"there again", func() { write(name, "two") }, 3},
		{"a further file is watched", func() { mu.Lock(); files = []string{name, other}; mu.Unlock() }, 3},
		{"and changes", func() { write(other, "two") }, 4},
		{"a signal", func() { now <- os.Interrupt }, 5},
	} {
		c.do()
		until(t, c.name, func() bool { return changes.Load() >= c.want })
		look()
		if n := changes.Load(); n != c.want && !(c.name == "there again" && n == c.want+1) { // it may be seen empty twice
			t.Errorf("%d %s: %d changes, want %d", i, c.name, n, c.want)
		}
		changes.Store(c.want)
	}
	stop()
	done.Wait()
}

func TestFilesOfAConfiguration(t *testing.T) {
	c := configOf(t, `
tls: {cert: c.pem, key: k.pem}
keys: {mode: file, file: keys.yaml}
upstreams: {main: {urls: ["http://h"], key_file: key, cacert: ca.pem}, b: {urls: ["http://h"]}}
routes: [{path: /a, upstream: main, dialect: my.yaml}, {path: /b, upstream: b, dialect: openai.chat}, {path: /c, upstream: main, dialect: my.yaml}]
`)
	if got := strings.Join(c.Files(), " "); got != "c.pem ca.pem k.pem key keys.yaml my.yaml" {
		t.Error(got)
	}
}
