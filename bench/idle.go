package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// idle is what a relay holds for streams that say nothing.
type idle struct {
	way     string
	streams int   // that came to be
	bytes   int64 // resident memory that they made, all together
}

func (i idle) perStream() (kb float64, ok bool) {
	return float64(i.bytes) / 1000 / float64(max(1, i.streams)), i.streams > 0
}

// idles measures every relay once, with n streams that wait at once after their
// first event: memory depends little on chance.
func idles(ctx context.Context, weir string, n int) (all []idle, err error) {
	for _, w := range ways {
		if w.start == nil {
			continue
		}
		fmt.Fprintf(os.Stderr, "relays: %d idle streams: %s\n", n, w.name)
		i, err := w.idle(ctx, weir, n)
		if out, err := leftOut(ctx, w, err); err != nil {
			return nil, err
		} else if !out {
			all = append(all, i)
		}
	}
	return all, nil
}

func (w way) idle(ctx context.Context, weir string, n int) (i idle, err error) {
	b, err := w.made(ctx, weir)
	defer func() { err = errors.Join(err, b.clear()) }()
	if err != nil {
		return i, err
	}
	before := b.relay.resident()
	plan := fmt.Sprintf(`target: {url: "%s/v1/chat/completions", dialect: openai.chat, model: mock}
load: [{name: all, arrivals: constant, rate: 1000/s, duration: %dms}]
scenarios: [{name: idle, request: {prompt: hello, header: {x-weir-mock: "ttft=1ms&n=2&hang_after=1"}}}]
`, b.url, n)
	file := filepath.Join(b.dir, "plan.yaml")
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		return i, err
	}
	client := exec.CommandContext(ctx, weir, "bench", file, "-o", filepath.Join(b.dir, "run"), "--db", "", "--json", "--quiet")
	if err := client.Start(); err != nil {
		return i, err
	}
	defer func() {
		_ = client.Process.Kill() // its figures are of no matter here
		_ = client.Wait()
	}()
	i = idle{way: w.name, streams: settled(ctx, b.mock.url)}
	i.bytes = b.relay.resident() - before
	return i, ctx.Err()
}

// settled waits until all streams wait at the service, or no more come, and
// says how many do.
func settled(ctx context.Context, mock string) (streams int) {
	for range 60 {
		time.Sleep(time.Second)
		now := active(ctx, mock)
		if now > 0 && now == streams || ctx.Err() != nil {
			return now
		}
		streams = now
	}
	return streams
}

// active is how many streams the mock has; 0 where it does not say.
func active(ctx context.Context, mock string) int {
	var s struct {
		Active int `json:"active"`
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, mock+"/mock/stats", nil)
	if err != nil {
		return 0
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if json.NewDecoder(resp.Body).Decode(&s) != nil {
		return 0
	}
	return s.Active
}

// resident is the relay's memory in bytes; 0 where there is no /proc.
func (p *process) resident() (bytes int64) {
	for _, part := range p.parts {
		bytes += part.resident()
	}
	f := strings.Fields(after(read(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)), "VmRSS:"))
	if len(f) == 0 {
		return 0
	}
	kib, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return 0
	}
	return bytes + kib<<10
}
