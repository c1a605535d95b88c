package probe

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"weir/dialect"
	"weir/stream"
)

// Many streams at once keep apart, and their connections are used again.
func TestConcurrentStreams(t *testing.T) {
	carriers(t, speaker(5, time.Millisecond), func(t *testing.T, c *Client, url, _ string, best stream.Stamp) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		conns := map[string]int{}
		for range 20 {
			wg.Go(func() {
				for range 4 {
					records, err := c.Do(context.Background(), dialect.Ask{URL: url + "/v1/chat/completions"}, Meta{})
					if err != nil {
						t.Error(err)
						return
					}
					r := records[0]
					if r.Outcome != stream.Complete || count(r, stream.KindText) != 5 {
						t.Errorf("outcome %s %s, %d text events", r.Outcome, r.Detail, count(r, stream.KindText))
					}
					mu.Lock()
					conns[r.Conn]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if conns["cold"] > 20 || conns["cold"]+conns["warm"] != 80 {
			t.Errorf("connections %v, want at most 20 cold of 80", conns)
		}
	})
}

// A cancel is heard whenever it comes: while dialing, before the request is
// written, before the head, or never too late to hang.
func TestCancelAtAnyMoment(t *testing.T) {
	for _, proto := range []string{"1.1", "h2c"} {
		carrierTest(t, proto, func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, func(c *Client, url string) {
			for i := range 60 {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(time.Duration(i)*20*time.Microsecond, cancel)
				start := time.Now()
				records, err := c.Do(ctx, dialect.Ask{URL: url + "/v1/chat/completions"}, Meta{})
				if err != nil {
					t.Fatal(err)
				}
				wantOutcome(t, records[0], stream.Cancelled, "")
				if took := time.Since(start); took > 10*time.Second {
					t.Fatalf("cancelled after %v", took)
				}
			}
		})
	}
}
