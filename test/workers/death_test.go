package workers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/peer"
)

// process is a worker in a process of its own.
type process struct {
	cmd  *exec.Cmd
	logs *peer.Output
}

func (s *site) process(upstream string) *process {
	s.t.Helper()
	return s.processOf(plain, upstream)
}

func (s *site) processOf(config, upstream string) *process {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "gateway.yaml")
	text := fmt.Sprintf(strings.Replace(config, "outage: 2s", "outage: 2s, redis: %q", 1), upstream, s.redis.URL())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	p := &process{cmd: exec.Command(os.Args[0]), logs: &peer.Output{}} //nolint:gosec // the test's own program; its end is kill
	p.cmd.Env = append(os.Environ(), "WEIR_TEST_WORKER="+file, "WEIR_TEST_LEASE="+s.lease.String())
	p.cmd.Stderr = p.logs
	in, err := p.cmd.StdinPipe() // closed with this process, which ends the worker
	if err != nil {
		s.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { p.kill(); _ = in.Close() })
	return p
}

func (p *process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// A worker that dies before the first output is not noticed: another asks the
// service again.
func TestKilledBeforeOutput(t *testing.T) {
	asked := make(chan struct{}, 10)
	up := silentOnce(t, asked)
	s := newSite(t, plain, up.url)
	e := s.edge()
	p := s.process(up.url)
	answer := asking(t, e)
	<-asked
	w := s.worker()
	began := time.Now()
	p.kill()
	if got, want := <-answer, fmt.Sprint(200, nil, chat("one")+chatEnd); got != want {
		t.Errorf("%s", got)
	}
	t.Logf("taken over after %s with a lease of 1 s", time.Since(began))
	await(t, func() bool { return w.jobs.Running() == 0 })
	if up.called() != 2 {
		t.Errorf("asked %d times", up.called())
	}
}

// With the lease that workers have, another takes over within two; the bound
// leaves room for a machine that is busy, not for one lease too many of our own.
// docs/workers.md has the figure that this logs.
func TestTakeOverTakesTwoLeases(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	up := silentOnce(t, asked)
	s := newSite(t, plain, up.url)
	s.lease = 3 * time.Second // as jobs.Options has it
	e := s.edge()
	p := s.process(up.url)
	answer := asking(t, e)
	<-asked
	w := s.worker()
	await(t, w.log.Up)
	time.Sleep(s.lease + rand.N(s.lease)) // the workers are in their stride, in any phase
	began := time.Now()
	p.kill()
	got := <-answer
	took := time.Since(began)
	t.Logf("taken over after %s", took.Round(time.Millisecond))
	if want := fmt.Sprint(200, nil, chat("one")+chatEnd); got != want || up.called() != 2 {
		t.Errorf("asked %d times: %s", up.called(), got)
	}
	if took > 4*s.lease {
		t.Errorf("it took %s, more than four leases of %s", took, s.lease)
	}
}

// asking asks an edge and gives what came of it: status, error and body.
func asking(t *testing.T, e *edge) <-chan string {
	answer := make(chan string, 1)
	go func() {
		resp, err := tryPost(t.Context(), e.url+chatPath, ask)
		if err != nil {
			answer <- err.Error()
			return
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		answer <- fmt.Sprint(resp.StatusCode, err, string(b))
	}()
	return answer
}

// A worker that dies after output ends its stream with one error, and the
// service is not asked again.
func TestKilledAfterOutput(t *testing.T) {
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		say(w, chat("one")+chat("two"))
		linger(r)
	})
	s := newSite(t, plain, up.url)
	e := s.edge()
	p := s.process(up.url)
	resp := post(t.Context(), t, e.url+chatPath, ask)
	s.worker()
	time.Sleep(2 * s.lease) // the workers are in their stride: the other ends the stream before its readers do
	p.kill()
	_, body := whole(t, resp)
	if !strings.HasPrefix(body, chat("one")+chat("two")) || strings.Count(body, `"error"`) != 1 || !strings.Contains(body, "worker_lost") || !strings.Contains(body, "2 events") {
		t.Errorf("%s", body)
	}
	if up.called() != 1 {
		t.Errorf("asked %d times", up.called())
	}
}

