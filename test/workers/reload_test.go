package workers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/gateway"
)

func configOf(t *testing.T, s *site, url string) gateway.Config {
	t.Helper()
	c, err := gateway.Load("gateway.yaml", fmt.Appendf(nil, plain, url))
	if err != nil {
		t.Fatal(err)
	}
	c.Workers, c.Relay = s.conf.Workers, s.conf.Relay
	return c
}

// Twenty changes under load: no request fails, and each is served by one
// configuration from its beginning to its end.
func TestReloadUnderLoad(t *testing.T) {
	answer := func(name string) string {
		return scripted(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				say(w, chat(name))
			}
			say(w, chatEnd)
		}).url
	}
	urls := []string{answer("aaaa"), answer("bbbb")}
	s := newSite(t, plain, urls[0])
	e, w := s.edge(), s.worker()
	ctx, stop := context.WithCancel(t.Context())
	var asked atomic.Int64
	var clients sync.WaitGroup
	for i := range 6 {
		clients.Go(func() {
			var header []string
			if i%2 == 0 {
				header = []string{"Weir-Resume", "1"}
			}
			for ctx.Err() == nil {
				resp, err := tryPost(context.Background(), e.url+chatPath, ask, header...)
				if err != nil {
					t.Error(err)
					return
				}
				b, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				body := string(b)
				first, second := strings.Count(body, "aaaa"), strings.Count(body, "bbbb")
				if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(body, "[DONE]") || max(first, second) != 3 || min(first, second) != 0 {
					t.Errorf("status %d, %v:\n%s", resp.StatusCode, err, body)
					return
				}
				asked.Add(1)
			}
		})
	}
	for i := range 20 {
		before := asked.Load()
		if err := w.w.Reload(configOf(t, s, urls[(i+1)%2])); err != nil {
			t.Fatal(err)
		}
		await(t, func() bool { return asked.Load() > before || t.Failed() })
	}
	stop()
	clients.Wait()
	await(t, func() bool { return w.w.Former() == 0 && w.w.InFlight() == 0 })
}

// A request of before the change keeps its configuration, and is found by those
// who stop it; one that begins has the new one. What is bound to the start is
// refused.
func TestReloadKeepsRequests(t *testing.T) {
	old := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		say(w, chat("old"))
		linger(r)
	})
	other := scripted(t, func(_ int, w http.ResponseWriter, _ *http.Request) { say(w, chat("new")+chatEnd) })
	s := newSite(t, plain, old.url)
	a, b, w := s.edge(), s.edge(), s.worker()
	resp := post(t.Context(), t, a.url+chatPath, ask, "Weir-Resume", "1")
	defer resp.Body.Close()
	rest := bufio.NewReader(resp.Body)
	for line := ""; !strings.Contains(line, "old"); {
		var err error
		if line, err = rest.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	bad := configOf(t, s, other.url)
	bad.Workers.Jobs++
	if err := w.w.Reload(bad); err == nil || !strings.Contains(err.Error(), "workers cannot change") {
		t.Errorf("another number of places: %v", err)
	}
	if err := w.w.Reload(configOf(t, s, other.url)); err != nil {
		t.Fatal(err)
	}
	if status, text := whole(t, post(t.Context(), t, a.url+chatPath, ask)); status != http.StatusOK || !strings.Contains(text, "new") {
		t.Errorf("after the change: %d %s", status, text)
	}
	if n := w.w.Former(); n != 1 {
		t.Errorf("%d former configurations in use", n)
	}
	stopped := post(t.Context(), t, b.url+"/weir/streams/"+resp.Header.Get("Weir-Stream")+"/stop", "")
	defer stopped.Body.Close()
	if stopped.StatusCode >= http.StatusBadRequest {
		t.Errorf("stop: %s", stopped.Status)
	}
	<-old.gone
	if end, err := io.ReadAll(rest); err != nil || !strings.Contains(string(end), "stopped") {
		t.Errorf("the end: %q, %v", end, err)
	}
	await(t, func() bool { return w.w.Former() == 0 })
}
