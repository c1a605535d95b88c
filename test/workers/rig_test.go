package workers

import (
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

	"weir/gateway"
	"weir/internal/peer"
	"weir/mock"
	"weir/relay"
	"weir/relay/redis"
	"weir/relay/redis/jobs"
	"weir/relay/redis/redistest"
	"weir/stream"
	"weir/telemetry"
)

func TestMain(m *testing.M) {
	if os.Getenv("WEIR_TEST_WORKER") != "" {
		workerProcess()
		return
	}
	goleak.VerifyTestMain(m)
}

const plain = `
upstreams: {main: {urls: ["%s"]}}
routes: [{path: "/*", upstream: main, retry: {attempts: 1}, resume: {grace: 2s}}]
relay: {outage: 2s}
`

// site is a Redis and what meets there.
type site struct {
	t     testing.TB
	redis *redistest.Server
	at    string // its URL
	conf  gateway.Config
	lease time.Duration
	count *telemetry.Gateway // of edges and workers alike
	watch gateway.Observer   // of workers, instead; nil: count
}

func newSite(t testing.TB, config string, urls ...any) *site {
	c, err := gateway.Load("gateway.yaml", fmt.Appendf(nil, config, urls...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	r := redistest.Start(t)
	return &site{t: t, redis: r, at: r.URL(), conf: c, lease: time.Second, count: telemetry.NewGateway(telemetry.Options{})}
}

func (s *site) options() redis.Options {
	return redis.Options{URL: s.at, Outage: s.conf.Relay.Outage, Lease: s.lease, Check: 300 * time.Millisecond}
}

// records gathers them.
type records struct {
	mu  sync.Mutex
	all []*stream.Record
}

func (r *records) Put(_ context.Context, rec *stream.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, rec)
	return nil
}

func (r *records) list() []*stream.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*stream.Record(nil), r.all...)
}

// edge is one that listens.
type edge struct {
	records
	front *gateway.Front
	queue *jobs.Queue
	url   string
	logs  *peer.Output
}

func (s *site) edge() *edge {
	s.t.Helper()
	far, err := redis.New(s.options())
	if err != nil {
		s.t.Fatal(err)
	}
	log := redis.NewSpread(relay.NewMemory(relay.MemoryOptions{}), far)
	e := &edge{logs: &peer.Output{}, queue: jobs.New(far, jobs.Options{Waiting: s.conf.Workers.Queue})}
	e.front, err = gateway.NewFront(s.conf, gateway.Options{Log: log, Queue: e.queue, Sink: &e.records, Observer: s.count, Logger: slog.New(slog.NewTextHandler(e.logs, nil))})
	if err != nil {
		s.t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(e.front)
	server.Listener = gateway.Listener(server.Listener)
	server.Config.ConnContext = gateway.ConnContext
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	e.url = server.URL
	s.t.Cleanup(func() {
		server.CloseClientConnections()
		e.front.Close()
		server.Close()
		_ = log.Close()
	})
	await(s.t, far.Up)
	return e
}

// worker is one that takes jobs.
type worker struct {
	records
	w     *gateway.Worker
	jobs  *jobs.Worker
	log   *redis.Spread
	logs  *peer.Output
	once  sync.Once
	queue *jobs.Queue
}

func (s *site) worker() *worker {
	s.t.Helper()
	far, err := redis.New(s.options())
	if err != nil {
		s.t.Fatal(err)
	}
	w := &worker{log: redis.NewWaiting(relay.NewMemory(relay.MemoryOptions{}), far), logs: &peer.Output{}}
	var see gateway.Observer = s.count
	if s.watch != nil {
		see = s.watch
	}
	w.w, err = gateway.NewWorker(s.conf, gateway.Options{Log: w.log, Sink: &w.records, Observer: see, Logger: slog.New(slog.NewTextHandler(w.logs, nil))})
	if err != nil {
		s.t.Fatal(err)
	}
	w.queue = jobs.New(far, jobs.Options{Places: s.conf.Workers.Jobs, Lease: s.lease})
	w.jobs = w.queue.Work(w.w)
	s.t.Cleanup(w.close)
	return w
}

func (w *worker) close() {
	w.once.Do(func() {
		w.w.Close()
		w.jobs.Close()
		_ = w.log.Close()
	})
}

// workerProcess is the test's own program as a worker, to be killed and stopped.
func workerProcess() {
	c, err := gateway.ReadConfig(os.Getenv("WEIR_TEST_WORKER"))
	if err != nil {
		panic(err)
	}
	lease, err := time.ParseDuration(os.Getenv("WEIR_TEST_LEASE"))
	if err != nil {
		panic(err)
	}
	far, err := redis.New(redis.Options{URL: string(c.Relay.Redis), Outage: c.Relay.Outage, Lease: lease, Check: 300 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	log := redis.NewWaiting(relay.NewMemory(relay.MemoryOptions{}), far)
	w, err := gateway.NewWorker(c, gateway.Options{Log: log, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		panic(err)
	}
	jobs.New(far, jobs.Options{Lease: lease}).Work(w)
	_, _ = io.Copy(io.Discard, os.Stdin) // its parent's end is its own
}

// service is a mock.
func service(t testing.TB) *mock.Server {
	t.Helper()
	m, err := mock.Start(mock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func await(t testing.TB, what func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !what(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to be within 30 s")
		}
	}
}

const ask = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`

// post asks; the body is the caller's to close.
func post(ctx context.Context, t testing.TB, url, body string, header ...string) *http.Response {
	t.Helper()
	resp, err := tryPost(ctx, url, body, header...)
	if err != nil {
		t.Fatal(err)
	}
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

// whole is an answer's status and body.
func whole(t testing.TB, resp *http.Response) (int, string) {
	t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("the answer broke off: %v", err)
	}
	return resp.StatusCode, string(b)
}

const chatPath = "/v1/chat/completions"

// script is a service that does as told, per call.
type script struct {
	url   string
	mu    sync.Mutex
	calls int
	gone  chan struct{}
}

func scripted(t testing.TB, h func(call int, w http.ResponseWriter, r *http.Request)) *script {
	s := &script{gone: make(chan struct{}, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s.mu.Lock()
		s.calls++
		n := s.calls
		s.mu.Unlock()
		h(n, w, r)
		if r.Context().Err() != nil {
			s.gone <- struct{}{}
		}
	}))
	s.url = server.URL
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return s
}

// talking says a word every 50 ms until more is closed, which brings its end.
func talking(t testing.TB, more <-chan struct{}) *script {
	return scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		for i := 0; ; i++ {
			select {
			case <-more:
				say(w, chatEnd)
				return
			case <-r.Context().Done():
				return
			case <-time.After(50 * time.Millisecond):
				say(w, chat(fmt.Sprint("w", i)))
			}
		}
	})
}

// silentOnce answers nothing to its first request, and one word to others.
func silentOnce(t testing.TB, asked chan<- struct{}) *script {
	return scripted(t, func(call int, w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		if call == 1 {
			linger(r)
			return
		}
		say(w, chat("one")+chatEnd)
	})
}

func (s *script) called() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func chat(text string) string {
	return fmt.Sprintf("data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
}

const chatEnd = "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

// say writes a piece of a stream.
func say(w http.ResponseWriter, p string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, p)
	_ = http.NewResponseController(w).Flush()
}

// linger waits until the client is gone, or for long.
func linger(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-time.After(30 * time.Second):
	}
}
