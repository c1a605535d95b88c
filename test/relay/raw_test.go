package relay

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// What upstream serves: 60 events of about 154 bytes, one each 20 ms.
const (
	events     = 60
	eventBytes = 154
)

func upstream(t *testing.T) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range events {
			fmt.Fprintf(w, "data: {\"i\":%2d,\"pad\":%q}\n\n", i, strings.Repeat("x", eventBytes-25))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// arrival is what reads within 2 ms brought.
type arrival struct {
	at    time.Duration // since the request
	bytes int
}

// watch reads url's body to its end as a plain client that accepts gzip.
func watch(t *testing.T, url string) []arrival {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	req.Header.Set("Accept-Encoding", "gzip") // by hand, so that the transport leaves the body as it is
	start := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer resp.Body.Close()
	var got []arrival
	buf := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buf)
		at := time.Since(start)
		if k := len(got) - 1; k >= 0 && at-got[k].at < 2*time.Millisecond {
			got[k].bytes += n
		} else if n > 0 {
			got = append(got, arrival{at, n})
		}
		if err != nil {
			return got
		}
	}
}

// TestRelaysHold checks the relays themselves, so that a diagnosis that misses
// one can be told from a relay that did not hold anything back.
func TestRelaysHold(t *testing.T) {
	up := upstream(t)
	whole := events * eventBytes
	cases := []struct {
		name, url string
		least     int // arrivals
		most      int
	}{
		{"direct", up, events * 4 / 5, events},
		{"nginx, unbuffered", Nginx(t, up, NginxUnbuffered), events * 4 / 5, events},
		{"haproxy, no delay", HAProxy(t, up, HAProxyNoDelay), events * 4 / 5, events},
		{"nginx, default", Nginx(t, up, NginxDefault), 2, whole/4000 + 1},
		{"nginx, gzip", Nginx(t, up, NginxGzip), 1, 2},
		{"haproxy, default", HAProxy(t, up, HAProxyDefault), 3, 10},
		{"3000 bytes", BySize(t, up, 3000), 3, whole/3000 + 1},
		{"130 ms", ByTime(t, up, 130*time.Millisecond), 5, 14},
	}
	got := make([][]arrival, len(cases))
	var wg sync.WaitGroup
	for i, c := range cases {
		wg.Go(func() { got[i] = watch(t, c.url) })
	}
	wg.Wait()
	for i, c := range cases {
		if n := len(got[i]); n < c.least || n > c.most {
			t.Errorf("%s: %d arrivals, want %d to %d: %v", c.name, n, c.least, c.most, got[i])
		}
	}
}
