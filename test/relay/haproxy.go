package relay

import (
	"fmt"
	"os/exec"
	"testing"

	"weir/internal/peer"
)

// The lines of HAProxy's configuration that name a behaviour.
const (
	// HAProxyDefault merges small writes on its 200 ms timer.
	HAProxyDefault = ""
	// HAProxyNoDelay hands on each write.
	HAProxyNoDelay = "option http-no-delay"
)

// HAProxy starts HAProxy in front of the upstream's URL with further lines of
// the defaults section, and returns its own URL.
func HAProxy(t testing.TB, upstream, lines string) string {
	t.Helper()
	bin, host := peer.Program(t, "haproxy"), hostOf(t, upstream)
	config := func(_, addr string) string {
		return fmt.Sprintf(`global
	maxconn 256
defaults
	mode http
	timeout connect 5s
	timeout client 60s
	timeout server 60s
	%[1]s
frontend in
	bind %[2]s
	default_backend out
backend out
	server one %[3]s
`, lines, addr, host)
	}
	return start(t, config, func(_, file string) *exec.Cmd {
		return exec.Command(bin, "-db", "-f", file) //nolint:noctx // lives as long as the test, which kills it
	})
}
