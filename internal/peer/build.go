package peer

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// MainWithWeir builds weir, says where it is, and runs the tests, so many of
// them at once: they wait for time to pass more than they compute. It returns
// the exit code for TestMain, and removes the program.
func MainWithWeir(m *testing.M, program *string, parallel int) int {
	dir, err := os.MkdirTemp("", "weir-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a directory of the system's own to clean
	*program = filepath.Join(dir, "weir")
	build := exec.Command("go", "build", "-trimpath", "-o", *program, "weir/cmd/weir") //nolint:noctx // it is to end
	build.Env = append(os.Environ(), "CGO_ENABLED=0")                                  // as make build: the same packages are in the cache
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build ./cmd/weir: %v\n%s", err, out)
		return 1
	}
	if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
