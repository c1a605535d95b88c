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

// programs are the drivers: node for those of npm, a binary for those of Go.
type programs struct{ node, goSDKs string }

// installed finds them, where the SDKs are there too.
func installed(t *testing.T) programs {
	t.Helper()
	p := programs{peer.Program(t, "node"), filepath.Join(t.TempDir(), "sdk")}
	if _, err := os.Stat(filepath.Join(sdkDir, "node_modules", "ai")); err != nil {
		peer.Missing(t, "node_modules", "run make peers")
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
	if !strings.HasPrefix(name, "go-") {
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
