package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"weir/mock"
)

// The documents that tell how to run the gateway.
var guides = []string{"../../README.md", "../../README.zh-CN.md", "../../docs/gateway.md", "../../docs/behind-nginx.md", "../../docs/resume.md", "../../docs/workers.md", "../../docs/pacing.md", "../../docs/websocket.md"}

// blocks are the fenced blocks of one kind in a document.
func blocks(t *testing.T, file, kind string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "```"+kind+"\n")[1:] {
		block, _, closed := strings.Cut(part, "```")
		if !closed {
			t.Fatalf("%s: a block does not end", file)
		}
		all = append(all, block)
	}
	return all
}

// service is a model service that notes how it was asked, and knows Dify's way
// to stop.
type service struct {
	*httptest.Server
	mu   sync.Mutex
	seen []asking
}

type asking struct {
	method, path, authorization, body string
}

func newService(t *testing.T) *service {
	t.Helper()
	m, err := mock.New(mock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.seen = append(s.seen, asking{r.Method, r.URL.Path, r.Header.Get("Authorization"), string(body)})
		s.mu.Unlock()
		if strings.HasSuffix(r.URL.Path, "/stop") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"result":"success"}`)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		m.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close(); _ = m.Close() })
	return s
}

// last is what was asked last.
func (s *service) last() asking {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == 0 {
		return asking{}
	}
	return s.seen[len(s.seen)-1]
}

var (
	urlsKey    = regexp.MustCompile(`urls: \[[^\]]*\]`)
	listenKey  = regexp.MustCompile(`(?m)^(listen|admin): .*$`)
	workersKey = regexp.MustCompile(`(?m)^workers: `)
	tlsKey     = regexp.MustCompile(`(?m)^tls: .*$`)
)

// Every configuration in the documents is run by the program, with the
// addresses of this machine in the place of its own, and serves a stream. Where
// it names two machines, the first is down.
func TestDocumentedConfigurationsServe(t *testing.T) {
	ran := map[string]int{}
	for _, file := range guides {
		for _, block := range blocks(t, file, "yaml config") {
			ran[file]++
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				serveBlock(t, block)
			})
		}
	}
	for _, file := range guides[:3] {
		if ran[file] < 2 {
			t.Errorf("%s: %d configurations found", file, ran[file])
		}
	}
}

const (
	serviceKey    = "sentinel-of-the-service"
	aliceKey      = "sentinel-of-alice"
	redisPassword = "sentinel-of-redis"
)

func serveBlock(t *testing.T, block string) {
	up := newService(t)
	urls := `urls: ["` + up.URL + `"]`
	if strings.Contains(urlsKey.FindString(block), ",") {
		urls = `urls: ["http://` + closedPort(t) + `", "` + up.URL + `"]`
	}
	text := urlsKey.ReplaceAllLiteralString(block, urls)
	text = listenKey.ReplaceAllString(text, "$1: 127.0.0.1:0")
	text = tlsKey.ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "10.0.0.0/24", "127.0.0.0/8")
	text = strings.ReplaceAll(text, "heartbeat: 15s", "heartbeat: 50ms")
	if !strings.Contains(text, "listen:") {
		text = "listen: 127.0.0.1:0\n" + text
	}
	if redisKey.MatchString(text) {
		text = redisKey.ReplaceAllLiteralString(text, redisFor(t, text).URL())
	}
	files, env := map[string]string{"keys.yaml": `keys: [{name: alice, key: "${ALICE_KEY}"}]`},
		[]string{"MODEL_KEY=" + serviceKey, "ALICE_KEY=" + aliceKey, "REDIS_PASSWORD=" + redisPassword}
	role := []string{"gateway", "gateway.yaml", "--drain", "1s"}
	if redisKey.MatchString(block) && workersKey.MatchString(text) {
		run(t, []string{"worker", "gateway.yaml", "--drain", "1s"}, "worker ", text, files, env...)
		role = append(role, "--role", "edge")
	}
	g := run(t, role, "listening on ", text, files, env...)
	path, body, end := "/v1/chat/completions", `{"model":"mock","stream":true,"messages":[{"role":"user","content":"hello"}]}`, "data: [DONE]"
	if strings.Contains(block, "dialect: dify") {
		path, body, end = "/v1/chat-messages", `{"inputs":{},"query":"hello","response_mode":"streaming","user":"u"}`, "message_end"
	}
	resp, got := post(t, g.url+path, body, "ttft=10ms,gap=300ms,n=3")
	if resp.StatusCode != http.StatusOK || !strings.Contains(got, end) {
		t.Fatalf("status %d, without %q:\n%s\n%s\n%s", resp.StatusCode, end, got, block, g.stderr)
	}
	want := "Bearer " + aliceKey // passed on
	if strings.Contains(block, "key_env: MODEL_KEY") {
		want = "Bearer " + serviceKey
	}
	if a := up.last(); a.authorization != want || a.path != path || a.body != body {
		t.Errorf("the service was asked %+v, want the key %q", a, want)
	}
	if strings.Contains(text, "heartbeat: 50ms") && end == "data: [DONE]" && !strings.Contains(got, ": hb") {
		t.Errorf("no heartbeat in 300 ms of silence:\n%s", got)
	}
	if resumable := strings.Contains(block, "resume: {enabled: true"); (resp.Header.Get("Weir-Resumable") == "true") != resumable {
		t.Errorf("Weir-Resumable: %s, want %v", resp.Header.Get("Weir-Resumable"), resumable)
	}
	if end == "message_end" {
		stopDify(t, g.url, up)
	}
	if strings.Contains(block, "mode: file, file: keys.yaml") {
		refused(t, g.url+path, body)
	}
}

// stopDify asks for what is no stream: it passes as it is.
func stopDify(t *testing.T, url string, up *service) {
	t.Helper()
	resp, got := post(t, url+"/v1/chat-messages/5ad4cb98-f0c7-4085-b384-88c403be6290/stop", `{"user":"u"}`, "")
	a := up.last()
	if resp.StatusCode != http.StatusOK || got != `{"result":"success"}` || a.body != `{"user":"u"}` || !strings.HasSuffix(a.path, "6290/stop") {
		t.Errorf("stop: status %d, %s; the service was asked %+v", resp.StatusCode, got, a)
	}
}

// refused asks with a key that is in no file.
func refused(t *testing.T, url, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer nobody")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a foreign key: status %d, want 401", resp.StatusCode)
	}
}

func post(t *testing.T, url, body, settings string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+aliceKey)
	if settings != "" {
		r.Header.Set("X-Weir-Mock", settings)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// closedPort is an address that nobody listens on.
func closedPort(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	return strings.TrimPrefix(s.URL, "http://")
}

// What the documents show of nginx is what the shipped file has, which the
// tests above run.
func TestDocumentedNginx(t *testing.T) {
	file, err := os.ReadFile("../../deploy/nginx/weir.conf")
	if err != nil {
		t.Fatal(err)
	}
	_, location, _ := strings.Cut(string(file), "location / {")
	location, _, _ = strings.Cut(location, "}")
	want, n := directives(location), 0
	for _, file := range guides {
		for _, block := range blocks(t, file, "nginx location") {
			if got := directives(block); got != want {
				t.Errorf("%s shows\n%s\nand deploy/nginx/weir.conf has\n%s", file, got, want)
			}
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d blocks, want both READMEs' and docs/behind-nginx.md's", n)
	}
}

// directives is nginx's text without comments and white space that means nothing.
func directives(text string) string {
	var lines []string
	for _, l := range strings.Split(text, "\n") {
		l, _, _ = strings.Cut(l, "#")
		if l = strings.Join(strings.Fields(l), " "); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

// What the documents show of the client is part of examples/resume, which is
// run below.
func TestDocumentedClient(t *testing.T) {
	program, err := os.ReadFile("../../examples/resume/main.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range guides {
		for _, block := range blocks(t, file, "go") {
			if !strings.Contains(block, "client.Do(") {
				continue
			}
			indented := "\t" + strings.ReplaceAll(strings.TrimSuffix(block, "\n"), "\n", "\n\t") + "\n"
			if !strings.Contains(string(program), indented) {
				t.Errorf("%s shows what examples/resume does not have:\n%s", file, block)
			}
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d blocks, want both READMEs' and docs/resume.md's", n)
	}
}

// The example goes on over a connection that breaks, and says so where an
// answer cannot be whole.
func TestExampleResumes(t *testing.T) {
	t.Parallel()
	m := upstream(t)
	g := production(t, m)
	example := filepath.Join(t.TempDir(), "resume")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", example, "weir/examples/resume").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(url, settings string) (stdout, stderr string, err error) {
		var out, errs strings.Builder
		cmd := exec.CommandContext(t.Context(), example, breaking(t, url, settings, 2000), "hello")
		cmd.Stdout, cmd.Stderr = &out, &errs
		err = cmd.Run()
		return out.String(), errs.String(), err
	}
	const settings = "ttft=20ms,gap=10ms,n=60,seed=7"
	want := wholeText(t, m.URL(), settings)
	got, notes, err := run(g.url, settings)
	if err != nil || got != want+"\n" || !strings.Contains(notes, "try 1 in ") {
		t.Errorf("%v: %q, want %q\n%s", err, got, want, notes)
	}
	got, notes, err = run(g.url, settings+",truncate_after=50")
	if err == nil || !strings.Contains(notes, "resume: ") || !strings.HasPrefix(want, strings.TrimSpace(got)) {
		t.Errorf("a truncated answer: %v, %q\n%s", err, got, notes)
	}
}

// breaking is a relay that breaks the first answer after so many bytes, and
// tells the mock how to behave.
func breaking(t *testing.T, url, settings string, after int) string {
	t.Helper()
	cut := &cutting{after: after}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), r.Method, url+r.URL.RequestURI(), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header = r.Header.Clone()
		req.Header.Set("X-Weir-Mock", settings)
		resp, err := cut.RoundTrip(req)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for k, v := range resp.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(resp.StatusCode)
		buf := make([]byte, 4096)
		for {
			n, err := resp.Body.Read(buf)
			_, _ = w.Write(buf[:n])
			_ = http.NewResponseController(w).Flush()
			if err == io.EOF {
				return
			}
			if err != nil {
				panic(http.ErrAbortHandler) // breaks the connection
			}
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// wholeText is the text of the same answer as one body.
func wholeText(t *testing.T, url, settings string) string {
	t.Helper()
	_, body := post(t, url+"/v1/chat/completions", `{"model":"mock","messages":[{"role":"user","content":"hello"}]}`, settings)
	m := regexp.MustCompile(`"content":"([^"\\]*)"`).FindStringSubmatch(body)
	if m == nil {
		t.Fatalf("no text: %s", body)
	}
	return m[1]
}
