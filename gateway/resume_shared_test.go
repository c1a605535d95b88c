package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/peer"
	"weir/relay"
	"weir/relay/redis"
	"weir/relay/redis/redistest"
	"weir/ws"
)

// startShared is startLog for one of several instances that share a Redis.
func startShared(t *testing.T, s interface{ URL() string }, config string, urls ...any) (*rig, *redis.Log) {
	t.Helper()
	c, err := Load("gateway.yaml", []byte(fmt.Sprintf(config, urls...)))
	if err != nil {
		t.Fatal(err)
	}
	far, err := redis.New(redis.Options{URL: s.URL(), Lease: 1200 * time.Millisecond, Check: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	log := redis.NewSpread(relay.NewMemory(relay.MemoryOptions{}), far)
	k, logs := &kept{}, &peer.Output{}
	g, err := New(c, Options{Sink: k, Observer: k, Log: log, Logger: slog.New(slog.NewTextHandler(logs, nil))})
	if err != nil {
		t.Fatal(err)
	}
	url := listen(t, g.Handler(), g.Close, log.Close)
	return &rig{kept: k, g: g, url: url, logs: logs}, far
}

// soon polls a request until its status is another than 404.
func soon(t *testing.T, url string, header ...string) *http.Response {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		r := get(t, url, header...)
		if r.StatusCode != http.StatusNotFound || time.Now().After(end) {
			return r
		}
	}
}

// TestAnyInstanceServes begins at one instance and goes on at another, while
// the stream runs and after its end.
func TestAnyInstanceServes(t *testing.T) {
	s := redistest.Start(t)
	up := newStepped(t)
	a, _ := startShared(t, s, strings.Replace(resuming, "grace: 30s", "grace: 200ms", 1), up.url)
	b, _ := startShared(t, s, resuming, up.url)
	ctx, cut := context.WithCancel(t.Context())
	first, err := tryPost(ctx, a.url+"/v1/chat/completions", ask1, "Authorization", "Bearer alice", "weir-resume", "1")
	if err != nil {
		t.Fatal(err)
	}
	id := first.Header.Get("Weir-Stream")
	if first.Header.Get("Weir-Resumable") != "true" {
		t.Errorf("headers %v", first.Header)
	}
	up.next <- chat("a")
	body := readEvents(t, bufio.NewReader(first.Body), 1)
	at := b.url + "/weir/streams/" + id
	if r := get(t, at, "Authorization", "Bearer mallory"); r.StatusCode != http.StatusNotFound {
		t.Errorf("another's stream: %d", r.StatusCode)
	}
	last := eventID.FindStringSubmatch(body)[0]
	second := soon(t, at, "Authorization", "Bearer alice", "Last-Event-ID", strings.TrimPrefix(last, "id: "))
	in := bufio.NewReader(second.Body)
	go func() { up.next <- chat("b") }()
	if got := withoutStamps(readEvents(t, in, 1)); got != chat("b") {
		t.Fatalf("elsewhere came %q", got)
	}
	cut()
	time.Sleep(time.Second) // five times the grace: the follower elsewhere keeps the stream
	select {
	case up.next <- chat("c"):
	case <-up.gone:
		t.Fatal("the upstream was cancelled though somebody follows at another instance")
	}
	up.next <- chatFinish
	up.next <- chatDone
	close(up.next)
	rest, err := io.ReadAll(in)
	if got := withoutStamps(string(rest)); err != nil || got != chat("c")+chatFinish+chatDone {
		t.Errorf("the rest: %q, %v", got, err)
	}
	if got := text(t, get(t, at+"?after=1", "Authorization", "Bearer alice")); got != chat("b")+chat("c")+chatFinish+chatDone {
		t.Errorf("after the end: %q", got)
	}
	if r := get(t, at+"?after=5", "Authorization", "Bearer alice"); r.StatusCode != http.StatusNoContent {
		t.Errorf("after the last: %d", r.StatusCode)
	}
	if r := get(t, at+"?after=9", "Authorization", "Bearer alice"); r.StatusCode != http.StatusConflict {
		t.Errorf("beyond the last: %d", r.StatusCode)
	}
}

func stopAt(t *testing.T, url, key string) *http.Response {
	t.Helper()
	return post(t, url+"/stop", "", "Authorization", key)
}

func TestAnyInstanceStops(t *testing.T) {
	s := redistest.Start(t)
	up := newStepped(t)
	a, _ := startShared(t, s, resuming, up.url)
	b, _ := startShared(t, s, resuming, up.url)
	first := post(t, a.url+"/v1/chat/completions", ask1, "Authorization", "Bearer alice")
	up.next <- chat("a")
	at := b.url + "/weir/streams/" + first.Header.Get("Weir-Stream")
	follower := soon(t, at, "Authorization", "Bearer alice")
	if r := stopAt(t, at, "Bearer mallory"); r.StatusCode != http.StatusNotFound {
		t.Errorf("stopped by another: %d", r.StatusCode)
	}
	if r := stopAt(t, at, "Bearer alice"); r.StatusCode != http.StatusNoContent {
		t.Errorf("stop: %d %s", r.StatusCode, text(t, r))
	}
	select {
	case <-up.gone:
	case <-time.After(30 * time.Second):
		t.Fatal("the upstream still runs")
	}
	for _, r := range []*http.Response{first, follower} {
		if body := text(t, r); strings.Count(body, `"reason":"stopped"`) != 1 {
			t.Errorf("a client was told %q", body)
		}
	}
	if r := stopAt(t, at, "Bearer alice"); r.StatusCode != http.StatusNotFound {
		t.Errorf("a second stop: %d", r.StatusCode)
	}
}

// TestNotBegunElsewhere: the upstream has not answered, and a reader comes to
// another instance.
func TestNotBegunElsewhere(t *testing.T) {
	s := redistest.Start(t)
	release := make(chan bool)
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		sse(chat("a"), chatFinish, chatDone)(w, r)
	})
	config := strings.Replace(resuming, "open: {mode: early}", "open: {mode: hold, hold: 50ms}", 1)
	a, _ := startShared(t, s, config, up)
	b, _ := startShared(t, s, config, up)
	first := post(t, a.url+"/v1/chat/completions", ask1)
	at := "/weir/streams/" + first.Header.Get("Weir-Stream")
	done := make(chan string, 2)
	for _, url := range []string{a.url, b.url} {
		go func() { done <- text(t, soon(t, url+at)) }()
	}
	time.Sleep(100 * time.Millisecond)
	close(release)
	for range 2 {
		if got := <-done; got != chat("a")+chatFinish+chatDone {
			t.Errorf("a reader got %q", got)
		}
	}
}

