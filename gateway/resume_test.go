package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/client"
	"weir/relay"
)

var eventID = regexp.MustCompile(`(?m)^id: ([0-9a-f]{32})\.([0-9a-f]+)\.(\d+)$`)

func TestIDsOnlyForThoseWhoAsk(t *testing.T) {
	m := startMock(t, "ttft=2ms,gap=0ms,n=5")
	g := startLog(t, relay.MemoryOptions{}, resuming, m.URL())
	for _, d := range dialects {
		if d.name == "gemini array" {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			plain := post(t, g.url+d.path, d.body)
			if body := text(t, plain); strings.Contains(body, "\nid: ") || strings.HasPrefix(body, "id: ") || strings.Contains(body, "retry: ") {
				t.Errorf("ids that nobody asked for:\n%s", body)
			}
			if plain.Header.Get("Weir-Resumable") != "true" || len(plain.Header.Get("Weir-Stream")) != 32 {
				t.Errorf("headers %v", plain.Header)
			}
			asked := post(t, g.url+d.path, d.body, "weir-resume", "1")
			body := text(t, asked)
			if d.name == "gemini" || d.name == "ollama" {
				if strings.Contains(body, "id: ") || strings.Contains(body, "retry: ") {
					t.Errorf("a client of %s loses events with ids:\n%s", d.name, body)
				}
				return
			}
			ids := eventID.FindAllStringSubmatch(body, -1)
			for i, b := range blocks(body) {
				if i >= len(ids) || ids[i][1] != asked.Header.Get("Weir-Stream") || ids[i][3] != fmt.Sprint(i+1) || !strings.Contains(b, "data") {
					t.Fatalf("event %d of\n%s", i+1, body)
				}
				if strings.Contains(b, "retry: 1000\n") != (i == 0) {
					t.Errorf("retry stands in the first event and no other:\n%s", b)
				}
			}
		})
	}
}

// TestEveryPositionAfterTheEnd asks for what follows each event of a stream
// that is over.
func TestEveryPositionAfterTheEnd(t *testing.T) {
	m := startMock(t, "ttft=2ms,gap=0ms,n=6")
	g := startLog(t, relay.MemoryOptions{}, resuming, m.URL())
	for _, d := range dialects {
		if d.name == "gemini array" {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			first := post(t, g.url+d.path, d.body, "weir-resume", "1")
			body := text(t, first)
			at := g.url + "/weir/streams/" + first.Header.Get("Weir-Stream")
			all := blocks(body)
			if d.name == "ollama" {
				all = strings.SplitAfter(strings.TrimSuffix(body, "\n"), "\n")
				all[len(all)-1] += "\n"
			}
			ids := eventID.FindAllStringSubmatch(body, -1)
			for n := range len(all) + 1 {
				want := strings.Join(all[n:], "")
				r := get(t, fmt.Sprintf("%s?after=%d", at, n))
				if n == len(all) {
					if r.StatusCode != http.StatusNoContent {
						t.Errorf("after the end: %d %q", r.StatusCode, text(t, r))
					}
					continue
				}
				if got := text(t, r); got != withoutStamps(want) || r.Header.Get("Content-Type") == "" || r.Header.Get("X-Accel-Buffering") != "no" {
					t.Errorf("after %d:\n%swant:\n%s%v", n, got, withoutStamps(want), r.Header)
				}
				if n == 0 || len(ids) == 0 {
					continue
				}
				got := text(t, get(t, at, "Last-Event-ID", strings.TrimPrefix(ids[n-1][0], "id: ")))
				if first := strings.Index(got, "retry: 1000\n"); first < 0 || strings.Replace(got, "retry: 1000\n", "", 1) != want {
					t.Errorf("after id %d:\n%swant, with a retry:\n%s", n, got, want)
				}
			}
		})
	}
}

func TestOnlyTheOwnerFollows(t *testing.T) {
	m := startMock(t, "ttft=2ms,gap=0ms,n=3")
	g := startLog(t, relay.MemoryOptions{}, resuming, m.URL())
	mine := post(t, g.url+"/v1/responses", `{"model":"m","stream":true,"input":"hi"}`, "authorization", "Bearer mine-key")
	body := text(t, mine)
	at := g.url + "/weir/streams/" + mine.Header.Get("Weir-Stream")
	if got := text(t, get(t, at, "authorization", "Bearer mine-key")); got != body {
		t.Errorf("the owner got\n%s", got)
	}
	refusal := func(url string, header ...string) string {
		r := get(t, url, append(header, "x-request-id", "request-1")...)
		return fmt.Sprint(r.StatusCode, r.Header.Get("Content-Type"), r.Header.Get("Weir-Stream"), text(t, r))
	}
	unknown := refusal(g.url+"/weir/streams/"+randomID(), "authorization", "Bearer mine-key")
	if !strings.HasPrefix(unknown, "404") {
		t.Errorf("an unknown stream: %s", unknown)
	}
	for name, got := range map[string]string{
		"another key":      refusal(at, "authorization", "Bearer other-key"),
		"no key":           refusal(at),
		"a bad position":   refusal(at+"?after=x", "authorization", "Bearer other-key"),
		"a strange id":     refusal(g.url+"/weir/streams/..%2f..%2fetc", "authorization", "Bearer mine-key"),
		"a response alias": refusal(g.url+"/weir/streams/"+aliasOf(identify(mine.Request).principal, responseID([]byte(blocks(body)[0]))), "authorization", "Bearer mine-key"),
	} {
		if got != unknown {
			t.Errorf("%s: %s; an unknown stream: %s", name, got, unknown)
		}
	}
	if stop, err := tryPost(t.Context(), at+"/stop", "", "authorization", "Bearer other-key"); err != nil || stop.StatusCode != http.StatusNotFound {
		t.Errorf("another may stop it: %v %v", stop, err)
	}
}

