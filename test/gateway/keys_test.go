package gateway

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

const sentinel = "sk-sentinel-0123456789abcdef"

// showKey asks with the key in each place where a client may show one, good and
// bad requests; it gives all that was answered.
func showKey(t *testing.T, url string) (told string) {
	t.Helper()
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/v1beta/models/m:streamGenerateContent?alt=sse&key=" + sentinel,
		"/v1/chat/completions?mock=" + "status%3D500", "/dead/v1/chat/completions", "/none?key=" + sentinel} {
		for _, header := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path,
				strings.NewReader(`{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set(header, map[bool]string{true: "Bearer "}[header == "Authorization"]+sentinel)
			req.Header.Set("X-Weir-Mock", "ttft=1ms,gap=0s,n=5")
			resp := answered(t, req)
			b, _ := io.ReadAll(resp.Body) // an answer that breaks off is one too
			var head bytes.Buffer
			_ = resp.Header.Write(&head)
			told += head.String() + string(b)
			if id := resp.Header.Get("X-Request-Id"); id != "" {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/weir/records/"+id, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+sentinel)
				b, _ := io.ReadAll(answered(t, req).Body)
				told += string(b)
			}
		}
	}
	return told
}

// showKeyOnSocket does so on two sockets: in the handshake, and in a message.
func showKeyOnSocket(t *testing.T, url string) (told string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, header := range []http.Header{{"Authorization": {"Bearer " + sentinel}}, nil} {
		conn, _, err := websocket.Dial(ctx, strings.Replace(url, "http", "ws", 1)+"/weir/ws", &websocket.DialOptions{HTTPHeader: header})
		if err != nil {
			t.Fatal(err)
		}
		body := `"body":{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}}`
		for _, m := range []string{`{"type":"auth","key":"` + sentinel + `"}`, `{"type":"auth","key":"` + sentinel + `"}`,
			`{"type":"start","id":"a","path":"/v1/chat/completions",` + body, `{"type":"start","id":"b","path":"/dead/v1/chat/completions",` + body,
			`{"type":"start","id":"c","path":"/v1/x?key=` + sentinel + `",` + body, `{"type":"start","id":"d","path":"/v1/x","headers":{"Authorization":"` + sentinel + `"},` + body} {
			if err := conn.Write(ctx, websocket.MessageText, []byte(m)); err != nil {
				t.Fatal(err)
			}
		}
		for ends := 0; ends < 2; {
			_, b, err := conn.Read(ctx)
			if err != nil {
				t.Fatal(err)
			}
			told += string(b) + "\n"
			ends += strings.Count(string(b), `"type":"end"`)
		}
		_ = conn.Close(websocket.StatusNormalClosure, sentinel) // what the client says of its leaving is logged nowhere
	}
	return told
}

// A key is in no answer, frame, log line, record, metric, event log, store or
// report, whoever looks after it: the caller's own, or the service's.
func TestKeysAreNowhere(t *testing.T) {
	t.Parallel()
	m := upstream(t)
	for name, keys := range map[string]string{"pass_through": "{mode: pass_through}", "file": "{mode: file, file: keys.yaml}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, strings.NewReplacer("KEYS", keys, "MOCK", m.URL()).Replace(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
upstreams: {main: {urls: ["MOCK"], key_env: WEIR_TEST_SERVICE_KEY}, dead: {urls: ["http://127.0.0.1:1"]}}
routes:
  - {path: "/v1/*", upstream: main, resume: {enabled: true}}
  - {path: "/v1beta/*", upstream: main}
  - {path: "/dead/*", upstream: dead, retry: {backoff: 1ms}}
keys: KEYS
log: {dir: log, store: weir.db}
`), map[string]string{"keys.yaml": "keys: [{name: alice, key: " + sentinel + "}]\n"}, "WEIR_TEST_SERVICE_KEY="+sentinel+"-service")
			told := map[string]string{"HTTP": showKey(t, s.url), "a socket": showKeyOnSocket(t, s.url)}
			b, err := io.ReadAll(got(t, s.admin(t)+"/metrics").Body)
			if err != nil {
				t.Fatal(err)
			}
			told["the metrics"] = string(b)
			_ = s.process.Signal(os.Interrupt) // what it keeps is whole when it has ended
			eventually(t, "the gateway ends", func() bool { _, err := http.Get(s.url + "/"); return err != nil })
			eventually(t, "its store is closed", func() bool {
				_, err := os.Stat(filepath.Join(s.dir, "weir.db-wal"))
				return os.IsNotExist(err)
			})
			told["the log"] = s.stderr.String()
			logs := keptFiles(t, s.dir, told)
			reports(t, s.dir, logs, told)
			for what, text := range told {
				if len(text) < 100 {
					t.Errorf("%s is %q: nothing to look at", what, text)
				}
				if i := strings.Index(text, "sk-sentinel"); i >= 0 {
					t.Errorf("%s has a key: …%q…", what, text[max(0, i-200):min(len(text), i+60)])
				}
			}
		})
	}
}

// keptFiles adds what the gateway wrote; it gives the event logs.
func keptFiles(t *testing.T, dir string, told map[string]string) (logs []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "keys.yaml" {
			return err
		}
		b, err := os.ReadFile(path)
		if len(b) >= 100 {
			told["the file "+strings.TrimPrefix(path, dir)] = string(b)
		}
		if strings.HasSuffix(path, ".jsonl") {
			logs = append(logs, path)
		}
		return err
	})
	if err != nil || len(logs) == 0 || told["the file /weir.db"] == "" {
		t.Fatalf("%v: %d event logs, %d bytes of a store", err, len(logs), len(told["the file /weir.db"]))
	}
	return logs
}

// reports adds what the program says of it.
func reports(t *testing.T, dir string, logs []string, told map[string]string) {
	t.Helper()
	for _, args := range [][]string{
		append([]string{"analyze"}, logs...), append([]string{"analyze", "-o", "json"}, logs...),
		{"runs", "show", "last", "--db", "weir.db"}, {"report", "last", "--db", "weir.db"}, {"report", "last", "--db", "weir.db", "-o", "json"},
		{"query", "--db", "weir.db"},
	} {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		b, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("weir %s: %v\n%.500s", strings.Join(args, " "), err, b)
		}
		told["weir "+strings.Join(args, " ")] = string(b)
	}
}
