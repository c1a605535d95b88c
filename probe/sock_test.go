package probe

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"testing"
	"time"

	"weir/stream"
)

// A read allocates nothing, waits or not, and holds no buffer while it waits.
func TestReadsAllocateNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the recvmsg reader is Linux's")
	}
	tick := make(chan struct{})
	u := raw(t, func(c net.Conn) {
		io.WriteString(c, chunkedHead)
		piece := []byte(asChunk(chunk("x")))
		for range tick {
			c.Write(piece)
		}
	})
	target, _ := url.Parse(u)
	d := newDialer(Options{}.withDefaults())
	defer d.awake()
	var ph stream.Phases
	c, err := dialHTTP1(context.Background(), d, target, &ph)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	req, _ := http.NewRequest(http.MethodGet, u, nil)
	w := &window{t0: time.Now(), deadline: time.Now().Add(time.Minute), phases: &ph}
	if _, err := c.send(context.Background(), req, w); err != nil {
		t.Fatal(err)
	}
	var fault error
	allocs := testing.AllocsPerRun(200, func() {
		tick <- struct{}{}
		if _, err := c.next(); err != nil {
			fault = err
		}
	})
	close(tick)
	if fault != nil || allocs >= 1 && !raceDetector {
		t.Errorf("%v allocations a read, error %v", allocs, fault)
	}
}
