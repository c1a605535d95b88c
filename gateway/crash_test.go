package gateway

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/dialect"
	"weir/relay"
	"weir/stream"
	"weir/wire"
	"weir/ws"
)

// fragileDialect is one whose classifier fails over a frame that says boom.
type fragileDialect struct{ dialect.Dialect }

type fragileClassifier struct {
	dialect.Classifier
	zero *int
}

func (d fragileDialect) NewClassifier() dialect.Classifier {
	return fragileClassifier{d.Dialect.NewClassifier(), new(int)}
}

func (c fragileClassifier) Classify(f wire.Frame, emit func(*stream.Event)) error {
	if strings.Contains(string(f.Data), "boom") {
		none := make([]int, *c.zero)
		_ = none[*c.zero] // as a mistake would
	}
	return c.Classifier.Classify(f, emit)
}

// breaks gives every route of a gateway that dialect.
func breaks(t *testing.T, g *Gateway) {
	t.Helper()
	d, err := dialect.Lookup("openai.chat")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range g.routes {
		r.dialect = fragileDialect{d}
	}
}

// fragile is an observer that fails once, when one of its methods is called.
type fragile struct {
	*kept
	when  string
	once  atomic.Bool
	mu    sync.Mutex
	where []string
}

func (f *fragile) at(method string) {
	if f.when == method && f.once.CompareAndSwap(false, true) {
		panic("a secret of " + method)
	}
}

func (f *fragile) Relayed(string, time.Duration, int, int) { f.at("Relayed") }
func (f *fragile) Paced(string, time.Duration)             { f.at("Paced") }
func (f *fragile) SocketOpened()                           { f.at("SocketOpened") }
func (f *fragile) MessageRefused(string)                   { f.at("MessageRefused") }
func (f *fragile) Ended(e Ended)                           { f.kept.Ended(e); f.at("Ended") }
func (f *fragile) Retried(a, b string)                     { f.kept.Retried(a, b); f.at("Retried") }
func (f *fragile) Silent(a, b string)                      { f.kept.Silent(a, b); f.at("Silent") }

func (f *fragile) Panicked(where string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.where = append(f.where, where)
}

func (f *fragile) told() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.where, " ")
}

func watch(g *rig, when string) *fragile {
	f := &fragile{kept: g.kept, when: when}
	g.g.see = f
	return f
}

// A panic over one stream costs that stream alone, which ends with one error
// frame, or an error's status; it is logged with its place, and counted.
func TestPanicOverAFrame(t *testing.T) {
	t.Parallel()
	other := chat("a") + chat("b") + chatFinish + chatDone
	for _, c := range []struct {
		name, config string
		pieces       []string
		body         string
		status       int
		begin        string
	}{
		{"before the first output", small, []string{chatRole, chat("boom"), "wait"}, ask1, 500, "{"},
		{"in the middle", small, []string{chat("a"), "50ms", chat("boom"), "wait"}, ask1, 200, chat("a")},
		{"in the read of the first", small, []string{chat("a") + chat("boom") + chatDone}, ask1, 200, chat("a")},
		{"of a paced stream", strings.Replace(small, "upstream: main}", "upstream: main, pacing: {enabled: true}}", 1),
			[]string{chat("a"), "20ms", chat("boom"), "wait"}, ask1, 200, chat("a")},
		{"of a resumable stream", resuming, []string{chat("a"), "50ms", chat("boom"), "wait"}, ask1, 200, chat("a")},
		{"that was not asked for as a stream", small, []string{chat("a"), "50ms", chat("boom"), "wait"}, askWhole, 200, chat("a")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			entered, leave := make(chan struct{}), make(chan struct{})
			var n atomic.Int32
			g := startLog(t, relay.MemoryOptions{}, c.config, scripted(t, func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) > 1 {
					sse(c.pieces...)(w, r)
					return
				}
				sse(chat("a"))(w, r)
				close(entered)
				<-leave
				sse(chat("b"), chatFinish+chatDone)(w, r)
			}))
			breaks(t, g.g)
			f := watch(g, "")
			beside := post(t, g.url+"/v1/chat/completions", ask1)
			<-entered
			resp := post(t, g.url+"/v1/chat/completions", c.body)
			got := text(t, resp)
			if resp.StatusCode != c.status || !strings.HasPrefix(got, c.begin) || strings.Count(got, `"reason":"internal"`) != 1 ||
				strings.Contains(got, "[DONE]") && !strings.HasSuffix(got, chatDone) || strings.Contains(got, "boom") {
				t.Errorf("%d %q", resp.StatusCode, got)
			}
			if id := resp.Header.Get("Weir-Stream"); c.config == resuming {
				if again := text(t, get(t, g.url+"/weir/streams/"+id)); again != got {
					t.Errorf("who follows it got %q", again)
				}
			}
			close(leave)
			if got := text(t, beside); strings.ReplaceAll(got, ": hb\n", "") != other {
				t.Errorf("the stream beside it: %q", got)
			}
			if f.told() != "pump" || !strings.Contains(g.logs.String(), "index out of range") || !strings.Contains(g.logs.String(), "crash_test.go") {
				t.Errorf("counted %q, logged %s", f.told(), g.logs)
			}
			until(t, "both ended", func() bool { return len(g.all()) == 2 && g.g.gate.count() == 0 })
			both := g.all()
			slices.SortFunc(both, func(a, b Ended) int { return strings.Compare(a.Reason, b.Reason) }) // as it comes
			if both[0].Reason != "" || both[1].Reason != "internal" || len(both[1].Records) > 0 && both[1].Records[0].Outcome.Ended() {
				t.Errorf("ended %+v", both)
			}
		})
	}
}

