package gateway

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// program is weir as its users have it.
var program string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "weir-gateway-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "weir")
	build := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-o", program, "weir/cmd/weir")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build: the same packages are in the cache
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build ./cmd/weir: %v\n%s", err, out)
		return 1
	}
	// The tests wait for time to pass more than they compute.
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// patience bounds whatever a busy machine may delay.
const patience = 30 * time.Second

// served is `weir gateway` as a process.
type served struct {
	url     string
	dir     string // where it runs
	stderr  *kept
	process *os.Process
	killed  *atomic.Bool // by kill: its end is no error
}

// kill ends it as a machine that fails does.
func (s served) kill() {
	s.killed.Store(true)
	_ = s.process.Kill() // it may be dead already
}

// kept is what a process printed; it may still print.
type kept struct {
	mu sync.Mutex
	b  strings.Builder
}

func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.b.Write(p)
}

func (k *kept) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.b.String()
}

// serve runs the built program on a configuration in a directory of its own,
// until the test ends.
func serve(t *testing.T, config string, files map[string]string, env ...string) served {
	t.Helper()
	return run(t, []string{"gateway", "gateway.yaml", "--drain", "1s"}, "listening on ", config, files, env...)
}

// run is serve for any role: args of the program, and the beginning of the line
// that says it is there, whose rest is the url.
func run(t *testing.T, args []string, ready, config string, files map[string]string, env ...string) served {
	t.Helper()
	s := served{dir: t.TempDir(), stderr: &kept{}, killed: &atomic.Bool{}}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.dir, "gateway.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...) // the cleanup below ends it
	cmd.Dir, cmd.Stderr, cmd.Env = s.dir, s.stderr, append(os.Environ(), env...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.process = cmd.Process
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); err != nil && !s.killed.Load() {
			t.Errorf("the gateway's end: %v\n%s", err, s.stderr)
		}
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if u, ok := strings.CutPrefix(lines.Text(), ready); ok {
			s.url = u
			return s // the few lines that follow fit into the pipe
		}
	}
	t.Fatalf("%v did not say %q:\n%s\n%s", args, ready, s.stderr, config)
	return s
}

// eventually waits until ok, or says what did not come to be.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
