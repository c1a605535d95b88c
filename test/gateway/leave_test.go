package gateway

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"weir/mock"
	"weir/telemetry"
)

// hanging is silent after its third output, until the client leaves.
const hanging = quick + "n=9,seed=7,hang_after=3"

// atOnce bounds the time from a client's leaving to the end of the upstream
// request. A second is promised, and a second is what a busy machine may take.
const atOnce = 2 * time.Second

// A user who leaves as the SDK has it ends the upstream's work, though the
// upstream is silent.
func TestLeaving(t *testing.T) {
	p := installed(t)
	m, count := upstream(t), telemetry.NewGateway(telemetry.Options{})
	url := start(t, m, setup{name: "defaults"}, count)
	for _, d := range drivers {
		before := m.Stats().Cancelled
		stay := leave(t, p.command(t, d.name, "", []string{"--leave", "3"}, url, hanging))
		if took, ok := cancelled(m, before, atOnce); !ok {
			t.Errorf("%s: the upstream was not cancelled within %v", d.name, took)
		}
		stay()
	}
	// The counter follows the upstream's end: the last may still be on its way.
	want := fmt.Sprintf(`weir_gateway_cancels_total{reason="client_gone",route="/*",state="relay"} %d`, len(drivers))
	text := ""
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if text = metrics(t, count); strings.Contains(text, want) {
			return
		}
	}
	t.Errorf("missing: %s\n%s", want, grep(text, "cancels_total"))
}

// On a route that resumes, the stream waits for its client to come back, and
// ends when nobody did.
func TestLeavingWhereItCouldResume(t *testing.T) {
	p := installed(t)
	m, count := upstream(t), telemetry.NewGateway(telemetry.Options{})
	url := start(t, m, setup{name: "resumable", route: "resume: {enabled: true, grace: 1s}"}, count)
	stay := leave(t, p.command(t, "openai-chat", "", []string{"--leave", "3"}, url, hanging))
	defer stay()
	if took, ok := cancelled(m, 0, 500*time.Millisecond); ok {
		t.Errorf("the upstream was cancelled after %v, within its grace", took)
	}
	if took, ok := cancelled(m, 0, 5*time.Second); !ok {
		t.Errorf("the upstream still ran %v after the grace", took)
	}
}

// leave runs a driver until its user has left; stay ends the process.
func leave(t *testing.T, cmd *exec.Cmd) (stay func()) {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.Contains(strings.ReplaceAll(line, " ", ""), `"pieces":3`) {
		t.Errorf("%s: %v in %s", cmd.Args, err, line)
	}
	return func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", cmd.Args, err)
		}
	}
}

// cancelled waits for the mock to count one more cancelled answer.
func cancelled(m *mock.Server, before int64, limit time.Duration) (time.Duration, bool) {
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		took := time.Since(start)
		if m.Stats().Cancelled > before {
			return took, true
		}
		if took > limit {
			return took, false
		}
	}
}

func metrics(t *testing.T, g *telemetry.Gateway) string {
	t.Helper()
	w := httptest.NewRecorder()
	g.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// grep keeps the lines that hold part.
func grep(text, part string) string {
	var lines []string
	for _, l := range strings.Split(text, "\n") {
		if strings.Contains(l, part) {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}
