package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// flood is the load of saturation: the streams' events come as fast as service,
// relay and client can.
type flood struct {
	streams int
	events  int // of each stream
	repeats int // streams one after the other, by each reader
}

// saturating is GATEWAY's: 16 × 5,000 without an interval, six times, so that
// it takes seconds.
var saturating = flood{streams: 16, events: 5000, repeats: 6}

// surge is what came of a flood over one way in one round.
type surge struct {
	events int // read
	lost   int // that should have been read besides
	cut    int // streams without their end
	reads  int // of the client's sockets that brought something
	took   time.Duration
	cpu    time.Duration // of the relay
	known  bool          // cpu is
	// of the service and of this program, which is the client
	service, client time.Duration
}

func (s surge) perSecond() (float64, bool) {
	return float64(s.events) / s.took.Seconds(), s.took > 0 && s.events > 0
}

func (s surge) cpuPerEvent() (us float64, ok bool) {
	return s.perEvent(s.cpu), s.known && s.events > 0
}

func (s surge) serviceCPU() (us float64, ok bool) {
	return s.perEvent(s.service), s.service > 0 && s.events > 0
}

func (s surge) clientCPU() (us float64, ok bool) {
	return s.perEvent(s.client), s.client > 0 && s.events > 0
}

func (s surge) perEvent(d time.Duration) (us float64) {
	return float64(d.Microseconds()) / float64(max(1, s.events))
}

func (s surge) eventsPerRead() (float64, bool) {
	return float64(s.events) / float64(max(1, s.reads)), s.reads > 0
}

// saturation are the rounds of one way under a flood.
type saturation struct {
	way    string
	rounds []surge
}

func (s *saturation) figure(of func(surge) (float64, bool)) (float64, bool) {
	return medianOf(s.rounds, of)
}

func (s *saturation) broken() (lost, cut int) {
	for _, r := range s.rounds {
		lost, cut = lost+r.lost, cut+r.cut
	}
	return lost, cut
}

// floods floods some ways in turn, the rounds outermost; what says which flood
// it is.
func floods(ctx context.Context, weir, what string, f flood, through []way, rounds int) ([]*saturation, error) {
	all := make([]*saturation, len(through))
	for i, w := range through {
		all[i] = &saturation{way: w.name}
	}
	for round := range rounds {
		for i, w := range through {
			fmt.Fprintf(os.Stderr, "relays: %s, round %d of %d: %s\n", what, round+1, rounds, w.name)
			s, err := w.flooded(ctx, weir, f)
			if out, err := leftOut(ctx, w, err); err != nil {
				return nil, err
			} else if !out {
				all[i].rounds = append(all[i].rounds, s)
			}
		}
	}
	return all, nil
}

// saturations floods every way.
func saturations(ctx context.Context, weir string, f flood, rounds int) ([]*saturation, error) {
	return floods(ctx, weir, "saturation", f, ways, rounds)
}

// flooded starts a mock and a relay of its own, and reads the flood.
func (w way) flooded(ctx context.Context, weir string, f flood) (s surge, err error) {
	b, err := w.made(ctx, weir)
	defer func() { err = errors.Join(err, b.clear()) }()
	if err != nil {
		return s, err
	}
	want, whole, err := f.read(ctx, http.DefaultClient, b.mock.url)
	if err != nil || !whole {
		return s, fmt.Errorf("the mock itself sends no whole stream: %w", cmp.Or(err, io.ErrUnexpectedEOF))
	}
	before, _ := b.relay.cpu()
	service, _ := b.mock.cpu()
	client, _ := cpuOf("self")
	s = f.run(ctx, b.url, want)
	after, known := b.relay.cpu()
	s.cpu, s.known = after-before, known
	s.service, s.client = spent(b.mock.cpu, service), spent(func() (time.Duration, bool) { return cpuOf("self") }, client)
	return s, ctx.Err()
}

// run reads all streams; each has to bring want events.
func (f flood) run(ctx context.Context, url string, want int) (s surge) {
	var mu sync.Mutex
	var readers sync.WaitGroup
	var reads atomic.Int64
	client := counting(&reads)
	defer client.CloseIdleConnections()
	start := time.Now()
	for range f.streams {
		readers.Go(func() {
			for range f.repeats {
				n, whole, _ := f.read(ctx, client, url) // an error is a stream that is not whole
				mu.Lock()
				s.events, s.lost = s.events+n, s.lost+max(0, want-n)
				if !whole {
					s.cut++
				}
				mu.Unlock()
			}
		})
	}
	readers.Wait()
	s.took, s.reads = time.Since(start), int(reads.Load())
	return s
}

// counting is a client that counts what its sockets' reads brought: at
// saturation the price of an event is that of a wake-up shared by those that
// come in one read.
func counting(reads *atomic.Int64) *http.Client {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, network, addr)
		return countedConn{c, reads}, err
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 1000, DisableCompression: true}}
}

type countedConn struct {
	net.Conn
	reads *atomic.Int64
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.reads.Add(1)
	}
	return n, err
}

var dataField, doneData = []byte("data:"), []byte("[DONE]")

// read counts the events of one stream, by their data lines: a client that did
// more would be what is measured.
func (f flood) read(ctx context.Context, client *http.Client, url string) (events int, whole bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions",
		strings.NewReader(`{"model":"mock","stream":true,"messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		return 0, false, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Weir-Mock", fmt.Sprintf("ttft=1ms&gap=0s&n=%d", f.events))
	resp, err := client.Do(r)
	if err != nil {
		return 0, false, err
	}
	defer resp.Body.Close()
	lines := bufio.NewReaderSize(resp.Body, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if data, ok := bytes.CutPrefix(line, dataField); ok {
			events++
			whole = bytes.Equal(bytes.TrimSpace(data), doneData)
		}
		switch {
		case errors.Is(err, io.EOF):
			return events, whole, nil
		case err != nil:
			return events, false, err
		}
	}
}
