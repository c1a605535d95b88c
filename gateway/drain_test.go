package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var retryLine = regexp.MustCompile(`(?m)^retry: (\d+)$`)

// retries are the reconnection times that events state, each with data.
func retries(t *testing.T, body string) (all []int) {
	t.Helper()
	for _, b := range blocks(body) {
		m := retryLine.FindStringSubmatch(b)
		if m == nil {
			continue
		}
		if !strings.Contains(b, "data:") || !strings.Contains(b, "id: ") {
			t.Errorf("a retry in an event without data or id: %q", b)
		}
		n, _ := strconv.Atoi(m[1])
		all = append(all, n)
	}
	return all
}

// startDrain begins to drain, and gives what Drain returns.
func startDrain(t *testing.T, f *Front, most time.Duration) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), most)
	t.Cleanup(cancel)
	go func() { ended <- f.Drain(ctx) }()
	until(t, "it drains", func() bool { return !f.Ready() })
	return ended
}

func TestDrainTakesNothingNew(t *testing.T) {
	m := newStepped(t)
	g := startFront(t, resuming, m.url)
	resp := post(t, g.url+"/v1/chat/completions", ask1)
	ended := startDrain(t, g.f, time.Minute)
	for range 5 {
		no := post(t, g.url+"/v1/chat/completions", ask1)
		after, _ := strconv.Atoi(no.Header.Get("Retry-After"))
		if no.StatusCode != http.StatusServiceUnavailable || after < 1 || after > 5 || !no.Close {
			t.Errorf("%s, Retry-After %q, close %v", no.Status, no.Header.Get("Retry-After"), no.Close)
		}
		if body := text(t, no); !strings.Contains(body, `"draining"`) || !strings.Contains(body, `"retry_after_ms"`) {
			t.Error(body)
		}
	}
	m.next <- chat("x") + chatFinish + chatDone
	if body := text(t, resp); !strings.Contains(body, "[DONE]") || strings.Contains(body, "retry:") {
		t.Errorf("a stream in flight: %s", body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Clients that asked for ids are told when to come back, each its own time, in
// the next event with data; also those that follow.
func TestDrainHint(t *testing.T) {
	m := newStepped(t)
	g := startFront(t, resuming, m.url)
	resp := post(t, g.url+"/v1/chat/completions", ask1, "weir-resume", "1")
	r := bufio.NewReader(resp.Body)
	m.next <- chat("one")
	got := readEvents(t, r, 1)
	follower := get(t, g.url+"/weir/streams/"+resp.Header.Get("Weir-Stream"), "weir-resume", "1")
	fr := bufio.NewReader(follower.Body)
	followed := readEvents(t, fr, 1)
	startDrain(t, g.f, 10*time.Millisecond)
	m.next <- ": no data\n\n" + chat("two")
	m.next <- chat("three")
	got += readEvents(t, r, 2)
	followed += readEvents(t, fr, 2)
	g.f.Close()
	for name, rest := range map[string]*bufio.Reader{got: r, followed: fr} {
		b, err := io.ReadAll(rest)
		if err != nil {
			t.Error(err)
		}
		all := retries(t, name+string(b))
		if len(all) != 2 || all[0] != firstRetry || all[1] < 1000 || all[1] > 5000 {
			t.Errorf("retries %v in\n%s%s", all, name, b)
		}
		terminal := shutdownFrame(t, string(b))
		if terminal.Reason != "shutdown" || !terminal.Retryable || terminal.RetryMs < 1000 || terminal.RetryMs > 5000 {
			t.Errorf("terminal frame: %+v", terminal)
		}
	}
}

// A stream that is silent while the gateway drains has the hint in its last
// frame.
func TestDrainHintOfASilentStream(t *testing.T) {
	m := newStepped(t)
	g := startFront(t, resuming, m.url)
	ids := post(t, g.url+"/v1/chat/completions", ask1, "weir-resume", "1")
	m.next <- chat("one")
	r := bufio.NewReader(ids.Body)
	readEvents(t, r, 1)
	startDrain(t, g.f, 10*time.Millisecond)
	g.f.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	if all := retries(t, string(b)); len(all) != 1 || all[0] < 1000 || all[0] > 5000 {
		t.Errorf("%v in %s", all, b)
	}
	if f := shutdownFrame(t, string(b)); f.RetryMs < 1000 || f.RetryMs > 5000 {
		t.Errorf("%+v", f)
	}
}

// shutdownError is the error of that frame.
type shutdownError struct {
	Reason    string
	Retryable bool
	RetryMs   int64 `json:"retry_after_ms"`
}

func shutdownFrame(t *testing.T, body string) shutdownError {
	t.Helper()
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(line, "data: ")
		var e struct{ Error shutdownError }
		if ok && json.Unmarshal([]byte(data), &e) == nil && e.Error.Reason != "" {
			return e.Error
		}
	}
	t.Errorf("no terminal frame in %q", body)
	return shutdownError{}
}