// Without another worker a stream whose worker died ends too.
func TestKilledAlone(t *testing.T) {
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		say(w, chat("one"))
		linger(r)
	})
	s := newSite(t, plain, up.url)
	e := s.edge()
	p := s.process(up.url)
	resp := post(t.Context(), t, e.url+chatPath, ask)
	p.kill()
	if _, body := whole(t, resp); strings.Count(body, `"error"`) != 1 || !strings.Contains(body, "worker_lost") {
		t.Errorf("%s", body)
	}
}

// So does one that was opened and of which nothing was written.
func TestKilledOpened(t *testing.T) {
	t.Parallel()
	up := scripted(t, func(_ int, _ http.ResponseWriter, r *http.Request) { linger(r) })
	s := newSite(t, strings.Replace(plain, "resume:", "open: {mode: early}, resume:", 1), up.url)
	e := s.edge()
	p := s.processOf(strings.Replace(plain, "resume:", "open: {mode: early}, resume:", 1), up.url)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	resp := post(ctx, t, e.url+chatPath, ask)
	p.kill()
	if status, body := whole(t, resp); status != 200 || strings.Count(body, `"error"`) != 1 || !strings.Contains(body, "worker_lost") {
		t.Errorf("%d %s", status, body)
	}
}

// A worker that was paused finds its request taken over: it writes nothing more
// and leaves the service.
func TestPaused(t *testing.T) {
	asked := make(chan struct{}, 10)
	up := scripted(t, func(call int, w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		if call > 1 {
			say(w, chat("second")+chatEnd)
			return
		}
		select {
		case <-time.After(4 * time.Second):
			say(w, chat("first"))
			linger(r)
		case <-r.Context().Done():
		}
	})
	s := newSite(t, plain, up.url)
	e := s.edge()
	p := s.process(up.url)
	answer := asking(t, e)
	<-asked
	p.signal(syscall.SIGSTOP)
	s.worker()
	if got := <-answer; got != fmt.Sprint(200, nil, chat("second")+chatEnd) {
		t.Errorf("%s", got)
	}
	p.signal(syscall.SIGCONT)
	select {
	case <-up.gone:
	case <-time.After(20 * time.Second):
		t.Error("the paused worker still asks the service")
	}
	await(t, func() bool {
		return strings.Contains(p.logs.String(), "fenced") || strings.Contains(p.logs.String(), "took")
	})
}

// A request that takes its workers down is given up.
func TestPoison(t *testing.T) {
	asked := make(chan struct{}, 10)
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		linger(r)
	})
	s := newSite(t, plain, up.url)
	e := s.edge()
	answer := make(chan string, 1)
	go func() {
		resp, err := tryPost(t.Context(), e.url+chatPath, ask)
		if err != nil {
			answer <- err.Error()
			return
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		answer <- fmt.Sprint(resp.StatusCode, string(b))
	}()
	for range 3 {
		p := s.process(up.url)
		<-asked
		p.kill()
	}
	s.worker()
	if got := <-answer; !strings.HasPrefix(got, "502") || !strings.Contains(got, "poison") {
		t.Errorf("%s", got)
	}
	await(t, func() bool { return strings.HasPrefix(s.redis.Do("XLEN weir:{jobs}"), ":0") })
}

