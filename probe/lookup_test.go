package probe

import (
	"strings"
	"testing"

	"weir/stream"
)

func TestLookupIsAPhase(t *testing.T) {
	s := serve(t, speaker(1, 0))
	r := ask(t, client(t, Options{}), strings.Replace(s.URL, "127.0.0.1", "localhost", 1))
	wantOutcome(t, r, stream.Complete, "")
	if !r.Phases.DNS.Known() || !r.Phases.Connect.Known() {
		t.Errorf("phases %+v", r.Phases)
	}
}
