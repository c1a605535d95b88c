package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/internal/peer"
	"weir/mock"
	"weir/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kept gathers records and what an observer is told.
type kept struct {
	nobody
	mu        sync.Mutex
	records   []*stream.Record
	ended     []Ended
	cancelled []string
	saved     []stream.Maybe[int] // of each of these, the most tokens
	silent    []string
	retried   []string
	queued    []string
	answered  []string
	sockets   []string
	opened    []string
}

func (k *kept) Opened(_, by string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.opened = append(k.opened, by)
}

func (k *kept) Put(_ context.Context, r *stream.Record) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.records = append(k.records, r)
	return nil
}

func (k *kept) Ended(e Ended) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = append(k.ended, e)
}

func (k *kept) Cancelled(_, state, reason string, saved stream.Maybe[int]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cancelled = append(k.cancelled, state+" "+reason)
	k.saved = append(k.saved, saved)
}

func (k *kept) Answered(method, route string, status int, _ bool, _ time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answered = append(k.answered, fmt.Sprint(method, " ", route, " ", status))
}

func (k *kept) socket(what ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sockets = append(k.sockets, fmt.Sprintln(what...))
}

func (k *kept) SocketOpened()                    { k.socket("opened") }
func (k *kept) SocketClosed(code int, by string) { k.socket("closed", code, by) }
func (k *kept) SocketRefused(reason string)      { k.socket("handshake", reason) }
func (k *kept) MessageRefused(reason string)     { k.socket("message", reason) }

func (k *kept) Silent(_, tier string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.silent = append(k.silent, tier)
}

func (k *kept) Retried(_, reason string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.retried = append(k.retried, reason)
}

func (k *kept) Queued(_ string, _ time.Duration, reason string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queued = append(k.queued, reason)
}

func (k *kept) all() []Ended {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]Ended(nil), k.ended...)
}

// rig is a gateway that listens, and what it tells.
type rig struct {
	*kept
	g    *Gateway
	url  string
	logs *peer.Output
}

// start serves a configuration; config is YAML with %s for each URL.
func start(t *testing.T, config string, urls ...any) *rig {
	t.Helper()
	c, err := Load("gateway.yaml", []byte(fmt.Sprintf(config, urls...)))
	if err != nil {
		t.Fatal(err)
	}
	k, logs := &kept{}, &peer.Output{}
	g, err := New(c, Options{Sink: k, Observer: k, Logger: slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	url := listen(t, g.Handler(), g.Close)
	return &rig{kept: k, g: g, url: url, logs: logs}
}

// listen serves a gateway until the test's end; end ends it, and its logs what
// they keep.
func listen(t *testing.T, h http.Handler, end func(), logs ...func() error) (url string) {
	server := httptest.NewUnstartedServer(h)
	server.Listener = Listener(server.Listener)
	server.Config.ConnContext = ConnContext
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		end()
		server.Close()
		for _, log := range logs {
			_ = log()
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return server.URL
}

const small = `
upstreams: {main: {urls: ["%s"]}}
routes: [{path: "/*", upstream: main}]
`

func startMock(t *testing.T, set string) *mock.Server {
	t.Helper()
	m, err := mock.Start(mock.Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// scripted is an upstream that a test writes.
func scripted(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body) // only then does a server see that its client left
		r.Body = io.NopCloser(bytes.NewReader(b))
		h(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

const ask1 = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`

func post(t *testing.T, url, body string, header ...string) *http.Response {
	t.Helper()
	resp, err := tryPost(context.Background(), url, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func tryPost(ctx context.Context, url, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	return http.DefaultClient.Do(req)
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("read: %v after %q", err, b)
	}
	return string(b)
}

// until waits for a condition that other goroutines bring about.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// sse is an upstream handler that writes pieces, each flushed; a piece "wait"
// waits until the client left.
func sse(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range pieces {
			switch d, err := time.ParseDuration(p); {
			case p == "wait":
				<-r.Context().Done()
				return
			case p == "reset":
				panic(http.ErrAbortHandler)
			case err == nil:
				time.Sleep(d)
			default:
				_, _ = io.WriteString(w, p)
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
}

func chat(s string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"` + s + `"},"finish_reason":null}]}` + "\n\n"
}

const (
	chatRole   = `data: {"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	chatFinish = `data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	chatDone   = "data: [DONE]\n\n"
)

func fileOf(t *testing.T, name, content string) string {
	t.Helper()
	path := t.TempDir() + "/" + name
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
