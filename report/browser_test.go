package report

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/peer"
)

// visit is what the browser saw of a page.
type visit struct {
	Page, Lang, Theme, Title, Text, Download string
	HTMLLang                                 string `json:"html_lang"`
	OtherLang                                string `json:"other_lang"`
	Hash                                     string
	Linked, Chosen                           bool
	Errors, Requests                         []string
	Overflow, Charts, Scripts, Images        int
	Ready                                    float64 `json:"ready_ms"`
	Zoom                                     float64 `json:"zoom_ms"`
}

// TestPages opens the pages of runs of every kind in a real browser, in both
// languages and both themes. WEIR_SHOTS=DIR keeps pictures of them.
func TestPages(t *testing.T) {
	if !HasAssets() {
		peer.Missing(t, "the page's script", "make build")
	}
	driver, err := filepath.Abs("../web/test/page.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("../web/node_modules/playwright-core"); err != nil {
		peer.Missing(t, "playwright-core", "make build")
	}
	node, chromium := peer.Program(t, "node"), peer.Program(t, "chromium")
	dir := t.TempDir()
	list := runs()
	list["large"] = largeRun()
	for name, r := range list {
		var b bytes.Buffer
		if err := WriteRunHTML(&b, r); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".html"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, driver, chromium, dir, os.Getenv("WEIR_SHOTS"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, &stderr)
	}
	visits := 0
	for line := range bytes.Lines(out) {
		var v visit
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		visits++
		t.Run(v.Page+"-"+v.Lang, func(t *testing.T) { v.check(t) })
	}
	if visits != 2*len(list) {
		t.Errorf("%d visits of %d pages in two languages", visits, len(list))
	}
}

func (v visit) check(t *testing.T) {
	if len(v.Errors) > 0 || len(v.Requests) > 0 {
		t.Errorf("errors %q, requests %q", v.Errors, v.Requests)
	}
	if v.Overflow > 0 {
		t.Errorf("the page is %d px too wide", v.Overflow)
	}
	if v.Scripts != 2 || v.Images != 0 {
		t.Errorf("%d scripts and %d images: something foreign got in", v.Scripts, v.Images)
	}
	words := map[string][]string{
		"en": {"Gates", "Silence and failure", "What the numbers mean"}, "zh": {"门槛", "沉默与失败", "指标定义"},
	}[v.Lang]
	for _, w := range words {
		if !strings.Contains(v.Text, w) {
			t.Errorf("no %q on the page", w)
		}
	}
	if want := map[string]string{"en": "en", "zh": "zh-CN"}[v.Lang]; v.HTMLLang != want {
		t.Errorf("lang %q, want %q", v.HTMLLang, want)
	}
	if v.OtherLang == v.HTMLLang || !strings.Contains(v.Hash, "theme=light") || !strings.Contains(v.Hash, "lang=") {
		t.Errorf("the buttons gave lang %q and %q", v.OtherLang, v.Hash)
	}
	if v.Page == "mixed" && !v.Chosen {
		t.Error("choosing other curves changed no picture")
	}
	if many := v.Page == "mixed" || v.Page == "large"; many && !v.Linked {
		t.Error("a zoom of the arrivals left the pictures over time as they were")
	}
	if want := map[string]int{"empty": 0, "failed": 3, "mixed": 11, "large": 11}; v.Charts < want[v.Page] {
		t.Errorf("%d pictures, want %d", v.Charts, want[v.Page])
	}
	if !strings.HasPrefix(v.Download, "weir-") || !strings.HasSuffix(v.Download, ".json") {
		t.Errorf("download is called %q", v.Download)
	}
	if v.Page == "large" && (v.Ready > 30_000 || v.Zoom > 5000) {
		t.Errorf("ready after %.0f ms, zoom took %.0f ms", v.Ready, v.Zoom)
	}
	t.Logf("ready %.0f ms, zoom %.0f ms, %d pictures", v.Ready, v.Zoom, v.Charts)
}
