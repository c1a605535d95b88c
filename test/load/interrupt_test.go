package load

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const endlessPlan = `target: {url: "URL/v1/chat/completions?ttft=20ms&gap=20ms&n=20", model: mock}
load: [{name: p, arrivals: poisson, rate: 200/s, duration: 1h}]
scenarios: [{name: a}]
`

// interrupted starts an endless bench, sends it a signal after d, and returns
// its exit code, its directory, and what it printed.
func interrupted(t *testing.T, url string, d time.Duration, s syscall.Signal, args ...string) (code int, dir, out, stderr string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "out")
	plan := planFile(t, strings.Replace(endlessPlan, "URL", url, 1))
	p := start(t, exec.Command(program, append([]string{"bench", plan, "-o", dir, "--json", "--quiet", "--db", ""}, args...)...))
	time.Sleep(d)
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	code = p.wait(t)
	return code, dir, p.out.String(), p.err.String()
}

// Ctrl-C at any moment leaves a run that says it is partial, and a log in which
// every request of it stands.
func TestInterruptedAtAnyMoment(t *testing.T) {
	t.Parallel()
	url := startService(t).url
	for i := range 6 {
		d := time.Duration(i)*250*time.Millisecond + rand.N(250*time.Millisecond)
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			var args []string
			if i%2 == 1 {
				args = []string{"--zstd"}
			}
			code, dir, out, stderr := interrupted(t, url, d, syscall.SIGINT, args...)
			if _, err := os.Stat(filepath.Join(dir, "run.json")); err != nil {
				if out != "" || code == 0 {
					t.Errorf("exit code %d without a run: %s %s", code, out, stderr)
				}
				return // before it had begun
			}
			var r result
			if err := json.Unmarshal([]byte(out), &r); err != nil || code < 0 {
				t.Fatalf("exit code %d, %v\n%s\n%s", code, err, out, stderr)
			}
			run := runFile(t, dir)
			if !run.Partial {
				t.Error("the run does not say that it is partial")
			}
			if n := analyze(t, dir); n != run.Rows || n != r.requests() {
				t.Errorf("%d requests in the log, %d in run.json, %d in the result", n, run.Rows, r.requests())
			}
		})
	}
}

func runFile(t *testing.T, dir string) (run struct {
	Partial bool
	Rows    int
}) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err == nil {
		err = json.Unmarshal(b, &run)
	}
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A kill that cannot be caught leaves what was finished before it.
func TestKilled(t *testing.T) {
	t.Parallel()
	_, dir, _, _ := interrupted(t, startService(t).url, 3*time.Second, syscall.SIGKILL)
	if run := runFile(t, dir); !run.Partial {
		t.Error("run.json calls a run whole that was killed")
	}
	if n := analyze(t, dir); n < 10 {
		t.Errorf("%d requests in the log", n)
	}
	p := start(t, exec.Command(program, "report", dir, "-o", "json"))
	if code := p.wait(t); code != 0 || !strings.Contains(p.out.String(), `"partial"`) {
		t.Errorf("report: exit code %d\n%s", code, p.err.String())
	}
}