func TestBadPositionsAreRefused(t *testing.T) {
	m := startMock(t, "ttft=2ms,gap=0ms,n=3")
	g := startLog(t, relay.MemoryOptions{}, resuming, m.URL())
	first := post(t, g.url+"/v1/chat/completions", ask1)
	_ = text(t, first)
	stream := first.Header.Get("Weir-Stream")
	at := g.url + "/weir/streams/" + stream
	for _, c := range []struct {
		query, id string
		status    int
	}{
		{"?after=-1", "", 400}, {"?after=", "", 400}, {"?after=1e3", "", 400}, {"?after=99999999999999999999", "", 400},
		{"", "7", 400}, {"", randomID() + ".e.1", 400}, {"", stream + ".e.x", 400}, {"", strings.Repeat("9", 5000), 400},
		{"", stream + ".00000000.1", 409}, {"?after=4000", "", 409},
	} {
		r := get(t, at+c.query, "Last-Event-ID", c.id)
		var body struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal([]byte(text(t, r)), &body); err != nil || r.StatusCode != c.status || body.Error.Message == "" {
			t.Errorf("%+v: %d %+v, %v", c, r.StatusCode, body, err)
		}
		if (body.Error.Code == reasonGap) != (c.status == 409) {
			t.Errorf("%+v: code %q", c, body.Error.Code)
		}
	}
	r := get(t, at, "Last-Event-ID", "a", "Last-Event-ID", "b")
	if r.StatusCode != http.StatusBadRequest {
		t.Errorf("two ids: %d", r.StatusCode)
	}
	head, err := http.Head(at)
	if err != nil || head.StatusCode != http.StatusOK || head.Header.Get("Weir-Stream") != stream {
		t.Errorf("HEAD: %v, %v", head, err)
	}
}

func TestFollowersOfAStreamThatRuns(t *testing.T) {
	up := newStepped(t)
	g := startLog(t, relay.MemoryOptions{}, resuming, up.url)
	owner := post(t, g.url+"/v1/chat/completions", ask1)
	at := g.url + "/weir/streams/" + owner.Header.Get("Weir-Stream")
	want := ""
	var bodies []chan string
	for i := range 6 {
		piece := chat(fmt.Sprint("word ", i))
		up.next <- piece
		want += piece
		until(t, "the piece is kept", func() bool {
			s, err := g.g.o.Log.Stat(t.Context(), owner.Header.Get("Weir-Stream"))
			return err == nil && s.Last.Offset == int64(i+1)
		})
		r, body := get(t, at), make(chan string, 1)
		go func() {
			b, err := io.ReadAll(r.Body)
			body <- fmt.Sprint(string(b), err)
		}()
		bodies = append(bodies, body)
	}
	for _, piece := range []string{chatFinish, chatDone} {
		up.next <- piece
		want += piece
	}
	close(up.next)
	if got := text(t, owner); got != want {
		t.Errorf("the owner got\n%s", got)
	}
	for i, body := range bodies {
		if got := <-body; got != want+"<nil>" {
			t.Errorf("follower %d got\n%s", i, got)
		}
	}
}

// TestAClientComesBack: the upstream goes on for the grace window.
func TestAClientComesBack(t *testing.T) {
	up := newStepped(t)
	g := startLog(t, relay.MemoryOptions{}, resuming, up.url)
	ctx, leave := context.WithCancel(t.Context())
	owner, err := tryPost(ctx, g.url+"/v1/chat/completions", ask1, "weir-resume", "1")
	if err != nil {
		t.Fatal(err)
	}
	up.next <- chat("a")
	got := readEvents(t, bufio.NewReader(owner.Body), 1)
	leave()
	up.next <- chat("b")
	r := get(t, g.url+"/weir/streams/"+owner.Header.Get("Weir-Stream"), "Last-Event-ID", eventID.FindString(got)[4:])
	up.next <- chat("c") + chatFinish
	up.next <- chatDone
	close(up.next)
	if got := withoutStamps(got + text(t, r)); got != chat("a")+chat("b")+chat("c")+chatFinish+chatDone {
		t.Errorf("the client got\n%s", got)
	}
}

