package http1

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/stream"
)

// ticker is a server that sends one event per tick, and the connection to it.
func ticker(t testing.TB) (c *Conn, tick chan struct{}) {
	t.Helper()
	tick = make(chan struct{})
	u := raw(t, func(c net.Conn) {
		_, _ = io.WriteString(c, chunkedHead)
		piece := []byte(asChunk("data: x\n\n"))
		for range tick {
			_, _ = c.Write(piece)
		}
	})
	target, _ := url.Parse(u)
	d := NewDialer(DialerOptions{})
	var ph stream.Phases
	s, err := d.Connect(context.Background(), HostPort(target), &ph)
	if err != nil {
		t.Fatal(err)
	}
	c = NewConn(s, nil, 1<<20)
	t.Cleanup(func() {
		close(tick)
		c.Close()
		d.Close()
	})
	req, _ := http.NewRequest(http.MethodGet, u, nil)
	w := &Window{T0: time.Now(), Deadline: time.Now().Add(time.Minute), Phases: &ph}
	if _, err := c.Send(req, w); err != nil {
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
		if _, err := c.Next(); err != nil {
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
		if _, err := c.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// Bytes of a chunk's head had to be waited for; that its data was then there
// at once does not make it part of the arrival before.
func TestWaitedIsKeptOverReadsWithoutBody(t *testing.T) {
	c := &Conn{s: &Sock{}, frame: framing{mode: byChunks}}
	for i, step := range []struct {
		in     string
		waited bool // of the read
		body   string
		want   bool // of what arrived
	}{
		{"5\r\nhello\r\n", true, "hello", true},
		{"5\r\n", true, "", true},
		{"again\r\n", false, "again", true},
		{"1\r\nx\r\n", false, "x", false},
	} {
		c.s.last = Stamp{App: time.Now(), Waited: step.waited}
		c.waited = c.waited || step.waited
		a, err := c.unframe([]byte(step.in), nil)
		if err != nil || string(a.Data) != step.body || a.Waited != step.want {
			t.Errorf("step %d: %q waited %t, %v", i, a.Data, a.Waited, err)
		}
		if a.Since.Known() == step.waited {
			t.Errorf("step %d: since %v", i, a.Since)
		}
	}
}

func TestDialReasons(t *testing.T) {
	for _, k := range []struct {
		err  error
		want string
	}{
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host"}}, "dns"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "refused"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}, "no_local_port"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}, "unreachable"},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, "unreachable"},
	} {
		if got := dialReason(k.err); got != k.want {
			t.Errorf("%v: %s, want %s", k.err, got, k.want)
		}
	}
}

func TestJudge(t *testing.T) {
	t0 := time.Now()
	at := func(d time.Duration) (time.Time, int64) { a := t0.Add(d); return a, a.UnixNano() - 1000 }
	good := NewJudge(t0)
	for _, d := range []int{1, 2, 2, 9} {
		good.See(at(time.Duration(d) * time.Millisecond))
	}
	if good.Why() != "" {
		t.Errorf("good stamps refused: %s", good.why)
	}
	for name, bad := range map[string]func(*Judge){
		"without":   func(j *Judge) { j.See(t0.Add(time.Second), 0) },
		"after":     func(j *Judge) { a, k := at(time.Second); j.See(a, k+5000) },
		"backwards": func(j *Judge) { j.See(at(2 * time.Second)); j.See(at(time.Second)) },
		"stepped":   func(j *Judge) { j.wall += int64(2 * time.Millisecond); j.See(at(time.Second)) },
	} {
		j := NewJudge(t0)
		j.See(at(time.Millisecond))
		if bad(&j); !strings.Contains(j.why, name) {
			t.Errorf("%s: why %q", name, j.why)
		}
	}
}
