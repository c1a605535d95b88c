package gateway

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/peer"
)

const sdkDir = "../sdk"

// programs are what runs the drivers: node, a binary of our own for those of
// Go, and the python of an environment that holds the SDKs.
type programs struct{ node, goSDKs, python string }

// installed finds them, where the SDKs are there too.
func installed(t *testing.T) programs {
	t.Helper()
	p := programs{peer.Program(t, "node"), filepath.Join(t.TempDir(), "sdk"), filepath.Join("python", ".venv", "bin", "python")}
	if _, err := os.Stat(filepath.Join(sdkDir, "node_modules", "ai")); err != nil {
		peer.Missing(t, "node_modules", "run make peers")
	}
	if _, err := os.Stat(filepath.Join(sdkDir, p.python)); err != nil {
		peer.Missing(t, "the environment of the Python SDKs", "run make peers; it needs python3 with venv")
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", p.goSDKs, ".")
	build.Dir = filepath.Join(sdkDir, "go")
	build.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=") // a test gets nothing from elsewhere
	if out, err := build.CombinedOutput(); err != nil {
		t.Logf("go build: %v\n%s", err, out)
		peer.Missing(t, "the drivers of the Go SDKs", "run make peers")
	}
	return p
}

// command is a driver as a program.
func (p programs) command(t *testing.T, name, headers string, flags []string, args ...string) *exec.Cmd {
	args = append([]string{name}, args...)
	program := p.goSDKs
	switch language, _, _ := strings.Cut(name, "-"); language {
	case "go":
	case "py":
		program, flags = p.python, append([]string{filepath.Join("python", "driver.py")}, flags...)
	default:
		program, flags = p.node, append([]string{"driver.mjs"}, flags...)
	}
	cmd := exec.CommandContext(t.Context(), program, append(flags, args...)...)
	cmd.Dir = sdkDir
	if headers != "" {
		cmd.Env = append(os.Environ(), "HEADERS="+headers)
	}
	return cmd
}

// run gives the results of every request by its settings.
func (p programs) run(t *testing.T, name, url, headers string, requests []string) map[string]result {
	t.Helper()
	cmd := p.command(t, name, headers, nil, append([]string{url}, requests...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, stderr.String())
	}
	out = bytes.ReplaceAll(out, []byte(url), nil) // some SDKs name it in their errors
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != len(requests) {
		t.Fatalf("%s: %d results for %d requests:\n%s", name, len(lines), len(requests), out)
	}
	got := map[string]result{}
	for i, line := range lines {
		r := result{line: string(line)}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v in %s", name, err, line)
		}
		got[requests[i]] = r
	}
	return got
}
