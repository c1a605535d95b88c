package load

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/peer"
)

// A disk that fills up while the log is written: weir says so at once, counts
// what it could not write, calls the run invalid, and what it could write is
// readable. The figures are whole: they need no disk.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		peer.Missing(t, "the right to mount a small disk", "run the test as root")
	}
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		peer.Missing(t, "the right to mount a small disk ("+err.Error()+")", "run the test as root, outside of a container without CAP_SYS_ADMIN")
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, 0) })
	dir := filepath.Join(disk, "out")
	code, r, stderr := bench(t, `target: {url: "`+startService(t).url+`/v1/chat/completions?ttft=5ms&gap=2ms&n=8", model: mock}
load: [{name: p, arrivals: constant, rate: 60/s, duration: 2s}]
scenarios: [{name: a}]
`, "-o", dir)
	if code == 0 || code == 3 {
		t.Errorf("exit code %d", code)
	}
	if r.requests() != 120 || r.Outcomes["complete"].N != 120 {
		t.Errorf("figures: %+v", r.Outcomes)
	}
	if r.Verdict != "invalid" || r.Health.Lost == 0 || r.Health.Lost >= 120 {
		t.Errorf("verdict %s, %d lost, %v", r.Verdict, r.Health.Lost, r.Health.Reasons)
	}
	if !strings.Contains(stderr, "no space left on device") {
		t.Errorf("it did not say what happened:\n%s", stderr)
	}
	if info, err := os.Stat(filepath.Join(dir, "report.html")); err == nil && info.Size() == 0 {
		t.Error("an empty report.html stands there")
	}
	if n := analyze(t, dir); n < 1 || n > 120 {
		t.Errorf("%d requests can be read", n)
	}
}

// inNamespace runs a bench and its mock in a network of their own, with the
// given local ports.
func inNamespace(t *testing.T, ports, plan string) (code int, r *result) {
	t.Helper()
	script := `ip link set lo up && echo "$PORTS" > /proc/sys/net/ipv4/ip_local_port_range || exit 111
"$WEIR" mock --listen 127.0.0.1:9000 --until-eof >/dev/null 2>&1 <&3 & sleep 0.5
"$WEIR" bench "$PLAN" --json --quiet --db "" 3<&-`
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = append(os.Environ(), "WEIR="+program, "PORTS="+ports, "PLAN="+planFile(t, plan))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	t.Cleanup(func() { write.Close() }) // ends the mock
	cmd.ExtraFiles = []*os.File{read}
	p := start(t, cmd)
	code = p.wait(t)
	if code == 111 {
		peer.Missing(t, "a network namespace with ports of its own", p.err.String())
	}
	r = &result{}
	if err := json.Unmarshal(p.out.Bytes(), r); err != nil {
		t.Fatalf("exit code %d: %v\n%s\n%s", code, err, p.out.String(), p.err.String())
	}
	return code, r
}

// With no local port left, requests fail on this side: that is named, makes the
// run invalid, and is in no figure of the service.
func TestNoPortLeft(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		peer.Missing(t, "the right to make a network namespace", "run the test as root")
	}
	peer.Program(t, "ip")
	code, r := inNamespace(t, "40000 40019", `target: {url: "http://127.0.0.1:9000/v1/chat/completions?ttft=20ms&gap=2s&n=2", model: mock}
load: [{name: p, arrivals: constant, rate: 40/s, duration: 1s}]
scenarios: [{name: a}]
gates: {ttft: [p95 < 20s], complete: [share >= 99%]}
`)
	checkOwn(t, code, r, "ports")
	if r.Health.OwnDrops < 10 || r.Health.OwnDrops > 30 {
		t.Errorf("%d requests without a port, of 40 with 20 ports", r.Health.OwnDrops)
	}
}

// The same where descriptors run out.
func TestNoDescriptorLeft(t *testing.T) {
	t.Parallel()
	url := startService(t).url
	file := planFile(t, `target: {url: "`+url+`/v1/chat/completions?ttft=20ms&gap=2s&n=2", model: mock}
load: [{name: p, arrivals: constant, rate: 100/s, duration: 1s}]
scenarios: [{name: a}]
gates: {ttft: [p95 < 20s], complete: [share >= 99%]}
`)
	p := start(t, exec.Command("sh", "-c", `ulimit -n 110 && exec "$0" bench "$1" --json --quiet --db ""`, program, file))
	code := p.wait(t)
	r := &result{}
	if err := json.Unmarshal(p.out.Bytes(), r); err != nil {
		t.Fatalf("exit code %d: %v\n%s", code, err, p.err.String())
	}
	checkOwn(t, code, r, "descriptors")
}

// checkOwn checks that a run which lacked something of this machine says so,
// and shows nothing of it as the service's doing.
func checkOwn(t *testing.T, code int, r *result, what string) {
	t.Helper()
	if code != 5 || r.Verdict != "invalid" || r.Health.Verdict != "invalid" {
		t.Errorf("exit code %d, verdict %s, health %s", code, r.Verdict, r.Health.Verdict)
	}
	if r.Health.OwnDrops == 0 || !strings.Contains(fmt.Sprint(r.Health.Reasons), what) {
		t.Errorf("%d own drops, %v", r.Health.OwnDrops, r.Health.Reasons)
	}
	if n := r.Outcomes["error_early"].N; n != 0 {
		t.Errorf("%d failures of this machine stand as the service's: %+v", n, r.Outcomes)
	}
	for _, m := range r.Scenarios[0].Metrics {
		if m.Metric == "ttft" && (m.N != m.Reached || m.N != r.Outcomes["complete"].N) {
			t.Errorf("ttft: %d reached of %d, with %d complete", m.Reached, m.N, r.Outcomes["complete"].N)
		}
	}
}

// The short form of make bench's 10,000: a thousand streams at once, client and
// service in processes of their own. Nothing is lost, and the instrument says
// how it was.
func TestThousandStreams(t *testing.T) {
	t.Parallel()
	const streams, outputs = 1000, 6
	plan := strings.Replace(`target: {url: "URL/v1/chat/completions?ttft=200ms&gap=1s&n=6", model: mock}
load: [{name: p, arrivals: constant, rate: 1000/s, duration: 1s}]
scenarios: [{name: a}]
gates: {complete: [share >= 100%]}
`, "URL", startService(t).url, 1)
	begun := time.Now()
	code, r, stderr := bench(t, plan)
	if code != 0 || r.Outcomes["complete"].N != streams {
		t.Errorf("exit code %d, %+v\n%s", code, r.Outcomes, stderr)
	}
	// Of each stream: the role, the outputs, the finish, usage and the sentinel.
	if want := streams * (outputs + 4); r.Health.Events != want || r.Health.Lost != 0 {
		t.Errorf("%d events, want %d; %d lost", r.Health.Events, want, r.Health.Lost)
	}
	if r.Health.PeakInFlight < streams*9/10 && time.Since(begun) < 10*time.Second {
		t.Errorf("%d at once", r.Health.PeakInFlight)
	}
	if (r.Health.Verdict == "valid") != (len(r.Health.Reasons) == 0) {
		t.Errorf("health %s for %q", r.Health.Verdict, r.Health.Reasons)
	}
}
