package relay

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/peer"
)

// startTimeout bounds how long a relay may take until it accepts connections.
const startTimeout = 10 * time.Second

// start writes config (made for the address the relay is to listen on) into a
// directory of its own, starts the relay on it and returns its URL. The port is
// chosen before the relay can take it, so a lost race is tried again.
func start(t testing.TB, config func(dir, addr string) string, command func(dir, file string) *exec.Cmd) string {
	t.Helper()
	var last error
	for range 5 {
		dir := t.TempDir()
		addr, err := freeAddr()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "relay.conf")
		if err := os.WriteFile(file, []byte(config(dir, addr)), 0o600); err != nil {
			t.Fatal(err)
		}
		if last = run(t, command(dir, file), addr); last == nil {
			return "http://" + addr
		}
	}
	t.Fatal(last)
	return ""
}

// run starts cmd, waits until it accepts connections on addr, and ends it with
// the test.
func run(t testing.TB, cmd *exec.Cmd, addr string) error {
	t.Helper()
	var out peer.Output
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	var err error
	ended := make(chan struct{})
	go func() { defer close(ended); err = cmd.Wait() }()
	stop := func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		<-ended
	}
	for deadline := time.Now().Add(startTimeout); ; {
		select {
		case <-ended:
			return fmt.Errorf("%s ended: %w\n%s", cmd.Path, err, out.String())
		default:
		}
		dialer := net.Dialer{Timeout: time.Second}
		if conn, err := dialer.DialContext(t.Context(), "tcp", addr); err == nil {
			_ = conn.Close()
			t.Cleanup(stop)
			return nil
		}
		if time.Now().After(deadline) {
			stop()
			return fmt.Errorf("%s does not accept connections on %s\n%s", cmd.Path, addr, out.String())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// freeAddr returns a loopback address that nobody listens on.
func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// hostOf is the host:port of an upstream's URL.
func hostOf(t testing.TB, upstream string) string {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil || u.Host == "" {
		t.Fatalf("upstream %q: want a URL (%v)", upstream, err)
	}
	return u.Host
}
