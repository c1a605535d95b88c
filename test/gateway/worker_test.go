package gateway

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/relay/redis/redistest"
)

// A worker takes up a changed file, also one of its own admin address, and a
// signal; a broken one is refused and counted.
func TestWorkerReloads(t *testing.T) {
	t.Parallel()
	up, other := upstream(t), upstream(t)
	admin := closedPort(t)
	const config = `
listen: 127.0.0.1:0
admin: 127.0.0.1:1
upstreams: {main: {urls: [%q]}}
routes: [{path: "/*", upstream: main}]
relay: {redis: %q}
`
	redis := redistest.Start(t).URL()
	first, second := fmt.Sprintf(config, up.URL(), redis), fmt.Sprintf(config, other.URL(), redis)
	e := run(t, []string{"gateway", "gateway.yaml", "--role", "edge", "--drain", "1s"}, "listening on ", strings.Replace(first, "admin: 127.0.0.1:1", "", 1), nil)
	w := run(t, []string{"worker", "gateway.yaml", "--admin", admin, "--drain", "1s"}, "worker ", first, nil)
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(w.dir, "gateway.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	counted := func(line string) func() bool {
		return func() bool {
			resp, err := http.Get("http://" + admin + "/metrics")
			if err != nil {
				return false
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			return err == nil && strings.Contains(string(b), "\n"+line+"\n")
		}
	}
	chat := func() {
		t.Helper()
		resp, body := post(t, e.url+"/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`, "n=3")
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, "[DONE]") {
			t.Fatalf("%s: %s\n%s", resp.Status, body, w.stderr)
		}
	}
	chat()
	write("routes: 17\n")
	eventually(t, "the broken file is refused", counted(`weir_gateway_config_reloads_total{result="refused"} 1`))
	chat()
	write(second)
	eventually(t, "the new file is taken up", counted(`weir_gateway_config_reloads_total{result="taken_up"} 1`))
	before := other.Stats().Started
	chat()
	if after := other.Stats().Started; after != before+1 {
		t.Errorf("the new service was asked %d times", after-before)
	}
	if err := w.process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the signal is followed", counted(`weir_gateway_config_reloads_total{result="taken_up"} 2`))
	chat()
}
