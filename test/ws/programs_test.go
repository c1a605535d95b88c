package ws

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/peer"
)

// output runs a program to its end and reads the JSON that it says.
func output(t *testing.T, dir string, into any, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, &stderr)
	}
}

func absolute(t *testing.T, file string) string {
	t.Helper()
	f, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// npm's ws offers compression, asks two turns, and is told that binary is not
// spoken here.
func TestNPM(t *testing.T) {
	if _, err := os.Stat("../sdk/node_modules/ws"); err != nil {
		peer.Missing(t, "npm ws", "make peers")
	}
	url, _ := start(t, "n=10,ttft=1ms,gap=1ms", "")
	var seen struct {
		Extensions, Text string
		Seqs             []int
		Ends             [][]any
		Close            int
	}
	output(t, absolute(t, "../sdk"), &seen, peer.Program(t, "node"), absolute(t, "npm.mjs"), url, "a-key-for-npm")
	if seen.Extensions != "" || seen.Text == "" || seen.Close != 1003 || len(seen.Ends) != 2 || seen.Ends[1][1] != "done" {
		t.Errorf("%+v", seen)
	}
	for i, n := range seen.Seqs {
		if want := i%(len(seen.Seqs)/2) + 1; n != want {
			t.Errorf("event %d has seq %d, want %d", i, n, want)
		}
	}
}

// The page of the examples works in a browser: from an origin that is listed,
// and from no other.
func TestPage(t *testing.T) {
	playwright := absolute(t, "../../web/node_modules/playwright-core")
	if _, err := os.Stat(playwright); err != nil {
		peer.Missing(t, "playwright-core", "make build")
	}
	node, chromium := peer.Program(t, "node"), peer.Program(t, "chromium")
	pages := httptest.NewServer(http.FileServer(http.Dir("../../examples")))
	defer pages.Close()
	for _, allowed := range []bool{true, false} {
		origin := pages.URL
		if !allowed {
			origin = "https://chat.example.com"
		}
		url, _ := start(t, "n=40,ttft=5ms,gap=10ms", "ws: {origins: [\""+origin+"\"]}\n")
		var seen struct{ Errors, Answers, States []string }
		output(t, "", &seen, node, absolute(t, "page.mjs"), chromium, playwright, pages.URL+"/ws.html#gateway="+url)
		switch {
		case len(seen.Errors) > 0:
			t.Errorf("%q", seen.Errors)
		case !allowed && !strings.HasPrefix(seen.States[0], "closed: 1006"):
			t.Errorf("a page that is not listed: %q", seen.States)
		case allowed && (len(seen.Answers) != 3 || seen.Answers[0] == "" || seen.States[1] != "done" || seen.States[2] != "done" || !strings.HasPrefix(seen.States[3], "cancelled")):
			t.Errorf("%q %q", seen.States, seen.Answers)
		}
	}
}
