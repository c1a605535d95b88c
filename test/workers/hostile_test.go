package workers

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// What somebody else puts into the queue reaches no service that the worker's
// own configuration does not name, and leaves the queue.
func TestForeignJobs(t *testing.T) {
	up := scripted(t, func(_ int, w http.ResponseWriter, _ *http.Request) { say(w, chat("one")+chatEnd) })
	s := newSite(t, strings.Replace(plain, `"/*"`, `"/v1/*"`, 1), up.url)
	e := s.edge()
	w := s.worker()
	principal := strings.Repeat("0", 64)
	forged := func(path string) string {
		return `{"request_id":"12345678","principal":"` + principal + `","method":"POST","path":"` + path + `","body":"` +
			base64.StdEncoding.EncodeToString([]byte("x")) + `"}`
	}
	for i, data := range []string{
		"no json",
		`{"request_id":"12345678","principal":"` + principal + `","method":"POST","path":"/other"}`,
		`{"request_id":"12345678","principal":"` + principal + `","method":"POST","path":"http://127.0.0.1:1/v1/x"}`,
		`{"request_id":"12345678","principal":"` + principal + `","method":"PO ST","path":"/v1/x"}`,
		`{"request_id":"12345678","principal":"00","method":"POST","path":"/v1/x"}`,
		`{"request_id":"a\r\nb12345678","principal":"` + principal + `","method":"POST","path":"/v1/x"}`,
		forged("/v1/../../x"),
		forged("/v1/%2e%2e/x"),
		forged("/v1/.%2E/%2e./x"),
		forged("/v1/./x"),
		forged("/v1/..%2fx"),
	} {
		s.redis.Do(fmt.Sprintf("HSET weir:{foreign%d}:m o somebody h {}", i))
		s.redis.Do("SET weir:i:somebody 1")
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(data)
		s.redis.Do(fmt.Sprintf(`XADD weir:{jobs} * s foreign%d f somebody d "%s"`, i, quoted))
	}
	s.redis.Do(`XADD weir:{jobs} * s "../x y" f somebody d x`)
	s.redis.Do(`XADD weir:{jobs} * nothing at-all`)
	await(t, func() bool { return strings.HasPrefix(s.redis.Do("XLEN weir:{jobs}"), ":0") })
	if n := up.called(); n > 0 {
		t.Errorf("the service was asked %d times", n)
	}
	if !strings.Contains(w.logs.String(), "bad_job") {
		t.Errorf("%s", w.logs)
	}
	if status, body := whole(t, post(t.Context(), t, e.url+"/v1/chat/completions", ask)); status != 200 || body != chat("one")+chatEnd {
		t.Errorf("%d %s", status, body)
	}
}

// A key is in Redis only where the service is to see it.
func TestKeysInRedis(t *testing.T) {
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		say(w, chat(r.Header.Get("Authorization"))+chatEnd)
	})
	t.Setenv("WEIR_TEST_KEY", "sk-of-the-service")
	for _, c := range []struct{ upstream, said string }{
		{`{urls: ["%s"]}`, "Bearer sk-of-the-caller"},
		{`{urls: ["%s"], key_env: WEIR_TEST_KEY}`, "Bearer sk-of-the-service"},
	} {
		s := newSite(t, strings.Replace(plain, `{urls: ["%s"]}`, c.upstream, 1), up.url)
		e := s.edge()
		done := make(chan string, 1)
		go func() {
			resp, err := tryPost(t.Context(), e.url+chatPath, ask, "Authorization", "Bearer sk-of-the-caller", "Cookie", "secret=1")
			if err != nil {
				done <- err.Error()
				return
			}
			_, body := whole(t, resp)
			done <- body
		}()
		var queued string
		await(t, func() bool {
			queued = s.redis.Do("XRANGE weir:{jobs} - +")
			return strings.Contains(queued, "principal")
		})
		if strings.Contains(queued, "sk-of-the-service") || strings.Contains(queued, "secret=1") ||
			strings.Contains(queued, "sk-of-the-caller") != strings.Contains(c.said, "caller") {
			t.Errorf("%s", queued)
		}
		s.worker()
		if body := <-done; body != chat(c.said)+chatEnd {
			t.Errorf("%s", body)
		}
	}
}

// A Redis that lost its content: the stream that runs is written anew, and new
// requests find a new queue.
func TestFlushed(t *testing.T) {
	more := make(chan struct{})
	up := scripted(t, func(call int, w http.ResponseWriter, r *http.Request) {
		say(w, chat("one"))
		if call == 1 {
			<-more
		}
		say(w, chatEnd)
	})
	s := newSite(t, plain, up.url)
	e := s.edge()
	s.worker()
	resp := post(t.Context(), t, e.url+chatPath, ask)
	s.redis.Do("FLUSHALL")
	await(t, func() bool {
		_, body := whole(t, post(t.Context(), t, e.url+chatPath, ask))
		return body == chat("one")+chatEnd
	})
	close(more)
	if _, body := whole(t, resp); body != chat("one")+chatEnd {
		t.Errorf("%s", body)
	}
}
