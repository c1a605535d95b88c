package sdk

import (
	"os/exec"
	"testing"
	"time"

	"weir/mock"
)

// A user who leaves as the SDK has it closes the connection, also while the
// service is silent.
func TestLeaving(t *testing.T) {
	node := installed(t)
	srv, err := mock.Start(mock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	for _, d := range drivers {
		before := srv.Stats().Cancelled
		cmd := exec.CommandContext(t.Context(), node, "driver.mjs", "--leave", "3", d.name, srv.URL(), quick+"n=9,hang_after=3")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); srv.Stats().Cancelled == before; {
			if time.Now().After(deadline) {
				t.Errorf("%s: the stream was not cancelled", d.name)
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
	}
}
