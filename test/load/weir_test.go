package load

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/peer"
)

// program is the built weir.
var program string

func TestMain(m *testing.M) { os.Exit(peer.MainWithWeir(m, &program, 5)) }

// patience is how long a program may take that should have ended.
const patience = 60 * time.Second

// lax keeps a busy machine from deciding a test: only what the test does to the
// instrument makes it unfit.
const lax = `health_limits: {lateness_p99_suspect_ms: 60000, lateness_p95_invalid_ms: 60000, sched_p99_suspect_ms: 60000,
  achieved_invalid: 0, achieved_suspect: 0, lag_share_suspect: 1, lag_share_invalid_app: 1, lag_share_invalid_kernel: 1}
`

// process is a run of a program.
type process struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
	ended    chan struct{}
}

// start runs a program, which ends with the test at the latest.
func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.out, &p.err
	cmd.WaitDelay = time.Second // what it started may hold its output open
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // the state says how
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		<-p.ended
	})
	return p
}

// wait returns the exit code.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("%v did not end\n%s", p.cmd.Args, p.err.String()) // it hangs: nothing of it can be trusted
	}
	return p.cmd.ProcessState.ExitCode()
}

// result is the part of bench --json that the tests look at.
type result struct {
	Verdict string
	Gates   []struct {
		Metric, Verdict string
		N               int
	}
	Rules []struct {
		Name, Verdict string
		Violations    int
		RequestIDs    []string `json:"request_ids"`
	}
	Health struct {
		Verdict      string
		Reasons      []string
		OwnDrops     int `json:"own_drops"`
		Lost         int
		Events       int
		PeakInFlight int `json:"peak_in_flight"`
	}
	Outcomes  map[string]struct{ N int }
	Scenarios []struct {
		Metrics []struct {
			Metric     string
			N, Reached int
			P50        *float64
			P50Is      string `json:"p50_is"`
			P95        *float64
			P95Is      string `json:"p95_is"`
		}
	}
	Run struct {
		Partial bool
		Rows    int
	}
}

// requests is how many there were, by all outcomes.
func (r *result) requests() (n int) {
	for _, o := range r.Outcomes {
		n += o.N
	}
	return n
}

// bench runs weir bench to its end.
func bench(t *testing.T, plan string, args ...string) (code int, r *result, stderr string) {
	t.Helper()
	p := start(t, exec.Command(program, append([]string{"bench", planFile(t, plan), "--json", "--quiet", "--db", ""}, args...)...))
	code = p.wait(t)
	r = &result{}
	if err := json.Unmarshal(p.out.Bytes(), r); err != nil {
		t.Fatalf("exit code %d, no result: %v\n%s\n%s", code, err, p.out.String(), p.err.String())
	}
	return code, r, p.err.String()
}

func planFile(t *testing.T, plan string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(file, []byte(lax+plan), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// service is a mock in a process of its own.
type service struct {
	*exec.Cmd
	url string
}

func startService(t *testing.T, args ...string) service {
	t.Helper()
	cmd := exec.Command(program, append([]string{"mock", "--listen", "127.0.0.1:0", "--until-eof"}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // a test may have killed it
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the process
			return service{cmd, url}
		}
	}
	t.Fatal("the mock did not say where it listens")
	return service{}
}

// analyze reads the event logs of a run directory with weir analyze and returns
// how many requests they hold.
func analyze(t *testing.T, dir string) int {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "events", "*", "*.jsonl*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) == 0 {
		return 0
	}
	p := start(t, exec.Command(program, append([]string{"analyze", "-o", "json"}, logs...)...))
	if code := p.wait(t); code != 0 {
		t.Errorf("analyze of %v: exit code %d\n%s", logs, code, p.err.String())
	}
	n := 0
	for d := json.NewDecoder(&p.out); d.More(); {
		var session struct{ Requests []json.RawMessage }
		if err := d.Decode(&session); err != nil {
			t.Fatal(err)
		}
		n += len(session.Requests)
	}
	return n
}
