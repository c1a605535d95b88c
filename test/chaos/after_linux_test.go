package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// left is what a run leaves behind that it should not.
func (w *world) left() (list []string) {
	for _, p := range w.ours() {
		if !await(patience, p.ready) {
			list = append(list, p.name+" does not get ready again")
		}
	}
	if said := w.running(); said != "" {
		list = append(list, said)
	}
	list = append(list, w.inRedis()...)
	w.service.kill() // so that nobody holds connections to it
	for _, p := range w.ours() {
		var v vitals
		fine := await(patience, func() bool {
			var ok bool
			v, ok = p.vitals()
			return ok && v.goroutines <= p.base.goroutines+spare && v.descriptors <= p.base.descriptors+spare
		})
		if !fine {
			list = append(list, fmt.Sprintf("%s has %d goroutines and %d descriptors, %d and %d at its begin",
				p.name, v.goroutines, v.descriptors, p.base.goroutines, p.base.descriptors))
		}
	}
	return list
}

// spare is what a process may hold more than at its begin: connections to Redis
// that its pool keeps, of each a few goroutines.
const spare = 40

// running waits until the service answers nobody any more.
func (w *world) running() string {
	var stats struct{ Active, Started int }
	if await(patience, func() bool {
		body, _ := fetch(w.serviceURL("/mock/stats"))
		stats.Active = -1
		return json.Unmarshal([]byte(body), &stats) == nil && stats.Active == 0
	}) {
		return ""
	}
	return fmt.Sprintf("the service still answers %d requests", stats.Active)
}

// inRedis waits until every key expires by itself and no request waits or is
// anybody's.
func (w *world) inRedis() (list []string) {
	c := goredis.NewClient(&goredis.Options{Addr: w.redis.Addr()})
	defer c.Close()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if await(patience, func() bool { list = keysOf(ctx, c); return len(list) == 0 }) {
		return nil
	}
	return list
}

// forGood are the keys that may stay: the queue itself.
var forGood = []string{"weir:{jobs}", "weir:{jobs}:era"}

func keysOf(ctx context.Context, c *goredis.Client) (list []string) {
	for it := c.Scan(ctx, 0, "*", 1000).Iterator(); it.Next(ctx); {
		if ttl, err := c.TTL(ctx, it.Val()).Result(); err != nil || ttl == -1 && !slices.Contains(forGood, it.Val()) {
			list = append(list, fmt.Sprintf("the key %s stays for ever (%v)", it.Val(), err))
		}
	}
	n, err := c.XLen(ctx, "weir:{jobs}").Result()
	if err != nil || n > 0 {
		list = append(list, fmt.Sprintf("%d requests are in the queue (%v)", n, err))
	}
	p, err := c.XPending(ctx, "weir:{jobs}", "workers").Result()
	if err == nil && p.Count > 0 {
		list = append(list, fmt.Sprintf("%d requests are somebody's", p.Count))
	}
	return list
}

// asked are the moments at which the service was asked for each stream.
func (w *world) asked() (map[string][]time.Time, error) {
	b, err := os.ReadFile(w.truth)
	if err != nil {
		return nil, err
	}
	all := map[string][]time.Time{}
	for in := bufio.NewScanner(bytes.NewReader(b)); in.Scan(); {
		var line struct {
			RequestID string `json:"request_id"`
			Seq       int    `json:"event_seq"`
			Before    int64  `json:"before_unix_ns"`
		}
		if json.Unmarshal(in.Bytes(), &line) == nil && line.Seq == 1 {
			all[line.RequestID] = append(all[line.RequestID], time.Unix(0, line.Before).Add(-firstWait))
		}
	}
	return all, nil
}

// again are the streams for which the service was asked once more when their
// client had something of the answer already.
func again(all []*got, asked map[string][]time.Time) (list []string) {
	for _, g := range all {
		for _, at := range asked[g.id] {
			if !g.first.IsZero() && at.After(g.first.Add(20*time.Millisecond)) {
				list = append(list, fmt.Sprintf("%s: asked again %s after its client had the first event", g.id, at.Sub(g.first).Round(time.Millisecond)))
			}
		}
	}
	return list
}

// reasons are counts by what was said, most frequent first.
func reasons(counts map[string]int) string {
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s ×%d", name, counts[name])
	}
	return strings.Join(names, ", ")
}
