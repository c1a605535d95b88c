package probe

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/dialect"
	"weir/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chunk is one event of OpenAI's chat stream.
func chunk(text string) string {
	return fmt.Sprintf(`data: {"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`+"\n\n", text)
}

const (
	finish = `data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	done   = "data: [DONE]\n\n"
)

// speak writes n events, one flush each, gap apart, and ends the answer.
func speak(w http.ResponseWriter, n int, gap time.Duration) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range n {
		fmt.Fprint(w, chunk(fmt.Sprintf("w%d ", i)))
		w.(http.Flusher).Flush()
		time.Sleep(gap)
	}
	fmt.Fprint(w, finish+done)
}

func speaker(n int, gap time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { speak(w, n, gap) }
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// ask makes one request to the chat path of base and wants one record.
func ask(t *testing.T, c *Client, base string) *stream.Record {
	t.Helper()
	return askAs(t, c, dialect.Ask{URL: base + "/v1/chat/completions"})
}

func askAs(t *testing.T, c *Client, a dialect.Ask) *stream.Record {
	t.Helper()
	records, err := c.Do(context.Background(), a, Meta{})
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 1 {
		t.Fatalf("%d records, want 1", len(records))
	}
	return records[0]
}

func wantOutcome(t *testing.T, r *stream.Record, o stream.Outcome, reason string) {
	t.Helper()
	if r.Outcome != o || r.Reason != reason {
		t.Fatalf("outcome %q reason %q (%s), want %q %q", r.Outcome, r.Reason, r.Detail, o, reason)
	}
}

func count(r *stream.Record, k stream.Kind) (n int) {
	for _, e := range r.Events {
		if e.Kind == k {
			n++
		}
	}
	return n
}
