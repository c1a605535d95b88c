package chaos

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"weir/relay/redis/redistest"
)

// world is everything that runs in one scenario.
type world struct {
	t       testing.TB
	dir     string // configuration, logs, the service's truth
	log     *slog.Logger
	began   time.Time
	service *process
	truth   string
	redis   *redistest.Server
	frozen  bool       // Redis is stopped
	dead    bool       // or killed
	fronts  []*process // gateways or edges: what clients connect to
	doors   []string   // their addresses, as clients reach them
	workers []*process
	host    string // of the service
	streams int    // how many will be read
	space   string // network namespace of one front; "" = none
	cables  []cable
}

// clock is how logs tell the time.
const clock = "15:04:05.000"

// newWorld starts Redis and the service.
func newWorld(t testing.TB, s scenario, streams int) *world {
	t.Helper()
	w := &world{t: t, streams: streams, dir: workDir(t), began: time.Now()}
	out, err := os.Create(filepath.Join(w.dir, "chaos.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	w.log = slog.New(slog.NewTextHandler(out, nil))
	var env []string
	if s.redisEnv != nil {
		env = s.redisEnv(w)
	}
	w.redis = redistest.StartEnv(t, env, s.redisArgs...)
	if s.before != nil {
		s.before(w)
	}
	w.truth = filepath.Join(w.dir, "truth.jsonl")
	at := ownAddress()
	if w.host != "" {
		at = w.host
	}
	w.service = w.process("service", "", program, "mock", "--listen", at+":9000", "--truth", w.truth)
	w.host = at
	return w
}

// workDir is kept where the test fails, or CHAOS_KEEP is set, so that it can be
// looked into.
func workDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "weir-chaos-") //nolint:usetesting // it must outlive a test that fails
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() || os.Getenv("CHAOS_KEEP") != "" {
			t.Logf("kept: %s", dir)
		} else {
			_ = os.RemoveAll(dir)
		}
	})
	return dir
}

// addresses counts those that this process has handed out.
var addresses atomic.Int32

// ownAddress is an address of the loopback that nobody else has: a program that
// was killed finds its port free when it comes back.
func ownAddress() string {
	n, pid := int(addresses.Add(1)), os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d", 64+(pid/200+n/200)%128, pid%200+1, n%200+1)
}

const config = `
upstreams: {main: {urls: ["http://%s:9000"]}}
routes: [{path: "/v1/*", upstream: main, heartbeat: 1s, resume: {grace: 8s}, open: {mode: %s}}]
relay: {redis: "%s", outage: 8s, ttl: 1m}
workers: {queue_wait: 8s}
`

// file writes a configuration that listens at an address.
func (w *world) file(name, at string, redisURL string) string {
	mode := "hold"
	if len(w.fronts)%2 == 1 {
		mode = "early"
	}
	text := fmt.Sprintf("listen: %s:8080\nadmin: %s:8081\nlog: {dir: \"\", store: \"\"}\n", at, at) + fmt.Sprintf(config, w.host, mode, redisURL)
	path := filepath.Join(w.dir, name+".yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// front starts a gateway, or an edge, in front of which wrap stands.
func (w *world) front(role string, wrap ...string) {
	w.t.Helper()
	w.frontAt(role, ownAddress(), w.redis.URL(), wrap...)
}

func (w *world) frontAt(role, at, redisURL string, wrap ...string) {
	w.t.Helper()
	name := fmt.Sprintf("%s%d", map[string]string{"all": "gateway", "edge": "edge"}[role], len(w.fronts)+1)
	argv := append(wrap, program, "gateway", w.file(name, at, redisURL), "--role", role, "--drain", "4s")
	w.fronts = append(w.fronts, w.process(name, at+":8081", argv...))
	w.doors = append(w.doors, at+":8080")
}

func (w *world) worker(wrap ...string) {
	w.t.Helper()
	name := fmt.Sprintf("worker%d", len(w.workers)+1)
	at := ownAddress()
	argv := append(wrap, program, "worker", w.file(name, at, w.redis.URL()), "--drain", "4s")
	w.workers = append(w.workers, w.process(name, at+":8081", argv...))
}

// ours are the processes of the program under test.
func (w *world) ours() []*process {
	return append(append([]*process(nil), w.fronts...), w.workers...)
}

// settle waits until everybody is ready, and notes what they need idle.
func (w *world) settle() {
	w.t.Helper()
	for _, p := range w.ours() {
		if !await(patience, p.ready) {
			w.t.Fatalf("%s does not get ready: see %s", p.name, p.log)
		}
	}
	if !await(patience, func() bool { _, status := fetch(w.serviceURL("/mock/stats")); return status == 200 }) {
		w.t.Fatalf("the service does not answer: see %s", w.service.log)
	}
	for _, p := range w.ours() {
		p.base, _ = p.vitals() // it was ready
	}
}

func (w *world) serviceURL(path string) string { return "http://" + w.host + ":9000" + path }

// patience is how long anything may take that needs a moment.
const patience = 40 * time.Second

// tell writes what is done to the world, with the time since its begin.
func (w *world) tell(what string, args ...any) {
	w.log.Info(what, append(args, "at", time.Since(w.began).Round(time.Millisecond).String())...)
}