func TestNobodyComesBack(t *testing.T) {
	up := newStepped(t)
	g := startLog(t, relay.MemoryOptions{}, strings.Replace(resuming, "grace: 30s", "grace: 50ms", 1), up.url)
	ctx, leave := context.WithCancel(t.Context())
	owner, err := tryPost(ctx, g.url+"/v1/chat/completions", ask1)
	if err != nil {
		t.Fatal(err)
	}
	up.next <- chat("a")
	readEvents(t, bufio.NewReader(owner.Body), 1)
	leave()
	select {
	case <-up.gone:
	case <-time.After(10 * time.Second):
		t.Fatal("the upstream still runs")
	}
	got := text(t, get(t, g.url+"/weir/streams/"+owner.Header.Get("Weir-Stream")))
	if all := blocks(got); len(all) != 2 || all[0] != chat("a") || !strings.Contains(all[1], "abandoned") {
		t.Errorf("it ended with\n%s", got)
	}
	until(t, "the cancel is told", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return slices.Equal(g.cancelled, []string{"detached abandoned"})
	})
}

// TestStopWins over followers and the grace window.
func TestStopWins(t *testing.T) {
	up := newStepped(t)
	g := startLog(t, relay.MemoryOptions{}, resuming, up.url)
	owner := post(t, g.url+"/v1/chat/completions", ask1)
	at := g.url + "/weir/streams/" + owner.Header.Get("Weir-Stream")
	up.next <- chat("a")
	follower := get(t, at)
	stop := post(t, at+"/stop", "")
	if stop.StatusCode != http.StatusNoContent {
		t.Fatalf("stop: %d", stop.StatusCode)
	}
	<-up.gone
	for name, r := range map[string]*http.Response{"owner": owner, "follower": follower, "later": get(t, at)} {
		got := text(t, r)
		if all := blocks(got); len(all) != 2 || all[0] != chat("a") || !strings.Contains(all[1], `"stopped"`) {
			t.Errorf("%s: it ended with\n%s", name, got)
		}
	}
}

func TestEvictionIsSaid(t *testing.T) {
	m := startMock(t, "ttft=2ms,gap=0ms,n=50")
	g := startLog(t, relay.MemoryOptions{Events: 10}, resuming, m.URL())
	first := post(t, g.url+"/v1/chat/completions", ask1, "weir-resume", "1")
	n := len(blocks(text(t, first)))
	at := g.url + "/weir/streams/" + first.Header.Get("Weir-Stream")
	for after := range n {
		r := get(t, fmt.Sprint(at, "?after=", after))
		if body := text(t, r); after < n-10 && (r.StatusCode != http.StatusConflict || !strings.Contains(body, reasonGap)) ||
			after >= n-10 && (r.StatusCode != http.StatusOK || len(blocks(body)) != n-after) {
			t.Errorf("after %d of %d: %d\n%s", after, n, r.StatusCode, body)
		}
	}
}

// TestCutsThroughTheGateway follows streams with weir's own client over
// connections that break after every byte: the exact sequence all the same.
func TestCutsThroughTheGateway(t *testing.T) {
	m := startMock(t, "ttft=0ms,gap=0ms,n=4")
	g := startLog(t, relay.MemoryOptions{}, resuming, m.URL())
	for i, d := range dialects {
		if d.name == "gemini array" {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			whole := followed(t, g, d.path, d.body, func(int) int { return -1 }, nil)
			step := 1
			if i > 0 || testing.Short() {
				step = 31 // every byte of one dialect; the framing is the same
			}
			for k := 0; ; k += step {
				broke := false
				got := followed(t, g, d.path, d.body, func(n int) int { return []int{k, -1}[min(n, 1)] }, func() { broke = true })
				if unstamped(strings.Join(got, "\n")) != unstamped(strings.Join(whole, "\n")) {
					t.Fatalf("cut at %d:\n%s\nwant:\n%s", k, strings.Join(got, "\n"), strings.Join(whole, "\n"))
				}
				if !broke {
					break // all of it came
				}
			}
		})
	}
}

// followed is the data of a stream's events as weir's client gives them.
func followed(t *testing.T, g *rig, path, body string, limit func(int) int, cut func()) (data []string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Request-Id", "request-1")
	o := client.Options{HTTP: cutClient(t, limit, cut), Delay: time.Microsecond, Jitter: -1}
	for e, err := range client.Do(req, o) {
		if err != nil {
			t.Fatalf("%v after %q", err, data)
		}
		data = append(data, string(e.Data))
	}
	return data
}
