package ws

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// BenchmarkIdleSockets opens b.N sockets, 8,000 at most, that say nothing, and measures what each
// holds in this process, which is the gateway's side and the client's:
//
//	go test ./test/ws -run - -bench IdleSockets -benchtime 8000x
//
// The client's side is a bare connection that read its hello and lets go of all
// but its descriptor, so that what is counted is the gateway's, nearly.
func BenchmarkIdleSockets(b *testing.B) {
	url, _ := start(b, "", "ws: {sockets: 0}\n")
	conns := make([]*websocket.Conn, 0, b.N)
	defer func() {
		for _, c := range conns {
			_ = c.CloseNow() // the benchmark is over
		}
	}()
	ours := rawConns(b, strings.TrimPrefix(url, "ws://"))
	before := inUse()
	b.ResetTimer()
	n := min(b.N, 8000) // two descriptors each
	for range n {
		ours.open()
	}
	b.StopTimer()
	after := inUse()
	b.ReportMetric(float64(after-before)/float64(n)/1024, "KiB/socket")
	b.ReportMetric(float64(runtime.NumGoroutine())/float64(n), "goroutines/socket")
	c, _, err := websocket.Dial(context.Background(), url+"/weir/ws", nil) // it still serves
	if err != nil {
		b.Fatal(err)
	}
	conns = append(conns, c)
}

// inUse is memory that the process holds: heap and stacks.
func inUse() uint64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
		time.Sleep(50 * time.Millisecond)
	}
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
