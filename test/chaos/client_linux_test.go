package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"weir/client"
	"weir/mock"
	"weir/wire"
)

// kind is how a client reads.
type kind string

const (
	byHTTP   kind = "http"   // package client, resumes
	bySocket kind = "socket" // the same over WebSocket
	plainly  kind = "plain"  // cannot resume
)

// wish is one stream that a client wants.
type wish struct {
	id    string // x-request-id
	kind  kind
	at    time.Duration // when it asks
	query string        // the service's behaviour
	door  int           // where it begins
	cuts  []int         // bytes after which its connections break, in turn
	full  []client.Event
}

// firstWait is the service's time before the first output.
const firstWait = 300 * time.Millisecond

// wishes draws n streams over a time.
func wishes(rng *rand.Rand, run string, n int, over time.Duration) ([]*wish, error) {
	list := make([]*wish, n)
	service, err := mock.New(mock.Options{})
	if err != nil {
		return nil, err
	}
	defer service.Close()
	for i := range list {
		v := &wish{id: fmt.Sprintf("%s-%05d", run, i), kind: byHTTP, at: time.Duration(rng.Int64N(int64(over))), door: rng.IntN(100)}
		switch c := rng.IntN(100); {
		case c < 20:
			v.kind = bySocket
		case c < 32:
			v.kind = plainly
		}
		outputs := 12 + rng.IntN(14)
		said := fmt.Sprintf("n=%d&seed=%d&tokens_per_event=3", outputs, rng.IntN(1<<30))
		if rng.IntN(20) == 0 {
			said += fmt.Sprintf("&error_after=%d", 1+rng.IntN(outputs))
		}
		v.query = fmt.Sprintf("%s&ttft=%s&gap=%dms", said, firstWait, 150+rng.IntN(150))
		for range rng.IntN(3) {
			v.cuts = append(v.cuts, 1200+rng.IntN(6000))
		}
		if v.full, err = truth(service, said); err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

const question = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`

// truth is what the service says to a behaviour, whatever its times.
func truth(m *mock.Mock, said string) ([]client.Event, error) {
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions?ttft=0s&gap=0s&"+said, strings.NewReader(question))
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, r)
	events, err := decode(w.Result().Body, func(client.Event) {})
	if err == nil && len(events) < 2 {
		err = fmt.Errorf("the service says %q to %s", w.Body.String(), said)
	}
	return events, err
}

// decode reads SSE to its end.
func decode(body io.Reader, each func(client.Event)) (events []client.Event, err error) {
	d, err := wire.New("sse", wire.Options{})
	if err != nil {
		return nil, err
	}
	buf := make([]byte, 4<<10)
	for {
		n, err := body.Read(buf)
		broken := d.Feed(buf[:n], func(f wire.Frame) {
			if f.Kind == wire.Event {
				e := client.Event{Name: string(f.Event), Data: append([]byte(nil), f.Data...)}
				events = append(events, e)
				each(e)
			}
		})
		switch {
		case broken != nil:
			return events, broken
		case errors.Is(err, io.EOF):
			return events, nil
		case err != nil:
			return events, err
		}
	}
}

// got is what a client got.
type got struct {
	*wish
	events  []client.Event
	err     error
	first   time.Time // of the first event; zero: none came
	took    time.Duration
	retries int
	breaks  []string // why, and when
	late    bool     // it had to be given up
}

// mostTime is how long a stream may take to end somehow: its own time, an
// outage, leases, and all of a client's waits.
const mostTime = 75 * time.Second

// read reads the stream as its client would.
func (v *wish) read(ctx context.Context, doors []string) *got {
	g := &got{wish: v}
	start := time.Now()
	ctx, stop := context.WithTimeoutCause(ctx, mostTime, errHung)
	defer stop()
	d := &dialer{doors: doors, at: v.door, cuts: v.cuts}
	transport := &http.Transport{DialContext: d.dial, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	defer d.closeAll()
	o := client.Options{HTTP: &http.Client{Transport: transport}, Delay: 300 * time.Millisecond, Jitter: 300 * time.Millisecond, Tries: 6,
		Silence: 4 * time.Second, Retrying: func(r client.Reconnect) {
			g.retries++
			g.breaks = append(g.breaks, fmt.Sprintf("%.1fs %s", time.Since(start).Seconds(), short(r.Err)))
		}}
	switch v.kind {
	case plainly:
		g.events, g.err = v.plain(ctx, o.HTTP, g)
	case byHTTP:
		var req *http.Request
		if req, g.err = v.request(ctx); g.err == nil {
			for e, err := range client.Do(req, o) {
				g.take(e, err)
			}
		}
	case bySocket:
		q := client.Question{Path: v.path(), Headers: map[string]string{"x-request-id": v.id}, Body: json.RawMessage(question)}
		for e, err := range client.Ask(ctx, "ws://weir.test", q, o) {
			g.take(e, err)
		}
	}
	g.took = time.Since(start)
	g.late = errors.Is(context.Cause(ctx), errHung)
	return g
}

var errHung = errors.New("the stream did not end")

func (g *got) take(e client.Event, err error) {
	if err != nil {
		g.err = err
		return
	}
	if g.first.IsZero() {
		g.first = time.Now()
	}
	g.events = append(g.events, e)
}

func (v *wish) path() string { return "/v1/chat/completions?" + v.query }

func (v *wish) request(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://weir.test"+v.path(), strings.NewReader(question))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", v.id)
	return req, nil
}

// plain reads what one connection brings.
func (v *wish) plain(ctx context.Context, c *http.Client, g *got) ([]client.Event, error) {
	req, err := v.request(ctx)
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // what could be read of it
		return nil, &client.StatusError{Status: resp.StatusCode, Body: string(b)}
	}
	return decode(resp.Body, func(client.Event) {
		if g.first.IsZero() {
			g.first = time.Now()
		}
	})
}

// dialer is a client's network: one name with several addresses, tried in turn,
// another one after each break; and connections that are cut.
type dialer struct {
	mu    sync.Mutex
	doors []string
	at    int
	cuts  []int
	open  []net.Conn
}

func (d *dialer) dial(ctx context.Context, network, _ string) (c net.Conn, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for range d.doors {
		door := d.doors[d.at%len(d.doors)]
		d.at++
		one, stop := context.WithTimeout(ctx, 3*time.Second)
		c, err = (&net.Dialer{}).DialContext(one, network, door)
		stop()
		if err != nil {
			continue
		}
		d.open = append(d.open, c)
		if len(d.cuts) == 0 {
			return c, nil
		}
		left := d.cuts[0]
		d.cuts = d.cuts[1:]
		return &fragile{Conn: c, left: left}, nil
	}
	return nil, err
}

func (d *dialer) closeAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.open {
		_ = c.Close() // it may be closed
	}
}

// fragile is a connection that breaks after some bytes: with a reset where the
// number is odd.
type fragile struct {
	net.Conn
	left int
}

var errCut = errors.New("the connection was cut")

// Read implements net.Conn.
func (f *fragile) Read(p []byte) (int, error) {
	if f.left <= 0 {
		return 0, errCut
	}
	n, err := f.Conn.Read(p[:min(len(p), f.left)])
	odd := f.left%2 == 1
	if f.left -= n; f.left > 0 || err != nil {
		return n, err
	}
	if tcp, ok := f.Conn.(*net.TCPConn); ok && odd {
		_ = tcp.SetLinger(0) // else it says goodbye, which a broken one may
	}
	_ = f.Conn.Close() // a cut cannot fail
	return n, nil
}
