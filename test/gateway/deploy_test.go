package gateway

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// unit reads a unit file: the values of each key, sections aside, which no key
// here shares.
func unit(t *testing.T, file string) map[string][]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string][]string{}
	for i, line := range strings.Split(string(b), "\n") {
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "[") {
			continue
		}
		k, v, ok := strings.Cut(line, "=")
		if !ok {
			t.Errorf("%s:%d: %q is no assignment", file, i+1, line)
		}
		keys[k] = append(keys[k], v)
	}
	return keys
}

const unitFile = "../../deploy/systemd/weir-gateway.service"

// The unit stops the gateway later than the gateway stops by itself, calls it
// with flags that exist, and gives it descriptors for its streams.
func TestUnit(t *testing.T) {
	u := unit(t, unitFile)
	one := func(key string) string {
		if len(u[key]) != 1 {
			t.Fatalf("%s is set %d times", key, len(u[key]))
		}
		return u[key][0]
	}
	start := strings.Fields(one("ExecStart"))
	drain, err := time.ParseDuration(start[slices.Index(start, "--drain")+1])
	if err != nil {
		t.Fatal(err)
	}
	if stop, err := time.ParseDuration(one("TimeoutStopSec")); err != nil || stop < drain+5*time.Second {
		t.Errorf("TimeoutStopSec %v (%v), want well over --drain %v", stop, err, drain)
	}
	for key, want := range map[string]string{
		"KillSignal": "SIGTERM", "ExecReload": "/bin/kill -HUP $MAINPID", "DynamicUser": "yes",
		"ProtectSystem": "strict", "NoNewPrivileges": "yes", "WorkingDirectory": "/var/lib/" + one("StateDirectory"),
		"CapabilityBoundingSet": "", "Restart": "on-failure",
	} {
		if got := one(key); got != want {
			t.Errorf("%s=%s, want %s", key, got, want)
		}
	}
	if limit := one("LimitNOFILE"); len(limit) < 5 {
		t.Errorf("LimitNOFILE=%s: two for each of the 5,000 streams that are the default", limit)
	}
	for _, line := range []string{one("ExecStartPre"), one("ExecStart")} {
		checked(t, strings.Fields(line)[1:])
	}
}

// checked runs weir with the arguments of a file we ship, on the configuration
// we ship; --check keeps it from serving.
func checked(t *testing.T, args []string) {
	t.Helper()
	args = append(slices.Clone(args), "--check")
	for i, a := range args {
		if a == "/etc/weir/gateway.yaml" {
			args[i] = "../../deploy/gateway.yaml"
		}
	}
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Errorf("weir %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// systemd's own checks, where it is installed: the unit is valid, and what it
// still exposes is little.
func TestUnitBySystemd(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is missing; TestUnit looks at what matters most")
	}
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "weir-gateway.service")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/weir", program)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", file}, {"security", "--offline=true", "--threshold=20", "--no-pager", file}} {
		out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
		if strings.Contains(string(out), "Unknown") || strings.Contains(string(out), "unrecognized") {
			t.Skipf("this systemd cannot: %s", out)
		}
		if err != nil || args[0] == "verify" && strings.Contains(string(out), "weir-gateway") {
			t.Errorf("systemd-analyze %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// instruction is one of a Dockerfile, its continued lines joined.
type instruction struct{ name, rest string }

func dockerfile(t *testing.T) (all []instruction) {
	t.Helper()
	b, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(string(b), "")
	text = strings.ReplaceAll(text, "\\\n", " ")
	for _, line := range strings.Split(text, "\n") {
		if name, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			all = append(all, instruction{name, strings.Join(strings.Fields(rest), " ")})
		}
	}
	return all
}

// The Dockerfile is not built here. What a linter would say of it, and whether
// its parts exist, is.
func TestDockerfile(t *testing.T) {
	known := strings.Fields("FROM WORKDIR COPY RUN ARG LABEL VOLUME USER EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD")
	last := map[string]string{} // of the final stage
	for _, i := range dockerfile(t) {
		if !slices.Contains(known, i.name) {
			t.Errorf("%s %s: not an instruction that is used here", i.name, i.rest)
		}
		switch i.name {
		case "FROM":
			last = map[string]string{}
			image, _, _ := strings.Cut(i.rest, " ")
			if image != "scratch" && !regexp.MustCompile(`^[a-z/]+:\d+\.\d+\.\d+-[a-z]+$`).MatchString(image) {
				t.Errorf("FROM %s: want a whole version, or what is built today is not what is built tomorrow", image)
			}
			if v, ok := strings.CutPrefix(image, "golang:"); ok && !atLeast(t, v) {
				t.Errorf("FROM %s: older than go.mod wants", image)
			}
		case "RUN":
			if strings.Contains(i.rest, "go build") && (!strings.Contains(i.rest, "CGO_ENABLED=0") || !strings.Contains(i.rest, "main.version=")) {
				t.Errorf("RUN %s: want a static binary that says its version", i.rest)
			}
		}
		last[i.name] = i.rest
	}
	if !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(last["USER"]) {
		t.Errorf("USER %q: want numbers other than root's, which Kubernetes can check", last["USER"])
	}
	if last["HEALTHCHECK"] == "" || last["STOPSIGNAL"] != "SIGTERM" || last["ENTRYPOINT"] != `["/weir"]` {
		t.Errorf("of the final stage: %v", last)
	}
	args := regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(last["CMD"], -1)
	var words []string
	for _, a := range args {
		words = append(words, a[1])
	}
	checked(t, words)
}

// atLeast reports whether an image of Go is as new as go.mod asks for.
func atLeast(t *testing.T, version string) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.GoVersion}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	major := func(v string) string { return strings.Join(strings.SplitN(v, ".", 3)[:2], ".") }
	return major(version) == major(strings.TrimSpace(string(out)))
}

// What .dockerignore lets through is what the program is built from.
func TestDockerIgnoreLeavesTheProgram(t *testing.T) {
	b, err := os.ReadFile("../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	through := map[string]bool{}
	for _, line := range strings.Split(string(b), "\n") {
		if name, ok := strings.CutPrefix(line, "!"); ok {
			through[name] = true
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{end}}{{end}}", "weir/cmd/weir").Output()
	if err != nil {
		t.Fatal(err)
	}
	needed := strings.Fields(string(out))
	for _, p := range needed {
		top, _, _ := strings.Cut(strings.TrimPrefix(p, "weir/"), "/")
		if !through[top] {
			t.Errorf(".dockerignore keeps %s out, and the program needs it", p)
		}
	}
	if len(needed) < 20 || !through["go.mod"] || !through["go.sum"] {
		t.Errorf("%d packages; let through: %v", len(needed), through)
	}
}
