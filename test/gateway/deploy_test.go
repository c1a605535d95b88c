package gateway

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/relay/redis/redistest"
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

// units are the files of systemd that we ship, with the configuration of each.
var units = []struct{ name, config string }{
	{"weir-gateway.service", "../../deploy/gateway.yaml"},
	{"weir-worker.service", "../../deploy/scaled.yaml"},
}

const unitDir = "../../deploy/systemd/"

// A unit stops its program later than that stops by itself, calls it with flags
// that exist, and gives it descriptors for its streams.
func TestUnit(t *testing.T) {
	for _, file := range units {
		t.Run(file.name, func(t *testing.T) {
			u := unit(t, unitDir+file.name)
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
			checked(t, strings.Fields(one("ExecStartPre"))[1:], file.config)
			if start[1] == "worker" {
				works(t, start[1:], file.config)
			} else {
				checked(t, start[1:], file.config)
			}
		})
	}
}

// Both units harden alike.
func TestUnitsHardenAlike(t *testing.T) {
	a, b := unit(t, unitDir+units[0].name), unit(t, unitDir+units[1].name)
	for _, own := range []string{"Description", "ExecStart", "StateDirectory", "WorkingDirectory"} {
		delete(a, own)
		delete(b, own)
	}
	for key, want := range a {
		if !slices.Equal(b[key], want) {
			t.Errorf("%s=%v in %s, %v in %s", key, want, units[0].name, b[key], units[1].name)
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d keys and %d", len(a), len(b))
	}
}

// checked runs weir with the arguments of a file we ship, on a configuration we
// ship; --check keeps it from serving.
func checked(t *testing.T, args []string, config string) {
	t.Helper()
	args = append(slices.Clone(args), "--check")
	for i, a := range args {
		if a == "/etc/weir/gateway.yaml" {
			args[i] = config
		}
	}
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Errorf("weir %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// works runs a worker with the arguments of its unit, an edge beside it, and
// asks.
func works(t *testing.T, args []string, config string) {
	t.Helper()
	text := scaled(t, config, upstream(t).URL())
	admin := closedPort(t)
	args = slices.Clone(args)
	for i, a := range args {
		args[i] = strings.NewReplacer("/etc/weir/gateway.yaml", "gateway.yaml", "127.0.0.1:9092", admin, "60s", "1s").Replace(a)
	}
	run(t, args, "worker ", text, nil)
	edge := run(t, []string{"gateway", "gateway.yaml", "--role", "edge", "--drain", "1s"}, "listening on ", text, nil)
	if got := followed(t, edge.url, "ttft=10ms,gap=1ms,n=5", 0); got == "" {
		t.Error("an empty answer")
	}
	resp, err := http.Get("http://" + admin + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
		t.Errorf("/readyz: %s", resp.Status)
	}
}

// scaled is a configuration with a Redis, with the addresses of this machine.
func scaled(t *testing.T, file, upstream string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return here(t, string(b), upstream, redistest.Start(t))
}

// here gives a configuration with a Redis the addresses of this machine.
func here(t *testing.T, config, upstream string, redis *redistest.Server) string {
	t.Helper()
	config = urlsKey.ReplaceAllLiteralString(config, `urls: ["`+upstream+`"]`)
	config = replaced(t, config, "redis://127.0.0.1:6379/0", redis.URL())
	return listenKey.ReplaceAllString(config, "$1: 127.0.0.1:0")
}

// systemd's own checks, where it is installed: a unit is valid, and what it
// still exposes is little.
func TestUnitBySystemd(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is missing; TestUnit looks at what matters most")
	}
	for _, u := range units {
		text, err := os.ReadFile(unitDir + u.name)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), u.name)
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/weir", program)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"verify", file}, {"security", "--offline=true", "--threshold=20", "--no-pager", file}} {
			out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
			if strings.Contains(string(out), "Unknown") || strings.Contains(string(out), "unrecognized") {
				t.Skipf("this systemd cannot: %s", out)
			}
			if err != nil || args[0] == "verify" && strings.Contains(string(out), u.name) {
				t.Errorf("systemd-analyze %s: %v\n%s", strings.Join(args, " "), err, out)
			}
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
	checked(t, words, "../../deploy/gateway.yaml")
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
