package peer

import (
	"strings"
	"testing"
)

// witness records how a test ended instead of ending it.
type witness struct {
	testing.TB
	skipped, failed string
}

func (w *witness) Helper() {}

func (w *witness) Skipf(format string, _ ...any) { w.skipped = format }

func (w *witness) Fatalf(format string, _ ...any) { w.failed = format }

func TestMissingPeer(t *testing.T) {
	for _, c := range []struct {
		ci, peers string
		fails     bool
	}{
		{"", "", false}, {"true", "", true}, {"", "required", true}, {"false", "optional", false},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv("WEIR_PEERS", c.peers)
		w := &witness{TB: t}
		if p := Program(w, "no-such-program-anywhere"); p != "" {
			t.Fatalf("found %s", p)
		}
		if (w.failed != "") != c.fails || (w.skipped != "") == c.fails {
			t.Errorf("CI=%q WEIR_PEERS=%q: failed %q, skipped %q, want failed: %v", c.ci, c.peers, w.failed, w.skipped, c.fails)
		}
	}
	if p := Program(t, "sh"); !strings.HasSuffix(p, "/sh") {
		t.Errorf("sh is at %q", p)
	}
}
