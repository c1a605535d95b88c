package ws

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
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

// cutting stands before a gateway and cuts its first connection after so many
// bytes of the gateway's.
func cutting(t *testing.T, url string, after int64) (through string, cuts *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cuts = &atomic.Int32{}
	var all sync.WaitGroup
	pass := func(near net.Conn, first bool) {
		defer func() { _ = near.Close() }()
		far, err := net.Dial("tcp", strings.TrimPrefix(url, "ws://"))
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = far.Close() }()
		all.Go(func() {
			_, _ = io.Copy(far, near)
			_ = far.Close()
		})
		if !first {
			_, _ = io.Copy(near, far)
		} else if n, _ := io.CopyN(near, far, after); n == after {
			cuts.Add(1)
		}
	}
	all.Go(func() {
		for first := true; ; first = false {
			near, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { pass(near, first) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait() // their clients are gone
	})
	return "ws://" + l.Addr().String(), cuts
}

// The page of the examples works in a browser: from an origin that is listed,
// and from no other. A connection that breaks in the middle of an answer costs it
// nothing.
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
		url, _ := start(t, "n=40,ttft=5ms,gap=10ms,seed=7", "ws: {origins: [\""+origin+"\"]}\n")
		url, cuts := cutting(t, url, 5000)
		var seen struct{ Errors, Answers, States []string }
		output(t, "", &seen, node, absolute(t, "page.mjs"), chromium, playwright, pages.URL+"/ws.html#gateway="+url)
		switch {
		case len(seen.Errors) > 0:
			t.Errorf("%q", seen.Errors)
		case !allowed && !strings.HasPrefix(seen.States[0], "closed: 1006"):
			t.Errorf("a page that is not listed: %q", seen.States)
		case allowed && (len(seen.Answers) != 3 || seen.Answers[0] == "" || seen.States[1] != "done" || seen.States[2] != "done" || !strings.HasPrefix(seen.States[3], "cancelled")):
			t.Errorf("%q %q", seen.States, seen.Answers)
		case allowed && (cuts.Load() != 1 || seen.Answers[0] != seen.Answers[1]):
			t.Errorf("after %d breaks the answer is %q, without any %q", cuts.Load(), seen.Answers[0], seen.Answers[1])
		}
	}
}
