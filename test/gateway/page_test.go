package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/peer"
)

// The script of the READMEs, in a page of Chromium, asks the program with their
// configuration: from the page's origin, and from no other.
func TestDocumentedPage(t *testing.T) {
	t.Parallel()
	node, chromium := peer.Program(t, "node"), peer.Program(t, "chromium")
	playwright, err := filepath.Abs("../../web/node_modules/playwright-core")
	if err == nil {
		_, err = os.Stat(playwright)
	}
	if err != nil {
		peer.Missing(t, "playwright-core", "make build")
	}
	for _, file := range readmes {
		config, script := page(t, file)
		for _, listed := range []bool{true, false} {
			text := urlsKey.ReplaceAllLiteralString(config, `urls: ["`+upstream(t).URL()+`"]`)
			text = listenKey.ReplaceAllString(text, "$1: 127.0.0.1:0")
			var html atomic.Value // set once the gateway is there, which knows the pages' address
			pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, html.Load().(string)) }))
			t.Cleanup(pages.Close)
			if listed {
				text = replaced(t, text, "https://chat.example.com", pages.URL)
			}
			at := strings.TrimPrefix(serve(t, text, nil).url, "http://")
			html.Store(fmt.Sprintf(`<!doctype html><meta charset="utf-8"><script>
const shown = [], show = x => shown.push(x)
const question = { model: 'mock,ttft=5ms,gap=1ms,n=9', stream: true, messages: [{ role: 'user', content: 'hello' }] }
%s</script>`, replaced(t, script, "127.0.0.1:8080", at)))
			shown := inChromium(t, node, chromium, playwright, pages.URL)
			if whole := len(shown) > 9 && shown[len(shown)-1] == "done" && shown[len(shown)-2] == "[DONE]"; whole != listed || !listed && len(shown) > 0 {
				t.Errorf("%s: a page that is listed (%v) was shown %q", file, listed, shown)
			}
		}
	}
}

// page is a README's configuration for pages, and its script.
func page(t *testing.T, file string) (config, script string) {
	t.Helper()
	for _, block := range blocks(t, file, "yaml config") {
		if strings.Contains(block, "origins:") {
			config = block
		}
	}
	for _, block := range blocks(t, file, "js") {
		if strings.Contains(block, "/weir/ws") {
			script = block
		}
	}
	if config == "" || script == "" {
		t.Fatalf("%s shows no page", file)
	}
	return config, script
}

func inChromium(t *testing.T, node, chromium, playwright, url string) (shown []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "page.mjs", chromium, playwright, url)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &shown)
	}
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, &stderr)
	}
	return shown
}