// So does one on the other goroutines of a stream.
func TestPanicBesideThePump(t *testing.T) {
	t.Parallel()
	whole := chat("a") + chat("b") + chatFinish + chatDone
	route := func(more string) string {
		return "upstreams: {main: {urls: [\"%s\"]}}\nroutes: [{path: \"/*\", upstream: main, retry: {backoff: 1ms}" + more + "}]\n"
	}
	slow := []string{chat("a"), "20ms", chat("b c d e f g h i j k"), "20ms", chat("b c d e f g h i j k"), "wait"}
	for _, c := range []struct {
		when, where, config string
		pieces              []string
		cut                 bool
	}{
		{"Silent", "clock", route(", silence: {log: 50ms, act: 0, tell: 0}"), []string{chat("a"), "wait"}, false},
		{"Paced", "pacer or pump", route(", pacing: {enabled: true}"), slow, false},
		{"Retried", "pump", route(""), []string{"reset"}, false},
		{"Relayed", "writer", route(", resume: {enabled: true, grace: 0s}"), []string{chat("a"), "wait"}, true},
		{"Ended", "record", route(""), []string{whole}, false},
	} {
		t.Run(c.when, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			g := startLog(t, relay.MemoryOptions{}, c.config, scripted(t, func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) == 1 {
					sse(c.pieces...)(w, r)
					return
				}
				sse(whole)(w, r)
			}))
			f := watch(g, c.when)
			resp := post(t, g.url+"/v1/chat/completions", ask1)
			b, err := io.ReadAll(resp.Body)
			switch got := string(b); {
			case c.cut != (err != nil):
				t.Errorf("%q, %v", got, err)
			case c.when == "Ended" && got != whole:
				t.Errorf("%q", got)
			case !c.cut && c.when != "Ended" && strings.Count(got, `"reason":"internal"`) != 1:
				t.Errorf("%q", got)
			}
			until(t, "told", func() bool { return f.told() != "" })
			if got := f.told(); !strings.Contains(c.where, got) || strings.Contains(g.logs.String(), "a secret") {
				t.Errorf("counted %q, logged %s", got, g.logs)
			}
			if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); !strings.HasPrefix(got, chat("a")) || !strings.HasSuffix(got, chatDone) {
				t.Errorf("the next: %q", got)
			}
			until(t, "all ended", func() bool { return len(g.all()) == 2 && g.g.gate.count() == 0 })
		})
	}
}

// On a socket a panic over one stream ends that one; over the socket itself, the
// socket. No other notices.
func TestPanicOnASocket(t *testing.T) {
	t.Parallel()
	g := start(t, small, scripted(t, sse(chat("a"), "50ms", chat("boom"), "wait")))
	breaks(t, g.g)
	f := watch(g, "MessageRefused")
	p, _ := connect(t, g.url)
	p.say(`{"type":"start","id":"one","path":"/v1/chat/completions","body":` + ask1 + `}`)
	seen := p.whole("one")
	if e := seen.end; e == nil || e.Reason != "internal" || e.Outcome != "error" || strings.Count(seen.data(), `"reason":"internal"`) != 1 {
		t.Errorf("%+v %q", seen.end, seen.data())
	}
	other, _ := connect(t, g.url)
	p.say(`{"type":"cancel","id":"nobody"}`)
	if code, _ := p.closed(); code != ws.Broken {
		t.Errorf("closed with %d", code)
	}
	other.say(`{"type":"ping"}`)
	next[*ws.Pong](other)
	if f.told() != "pump socket" {
		t.Errorf("counted %q", f.told())
	}
	_ = other.conn.CloseNow()
}

// failingWriter fails over its second write.
type failingWriter struct {
	*httptest.ResponseRecorder
	writes int
	began  atomic.Bool
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.writes++; w.writes == 2 {
		panic("as the gateway could")
	}
	w.began.Store(true)
	return w.ResponseRecorder.Write(p)
}

// A panic over one reader of a stream is told to that reader; the stream and its
// other readers go on.
func TestPanicOfAFollower(t *testing.T) {
	t.Parallel()
	m := newStepped(t)
	g := startLog(t, relay.MemoryOptions{}, resuming, m.url)
	f := watch(g, "")
	resp := post(t, g.url+"/v1/chat/completions", ask1)
	r := bufio.NewReader(resp.Body)
	m.next <- chat("one")
	readEvents(t, r, 1)
	path := "/weir/streams/" + resp.Header.Get("Weir-Stream")
	w := &failingWriter{ResponseRecorder: httptest.NewRecorder()}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.g.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	}()
	beside := get(t, g.url+path)
	b := bufio.NewReader(beside.Body)
	readEvents(t, b, 1)
	until(t, "it reads", func() bool { return w.began.Load() })
	m.next <- chat("two")
	<-ended
	if got := w.Body.String(); !strings.HasPrefix(got, chat("one")) || strings.Count(got, `"reason":"internal"`) != 1 || f.told() != "follower" {
		t.Errorf("%q, counted %q", got, f.told())
	}
	m.next <- chatFinish + chatDone
	for _, rest := range []*bufio.Reader{r, b} {
		if got, err := io.ReadAll(rest); err != nil || !strings.HasSuffix(string(got), chat("two")+chatFinish+chatDone) {
			t.Errorf("%q, %v", got, err)
		}
	}
}
