//go:build unix

package mock

import (
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
)

// BenchmarkServe states what one event costs in CPU time, the reader's recv
// included: 200 streams at once, 50 events a second each. The time per
// operation only says how long the streams were.
func BenchmarkServe(b *testing.B) {
	var truth safeBuffer
	s, err := Start(Options{Truth: &truth})
	if err != nil {
		b.Fatal(err)
	}
	const streams = 200
	n := max(1, b.N/streams)
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() {
			conn, err := net.Dial("tcp", s.Addr().String())
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			_, err = fmt.Fprintf(conn, "POST %s?ttft=uniform:0s:20ms&seed=%d&n=%d HTTP/1.1\r\nHost: m\r\nConnection: close\r\nContent-Length: 15\r\n\r\n{\"stream\":true}", chat, i, n)
			if err != nil {
				b.Error(err)
			}
			if _, err := io.Copy(io.Discard, conn); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(spent)/1e3/float64(streams*(n+3)), "cpu-µs/event")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
