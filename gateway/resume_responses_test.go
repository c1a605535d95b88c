package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/relay/redis/redistest"
)

// Whether an answer is kept here cannot be told while Redis is away: the service
// is not asked instead, which knows nothing of a stream that runs.
func TestResponsesWhileRedisIsAway(t *testing.T) {
	s := redistest.Start(t)
	m := startMock(t, "ttft=2ms,gap=0ms,n=5")
	asked := make(chan string, 1000)
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.Path
		w.WriteHeader(http.StatusTeapot)
	})
	a, far := startShared(t, s, resuming, m.URL())
	b, other := startShared(t, s, resuming, up)
	body := text(t, post(t, a.url+"/v1/responses", askResponses))
	at := "/v1/responses/" + responseID([]byte(body)) + "?stream=true&starting_after=1"
	want := strings.Join(blocks(body)[2:], "")
	if got := text(t, soonUp(t, b.url+at)); got != want {
		t.Fatalf("while Redis is there: %q, want %q", got, want)
	}
	for len(asked) > 0 {
		<-asked // before the copy was there
	}
	s.Kill()
	for end := time.Now().Add(30 * time.Second); far.Up() || other.Up(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody noticed")
		}
	}
	for _, path := range []string{at, "/v1/responses/resp_unknown?stream=true", "/v1/responses/resp_unknown?starting_after=7"} {
		r := get(t, b.url+path)
		if said := text(t, r); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || !strings.Contains(said, reasonDown) {
			t.Errorf("%s: %d %v %s", path, r.StatusCode, r.Header, said)
		}
	}
	if got := text(t, get(t, a.url+at)); got != want { // its own memory has it
		t.Errorf("where it was made: %q, want %q", got, want)
	}
	if len(asked) > 0 {
		t.Errorf("the service was asked: %s", <-asked)
	}
	if r := get(t, fmt.Sprint(b.url, "/v1/responses/resp_unknown")); r.StatusCode != http.StatusTeapot {
		t.Errorf("a request for no stream is not asked of the service: %d", r.StatusCode)
	}
}
