package gateway

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"weir/client"
	"weir/relay/redis/redistest"
	"weir/test/relay"
)

// readmes are the documents whose configurations of several processes these
// tests run.
var readmes = []string{"../../README.md", "../../README.zh-CN.md"}

var redisKey = regexp.MustCompile(`redis://[0-9.]+:6379(/0)?`)

// redisFor is a Redis for a configuration: with a password, where that has one.
func redisFor(t *testing.T, config string) *redistest.Server {
	t.Helper()
	if strings.Contains(config, "password_env: REDIS_PASSWORD") {
		// A server with a password says NOAUTH to whoever asks whether it is
		// there, so it gets its password when it is.
		s := redistest.Start(t)
		if got := s.Do("CONFIG SET requirepass " + redisPassword); !strings.HasPrefix(got, "+OK") {
			t.Fatal(got)
		}
		return s
	}
	return redistest.Start(t)
}

// documented is the one configuration with a Redis in every README that has
// this in it, and not that, with the addresses of this machine.
func documented(t *testing.T, sign, absent, upstream string) (config string) {
	t.Helper()
	for _, file := range readmes {
		found := ""
		for _, block := range blocks(t, file, "yaml config") {
			if redisKey.MatchString(block) && strings.Contains(block, sign) && (absent == "" || !strings.Contains(block, absent)) {
				found = block
			}
		}
		if found == "" || config != "" && code(found) != code(config) {
			t.Fatalf("%s: no configuration with redis and %q, or another than the first README's", file, sign)
		}
		config = found
	}
	return here(t, config, upstream, redistest.Start(t))
}

// code is a block without its comments, which have a language.
func code(block string) string {
	return regexp.MustCompile(`(?m)\s*#.*$`).ReplaceAllString(block, "")
}

// nginxBefore starts the nginx we ship for several instances before them. It
// says in a header which one answered.
func nginxBefore(t *testing.T, all ...served) string {
	t.Helper()
	file, err := os.ReadFile("../../deploy/nginx/weir-instances.conf")
	if err != nil {
		t.Fatal(err)
	}
	server := regexp.MustCompile(`\tserver 10\.0\.0\.\d+:8080 (max_fails=.*;)\n`)
	found := server.FindAllStringSubmatch(string(file), -1)
	if len(found) != 3 {
		t.Fatalf("%d servers in the file, want 3", len(found))
	}
	servers := ""
	for _, s := range all {
		servers += "\tserver " + strings.TrimPrefix(s.url, "http://") + " " + found[0][1] + "\n"
	}
	text := replaced(t, string(file), found[0][0], servers)
	text = server.ReplaceAllString(text, "")
	return relay.NginxHTTP(t, func(addr string) string {
		return replaced(t, text, "listen 80;", "listen "+addr+";\n\tadd_header X-Instance $upstream_addr always;")
	})
}

// Three instances behind nginx share their streams through Redis: a client that
// lost its connection goes on at whichever nginx gives it.
func TestDocumentedInstances(t *testing.T) {
	t.Parallel()
	m := upstream(t)
	config := documented(t, "relay:", "workers:", m.URL())
	all := []served{serve(t, config, nil), serve(t, config, nil), serve(t, config, nil)}
	url := nginxBefore(t, all...)
	resumesEverywhere(t, url, m.URL())
	asksByWebSocket(t, url)
	t.Run("another dies", func(t *testing.T) { survivesTheOther(t, url, m.URL(), all) })
	t.Run("its own dies", func(t *testing.T) { losesItsOwn(t, url, m.URL(), all) })
}

// Edges hold the connections, workers ask the service: an edge that dies takes
// no stream with it.
func TestDocumentedWorkers(t *testing.T) {
	t.Parallel()
	m := upstream(t)
	config := documented(t, "workers:", "", m.URL())
	for range 2 {
		run(t, []string{"worker", "gateway.yaml", "--drain", "1s"}, "worker ", config, nil)
	}
	var edges []served
	for range 3 {
		edges = append(edges, run(t, []string{"gateway", "gateway.yaml", "--role", "edge", "--drain", "1s"}, "listening on ", config, nil))
	}
	url := nginxBefore(t, edges...)
	resumesEverywhere(t, url, m.URL())
	asksByWebSocket(t, url)
	survivesItsEdge(t, url, m.URL(), edges)
}

// resumesEverywhere cuts streams and holds their pieces against the whole.
func resumesEverywhere(t *testing.T, url, direct string) {
	t.Helper()
	const settings = "ttft=20ms,gap=15ms,n=60,seed=7"
	want := followed(t, direct, settings, 0)
	if len(want) < 60 {
		t.Fatalf("the mock said %q", want)
	}
	for range 4 { // nginx gives each connection to another instance
		tries := 0
		got := followed(t, url, settings, 2000, func(client.Reconnect) { tries++ })
		if tries == 0 || got != want {
			t.Errorf("after %d returns:\n%s\nwant\n%s", tries, got, want)
		}
	}
}
