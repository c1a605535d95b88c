package gateway

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/relay/redis/redistest"
)

// mocked asks for a stream of the mock's.
func mocked(t *testing.T, url, settings string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions",
		strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Weir-Mock", settings)
	return answered(t, req)
}

func answered(t *testing.T, req *http.Request) *http.Response {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func got(t *testing.T, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return answered(t, req)
}

// keysOf are a stream's keys in Redis.
func keysOf(redis *redistest.Server, id string) []string {
	return regexp.MustCompile(`\S*`+id+`\S*`).FindAllString(redis.Do("KEYS *"+id+"*"), -1)
}

// number is what Redis answers to a command.
func number(t *testing.T, redis *redistest.Server, command string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.Trim(redis.Do(command), ":\r\n"))
	if err != nil {
		return -1 // another type of key
	}
	return n
}

// What relay says of Redis is what the program does: how long a stream is kept
// there, how many of its events, and how long a reader bears that Redis is away,
// which a gauge and a log line tell, and which stops no stream.
func TestRelayAsConfigured(t *testing.T) {
	t.Parallel()
	const ttl, most, outage = 100 * time.Second, 50, time.Second
	redis, m := redistest.Start(t), upstream(t)
	config := fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
upstreams: {main: {urls: [%q]}}
routes: [{path: "/v1/*", upstream: main, resume: {enabled: true}}]
relay: {redis: %q, ttl: %s, max_len: %d, outage: %s}
log: {dir: "", store: ""}
`, m.URL(), redis.URL(), ttl, most, outage)
	one, other := serve(t, config, nil), serve(t, config, nil)
	admin := one.admin(t)
	up := func(want string) {
		t.Helper()
		eventually(t, "weir_relay_up is "+want, func() bool {
			b, err := io.ReadAll(got(t, admin+"/metrics").Body)
			return err == nil && strings.Contains(string(b), "\nweir_relay_up "+want+"\n")
		})
	}
	up("1")

	resp := mocked(t, one.url, "ttft=1ms,gap=0s,n=300")
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.Header.Get("Weir-Resumable") != "true" {
		t.Fatalf("%v %v", err, resp.Header)
	}
	id := resp.Header.Get("Weir-Stream")
	eventually(t, "the stream is in Redis with its end", func() bool {
		keys := keysOf(redis, id)
		for _, key := range keys {
			if left := number(t, redis, "PTTL "+key); left <= int((ttl-patience).Milliseconds()) || left > int(ttl.Milliseconds()) {
				return false
			}
		}
		return len(keys) > 0
	})
	lens := 0
	for _, key := range keysOf(redis, id) {
		if n := number(t, redis, "XLEN "+key); n >= 0 {
			lens++
			if n == 0 || n > most+1 { // the end is an entry of its own
				t.Errorf("Redis has %d entries of a stream of 300 events; max_len is %d", n, most)
			}
		}
	}
	if lens != 1 {
		t.Errorf("%d logs in %q", lens, keysOf(redis, id))
	}

	long := mocked(t, one.url, "ttft=1ms,gap=20ms,n=1500")
	reader := got(t, other.url+"/weir/streams/"+long.Header.Get("Weir-Stream"))
	if _, err := io.ReadFull(reader.Body, make([]byte, 100)); err != nil || reader.StatusCode != http.StatusOK {
		t.Fatalf("elsewhere: %d %v", reader.StatusCode, err)
	}
	killed := time.Now()
	redis.Kill()
	b, _ := io.ReadAll(reader.Body)
	if took := time.Since(killed); took < outage/2 || took > outage+7*time.Second {
		t.Errorf("a reader elsewhere bore it for %s, relay.outage is %s: %.300q", took, outage, b[max(0, len(b)-300):])
	}
	up("0")
	if during := mocked(t, one.url, "ttft=1ms,gap=0s,n=3"); during.Header.Get("Weir-Resumable") != "false" {
		t.Errorf("while Redis is away: %v", during.Header)
	} else if b, err := io.ReadAll(during.Body); err != nil || !strings.HasSuffix(string(b), "data: [DONE]\n\n") {
		t.Errorf("while Redis is away: %v %s", err, b)
	}
	if _, err := io.ReadFull(long.Body, make([]byte, 1000)); err != nil {
		t.Errorf("the stream did not go on: %v", err)
	}
	_ = long.Body.Close()
	redis.Run()
	up("1")
	if log := one.stderr.String(); !strings.Contains(log, "redis") {
		t.Errorf("the log does not tell:\n%s", log)
	}
}
