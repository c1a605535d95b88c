package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/client"
)

// killing is the way of a client to instances behind nginx. Its first
// connections break after 2,000 bytes: by the client's own machine, or by the
// death of the instance that serves it.
type killing struct {
	mu     sync.Mutex
	all    []served
	breaks []bool   // of each of those connections: whether its instance dies
	served []string // the instance of each connection
}

func (k *killing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	at := resp.Header.Get("X-Instance")
	at = at[strings.LastIndex(at, " ")+1:] // the last that nginx tried
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(k.served)
	k.served = append(k.served, at)
	if n >= len(k.breaks) {
		return resp, nil
	}
	body := &cutBody{resp.Body, 2000}
	resp.Body = body
	if k.breaks[n] {
		resp.Body = &deathBody{body, func() { k.kill(at) }}
	}
	return resp, nil
}

func (k *killing) kill(at string) {
	for _, s := range k.all {
		if s.url == "http://"+at {
			s.kill()
		}
	}
}

// distinct reports whether no two connections that followed each other had the
// same instance.
func (k *killing) distinct() bool {
	for i := 1; i < len(k.served); i++ {
		if k.served[i] == k.served[i-1] {
			return false
		}
	}
	return true
}

// deathBody kills where the cut is, and then reads what still comes.
type deathBody struct {
	*cutBody
	kill func()
}

func (b *deathBody) Read(p []byte) (int, error) {
	if b.left > 0 {
		return b.cutBody.Read(p)
	}
	b.kill()
	return b.ReadCloser.Read(p)
}

const killedSettings = "ttft=20ms,gap=20ms,n=150,seed=7"

// follow says what came, the last event, and how it ended.
func (k *killing) follow(t *testing.T, url string) (text, last string, err error) {
	t.Helper()
	r := chat(t, url, killedSettings)
	r.Header.Set("Weir-Resume", "1")
	o := client.Options{Delay: 50 * time.Millisecond, Jitter: -1, Tries: 20, HTTP: &http.Client{Transport: k}}
	var b strings.Builder
	for e, err := range client.Do(r, o) {
		if err != nil {
			return b.String(), last, err
		}
		last = string(e.Data)
		_, piece, _ := strings.Cut(last, `"content":`)
		b.WriteString(piece)
	}
	return b.String(), last, nil
}

// survivesTheOther cuts a client off from the instance that asks the service,
// and kills the one it came back to: the third goes on.
func survivesTheOther(t *testing.T, url, direct string, all []served) {
	want := followed(t, direct, killedSettings, 0)
	k := &killing{all: all, breaks: []bool{false, true}}
	got, _, err := k.follow(t, url)
	if err != nil || got != want || len(k.served) < 3 || !k.distinct() {
		t.Errorf("over %v: %v\n%s\nwant\n%s", k.served, err, got, want)
	}
}

// survivesItsEdge kills the edge that serves a stream.
func survivesItsEdge(t *testing.T, url, direct string, edges []served) {
	t.Helper()
	want := followed(t, direct, killedSettings, 0)
	k := &killing{all: edges, breaks: []bool{true}}
	got, _, err := k.follow(t, url)
	if err != nil || got != want || len(k.served) < 2 || !k.distinct() {
		t.Errorf("over %v: %v\n%s\nwant\n%s", k.served, err, got, want)
	}
}

// losesItsOwn kills the instance that asks the service: another has what was
// copied, and says that there is no more.
func losesItsOwn(t *testing.T, url, direct string, all []served) {
	want := followed(t, direct, killedSettings, 0)
	k := &killing{all: all, breaks: []bool{true}}
	got, last, err := k.follow(t, url)
	said := strings.Contains(last, "owner_gone") || errors.Is(err, client.ErrGap) // it had more than was copied
	if !said || got == "" || !strings.HasPrefix(want, got) || len(k.served) < 2 {
		t.Errorf("over %v: %v, the last %s\n%s\nwant the beginning of\n%s", k.served, err, last, got, want)
	}
}

// asksByWebSocket asks through nginx as a program does.
func asksByWebSocket(t *testing.T, url string) {
	t.Helper()
	q := client.Question{Path: "/v1/chat/completions", Body: json.RawMessage(`{"model":"mock,ttft=5ms,gap=1ms,n=9","stream":true,"messages":[{"role":"user","content":"hello"}]}`)}
	last := ""
	for e, err := range client.Ask(t.Context(), strings.Replace(url, "http", "ws", 1), q, client.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		last = string(e.Data)
	}
	if last != "[DONE]" {
		t.Errorf("the last event is %q", last)
	}
}