// A client that resumes at another edge gets exactly what is missing.
func TestResumeElsewhere(t *testing.T) {
	more := make(chan struct{})
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		say(w, chat("one"))
		say(w, chat("two"))
		select {
		case <-more:
			say(w, chat("three")+chatEnd)
		case <-r.Context().Done():
		}
	})
	s := newSite(t, plain, up.url)
	e, other := s.edge(), s.edge()
	s.worker()
	ctx, leave := context.WithCancel(t.Context())
	resp := post(ctx, t, e.url+chatPath, ask, "Weir-Resume", "1")
	if resp.Header.Get("Weir-Resumable") != "true" {
		t.Errorf("%v", resp.Header)
	}
	id := lastID(t, resp.Body, 2)
	leave()
	_ = resp.Body.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, other.url+"/weir/streams/"+resp.Header.Get("Weir-Stream"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Last-Event-Id", id)
	again, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2500 * time.Millisecond) // longer than the grace window, which a follower stops
	close(more)
	status, body := whole(t, again)
	if status != 200 || withoutIDs(body) != chat("three")+chatEnd {
		t.Errorf("%d %s", status, body)
	}
}

// lastID reads events until n of them had an id.
func lastID(t *testing.T, r io.Reader, n int) (id string) {
	t.Helper()
	for lines := bufio.NewScanner(r); n > 0; {
		if !lines.Scan() {
			t.Fatal("the stream ended")
		}
		if v, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = v
		} else if lines.Text() == "" {
			n--
		}
	}
	return id
}

func withoutIDs(body string) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "id: ") && !strings.HasPrefix(line, "retry: ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// A worker that drains finishes what it has and takes nothing more.
func TestDrainWorker(t *testing.T) {
	more := make(chan struct{})
	up := scripted(t, func(call int, w http.ResponseWriter, r *http.Request) {
		say(w, chat("one"))
		if call == 1 {
			select {
			case <-more:
			case <-r.Context().Done():
			}
		}
		say(w, chatEnd)
	})
	s := newSite(t, plain, up.url)
	e := s.edge()
	w := s.worker()
	resp := post(t.Context(), t, e.url+chatPath, ask)
	w.w.StopTaking()
	drained := make(chan error, 1)
	go func() { drained <- w.jobs.Drain(t.Context()) }()
	await(t, func() bool { return !w.w.Ready() })
	time.Sleep(2500 * time.Millisecond) // more than two leases of the test
	other := s.worker()
	if _, body := whole(t, post(t.Context(), t, e.url+chatPath, ask)); body != chat("one")+chatEnd {
		t.Errorf("%s", body)
	}
	if len(other.list()) > 1 {
		t.Errorf("%d requests at the other", len(other.list()))
	}
	close(more)
	if _, body := whole(t, resp); body != chat("one")+chatEnd {
		t.Errorf("%s", body)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

// An edge that drains lets go of clients that can resume: each is told when to
// come back, and gets the rest elsewhere.
func TestDrainEdge(t *testing.T) {
	more := make(chan struct{})
	up := talking(t, more)
	s := newSite(t, strings.Replace(plain, "grace: 2s", "grace: 30s", 1), up.url)
	e, other := s.edge(), s.edge()
	s.worker()
	resp := post(t.Context(), t, e.url+chatPath, ask, "Weir-Resume", "1")
	defer resp.Body.Close()
	var begin strings.Builder
	lastID(t, io.TeeReader(resp.Body, &begin), 2)
	go func() { _ = e.front.Drain(context.Background()) }()
	b, err := io.ReadAll(resp.Body)
	b = append([]byte(begin.String()), b...)
	if err == nil || strings.Count(string(b), "retry: ") != 2 || strings.Contains(string(b), `"error"`) {
		t.Errorf("%v\n%s", err, b)
	}
	close(more)
	seen := string(b)[:strings.LastIndex(string(b), "\n\n")+2]
	id := seen[strings.LastIndex(seen, "id: ")+4:]
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, other.url+"/weir/streams/"+resp.Header.Get("Weir-Stream"), nil)
	req.Header.Set("Last-Event-Id", strings.TrimSpace(id))
	again, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, rest := whole(t, again)
	text := withoutIDs(seen + rest)
	for i := range strings.Count(text, `"content"`) {
		if strings.Count(text, fmt.Sprintf(`"w%d"`, i)) != 1 {
			t.Errorf("w%d is not there once", i)
		}
	}
	if !strings.HasSuffix(text, chatEnd) {
		t.Errorf("%s", text)
	}
}
