package probe

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"weir/stream"
)

// ticker is a server that sends one event per tick, and the connection to it.
func ticker(t testing.TB) (c *http1, tick chan struct{}) {
	t.Helper()
	tick = make(chan struct{})
	u := raw(t, func(c net.Conn) {
		io.WriteString(c, chunkedHead)
		piece := []byte(asChunk(chunk("x")))
		for range tick {
			c.Write(piece)
		}
	})
	target, _ := url.Parse(u)
	d := newDialer(Options{}.withDefaults())
	var ph stream.Phases
	c, err := dialHTTP1(context.Background(), d, target, &ph)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		close(tick)
		c.close()
		if d.awake != nil {
			_ = d.awake()
		}
	})
	req, _ := http.NewRequest(http.MethodGet, u, nil)
	w := &window{t0: time.Now(), deadline: time.Now().Add(time.Minute), phases: &ph}
	if _, err := c.send(context.Background(), req, w); err != nil {
		t.Fatal(err)
	}
	return c, tick
}

// A read allocates nothing, waits or not, and holds no buffer while it waits.
func TestReadsAllocateNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the recvmsg reader is Linux's")
	}
	c, tick := ticker(t)
	var fault error
	allocs := testing.AllocsPerRun(200, func() {
		tick <- struct{}{}
		if _, err := c.next(); err != nil {
			fault = err
		}
	})
	if fault != nil || allocs >= 1 && !raceDetector {
		t.Errorf("%v allocations a read, error %v", allocs, fault)
	}
}

// BenchmarkRead is one event from the server's write to its body bytes: the
// hand-over through loopback is most of it.
func BenchmarkRead(b *testing.B) {
	c, tick := ticker(b)
	b.ReportAllocs()
	for b.Loop() {
		tick <- struct{}{}
		if _, err := c.next(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestPoolForgetsOldAndDeadConnections(t *testing.T) {
	s := serve(t, speaker(1, 0))
	c := client(t, Options{})
	ask(t, c, s.URL)
	u, _ := url.Parse(s.URL)
	key := poolKey(u)
	if n := len(c.pool.idle[key]); n != 1 {
		t.Fatalf("%d idle connections, want 1", n)
	}
	c.pool.idle[key][0].since = time.Now().Add(-2 * maxIdle)
	if got := c.pool.get(key); got != nil {
		t.Error("a connection idle for too long was lent")
	}
}

func TestLookupIsAPhase(t *testing.T) {
	s := serve(t, speaker(1, 0))
	r := ask(t, client(t, Options{}), strings.Replace(s.URL, "127.0.0.1", "localhost", 1))
	wantOutcome(t, r, stream.Complete, "")
	if !r.Phases.DNS.Known() || !r.Phases.Connect.Known() {
		t.Errorf("phases %+v", r.Phases)
	}
}
