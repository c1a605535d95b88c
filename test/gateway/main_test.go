package gateway

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/peer"
)

// program is weir as its users have it.
var program string

func TestMain(m *testing.M) { os.Exit(peer.MainWithWeir(m, &program, 4)) }

// patience bounds whatever a busy machine may delay.
const patience = 30 * time.Second

// served is `weir gateway` as a process.
type served struct {
	url     string
	dir     string // where it runs
	stderr  *peer.Output
	lines   *bufio.Scanner // what it says after its address
	process *os.Process
	killed  *atomic.Bool // by kill: its end is no error
}

// kill ends it as a machine that fails does.
func (s served) kill() {
	s.killed.Store(true)
	_ = s.process.Kill() // it may be dead already
}

// admin is the address of its admin listener, which it says some lines later.
func (s served) admin(t *testing.T) string {
	t.Helper()
	for s.lines.Scan() {
		if addr, ok := strings.CutPrefix(s.lines.Text(), "admin on "); ok {
			addr, _, _ = strings.Cut(addr, ": ")
			return addr
		}
	}
	t.Fatal("it did not say where its admin listener is")
	return ""
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
	s := served{dir: t.TempDir(), stderr: &peer.Output{}, killed: &atomic.Bool{}}
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
			s.url, s.lines = u, lines
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