// TestOwnerGone: the followers of a killed instance end with one error frame.
func TestOwnerGone(t *testing.T) {
	s := redistest.Start(t)
	up := newStepped(t)
	a, far := startShared(t, s, resuming, up.url)
	b, _ := startShared(t, s, resuming, up.url)
	first := post(t, a.url+"/v1/chat/completions", ask1)
	up.next <- chat("a")
	at := b.url + "/weir/streams/" + first.Header.Get("Weir-Stream")
	follower := soon(t, at)
	in := bufio.NewReader(follower.Body)
	readEvents(t, in, 1)
	p, _ := connect(t, b.url) // it got the first event elsewhere, and nothing here before the end
	p.say(`{"type":"resume","id":"r","stream":"` + first.Header.Get("Weir-Stream") + `","after":1}`)
	next[*ws.Open](p)
	_ = far.Close() // its lease is gone, and nothing of the stream comes any more
	rest, err := io.ReadAll(in)
	got := p.whole("r")
	if strings.Count(got.data(), `"reason":"owner_gone"`) != 1 || len(got.events) != 1 || got.events[0].Seq != 2 || got.end.Reason != "owner_gone" {
		t.Errorf("the follower by WebSocket was told %q, %+v", got.data(), got.end)
	}
	if err != nil || strings.Count(string(rest), `"reason":"owner_gone"`) != 1 || strings.Count(string(rest), "data:") != 1 || !strings.Contains(string(rest), `"retryable":true`) {
		t.Errorf("the follower was told %q, %v", rest, err)
	}
	close(up.next)
}

