// Package peer finds the programs that tests talk to: relays, servers, node.
// A missing one skips the test on a developer's machine and fails it where
// peers are required (CI=true or WEIR_PEERS=required), so that a green run
// there never means "not tried".
//
// It refuses to install anything: tools/peers.sh does, before the tests.
package peer

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// sbin lists where Debian keeps servers; a user's PATH often lacks it.
var sbin = []string{"/usr/sbin", "/sbin", "/usr/local/sbin"}

// Required reports whether a missing peer is a failure.
func Required() bool {
	return os.Getenv("CI") == "true" || os.Getenv("WEIR_PEERS") == "required"
}

// Missing skips the test because of a peer that is not there, or fails it
// where peers are required. how says what brings the peer.
func Missing(t testing.TB, what, how string) {
	t.Helper()
	if Required() {
		t.Fatalf("%s is missing, and peers are required here: %s", what, how)
	} else {
		t.Skipf("%s is missing: %s", what, how)
	}
}

// Program returns the path of the program name. Without it, see Missing.
func Program(t testing.TB, name string) string {
	t.Helper()
	if p, err := exec.LookPath(name); err == nil {
		return p
	}
	for _, dir := range sbin {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p
		}
	}
	Missing(t, name, "make peers as root, or install it by hand")
	return ""
}
