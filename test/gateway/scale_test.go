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

var redisKey = regexp.MustCompile(`redis://127\.0\.0\.1:6379`)

// documented is the one configuration with a Redis in every README that has
// this in it, with the addresses of this machine.
func documented(t *testing.T, sign string, absent string, upstream string) (config string) {
	t.Helper()
	for _, file := range readmes {
		found := ""
		for _, block := range blocks(t, file, "yaml config") {
			if strings.Contains(block, "redis") && strings.Contains(block, sign) && (absent == "" || !strings.Contains(block, absent)) {
				found = block
			}
		}
		if found == "" || config != "" && code(found) != code(config) {
			t.Fatalf("%s: no configuration with redis and %q, or another than the first README's", file, sign)
		}
		config = found
	}
	config = urlsKey.ReplaceAllLiteralString(config, `urls: ["`+upstream+`"]`)
	config = redisKey.ReplaceAllLiteralString(config, strings.TrimSuffix(redistest.Start(t).URL(), "/0"))
	return listenKey.ReplaceAllString(config, "$1: 127.0.0.1:0")
}

// code is a block without its comments, which have a language.
func code(block string) string {
	return regexp.MustCompile(`(?m)\s*#.*$`).ReplaceAllString(block, "")
}

// nginxBefore starts the shipped nginx before several instances.
func nginxBefore(t *testing.T, urls ...string) string {
	t.Helper()
	file, err := os.ReadFile("../../deploy/nginx/weir.conf")
	if err != nil {
		t.Fatal(err)
	}
	servers := ""
	for _, u := range urls {
		servers += "server " + strings.TrimPrefix(u, "http://") + ";\n"
	}
	return relay.NginxHTTP(t, func(addr string) string {
		return replaced(t, replaced(t, string(file), "server 127.0.0.1:8080;", servers), "listen 80;", "listen "+addr+";")
	})
}

// Three instances behind nginx share their streams through Redis: a client that
// lost its connection goes on at whichever nginx gives it.
func TestDocumentedInstances(t *testing.T) {
	t.Parallel()
	m := upstream(t)
	config := documented(t, "relay:", "workers:", m.URL())
	var urls []string
	for range 3 {
		urls = append(urls, serve(t, config, nil).url)
	}
	resumesEverywhere(t, nginxBefore(t, urls...), m.URL())
}

// Edges hold the connections, workers ask the service.
func TestDocumentedWorkers(t *testing.T) {
	t.Parallel()
	m := upstream(t)
	config := documented(t, "workers:", "", m.URL())
	for range 2 {
		run(t, []string{"worker", "gateway.yaml", "--drain", "1s"}, "worker ", config, nil)
	}
	var urls []string
	for range 2 {
		urls = append(urls, run(t, []string{"gateway", "gateway.yaml", "--role", "edge", "--drain", "1s"}, "listening on ", config, nil).url)
	}
	resumesEverywhere(t, nginxBefore(t, urls...), m.URL())
}

// resumesEverywhere cuts streams and holds their pieces against the whole.
func resumesEverywhere(t *testing.T, url, direct string) {
	t.Helper()
	const settings = "ttft=20ms,gap=15ms,n=60,seed=7"
	want := followed(t, direct, settings, 0)
	if len(want) < 60 {
		t.Fatalf("the mock said %q", want)
	}
	for range 4 { // nginx gives each connection to the next instance
		tries := 0
		got := followed(t, url, settings, 2000, func(client.Reconnect) { tries++ })
		if tries == 0 || got != want {
			t.Errorf("after %d returns:\n%s\nwant\n%s", tries, got, want)
		}
	}
}