// TestRedisAway: streams go on, say that they cannot be resumed, and this
// instance resumes them all the same.
func TestRedisAway(t *testing.T) {
	s := redistest.Start(t)
	m := startMock(t, "ttft=2ms,gap=0ms,n=5")
	a, far := startShared(t, s, resuming, m.URL())
	b, other := startShared(t, s, resuming, m.URL())
	text(t, post(t, a.url+"/v1/chat/completions", ask1))
	s.Kill()
	for end := time.Now().Add(30 * time.Second); far.Up() || other.Up(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody noticed")
		}
	}
	during := post(t, a.url+"/v1/chat/completions", ask1)
	body := text(t, during)
	id := during.Header.Get("Weir-Stream")
	if during.Header.Get("Weir-Resumable") != "false" || !strings.HasSuffix(body, chatDone) {
		t.Errorf("%v %q", during.Header, body)
	}
	if got := text(t, get(t, a.url+"/weir/streams/"+id)); got != body {
		t.Errorf("resumed here: %q, want %q", got, body)
	}
	if r := get(t, b.url+"/weir/streams/"+id); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("resumed elsewhere: %d %v", r.StatusCode, r.Header)
	}
	s.Run()
	if got := text(t, soonUp(t, b.url+"/weir/streams/"+id)); got != body {
		t.Errorf("caught up: %q, want %q", got, body)
	}
	if after := post(t, a.url+"/v1/chat/completions", ask1); after.Header.Get("Weir-Resumable") != "true" {
		t.Errorf("afterwards: %v", after.Header)
	}
}

// soonUp polls until the answer is 200.
func soonUp(t *testing.T, url string) *http.Response {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		r := get(t, url)
		if r.StatusCode == http.StatusOK || time.Now().After(end) {
			return r
		}
	}
}

// TestCutsAcrossInstances: every connection goes to another instance than the
// one before; 0 lost, 0 doubled.
func TestCutsAcrossInstances(t *testing.T) {
	const clients, words = 6, 100
	s := redistest.Start(t)
	var pieces []string
	for i := range words {
		pieces = append(pieces, chat(fmt.Sprint("word ", i)), "2ms")
	}
	pieces = append(pieces, chatFinish, chatDone)
	up := scripted(t, sse(pieces...))
	a, _ := startShared(t, s, resuming, up)
	b, _ := startShared(t, s, resuming, up)
	want := ""
	for _, p := range pieces {
		if p != "2ms" {
			want += p
		}
	}
	for seed := range uint64(clients) {
		random := rand.New(rand.NewPCG(seed, 9))
		first := post(t, a.url+"/v1/chat/completions", ask1)
		got, in := "", first.Body
		n, hops := 0, 0
		for !strings.HasSuffix(got, chatDone) {
			got += readSome(bufio.NewReader(in), 1+random.IntN(30), &n)
			_ = in.Close()
			if strings.HasSuffix(got, chatDone) {
				break
			}
			hops++
			url := []string{b.url, a.url}[hops%2]
			r := get(t, fmt.Sprintf("%s/weir/streams/%s?after=%d", url, first.Header.Get("Weir-Stream"), n))
			if in = r.Body; r.StatusCode != http.StatusOK {
				t.Fatalf("hop %d: %d %s", hops, r.StatusCode, text(t, r))
			}
		}
		if got != want {
			t.Errorf("seed %d, after %d hops:\n%q\nwant:\n%q", seed, hops, got, want)
		}
		if hops < 3 {
			t.Errorf("only %d hops: the test proves little", hops)
		}
	}
}

// readSome reads up to n events, fewer where the stream ends.
func readSome(r *bufio.Reader, n int, count *int) (body string) {
	event := ""
	for n > 0 {
		line, err := r.ReadString('\n')
		if err != nil {
			return body
		}
		if event += line; line == "\n" {
			body, event = body+event, ""
			n--
			*count++
		}
	}
	return body
}
