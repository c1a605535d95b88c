package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRelay is what an event costs on its way, by processor time of the
// whole process (service, relay and reader), beside the bare ReverseProxy:
// 50 streams of 50 events/s, one event a flush.
func BenchmarkRelay(b *testing.B) {
	event := []byte(chat("river "))
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		t := time.NewTicker(20 * time.Millisecond)
		defer t.Stop()
		for range 100 {
			<-t.C
			_, _ = w.Write(event)
			_ = rc.Flush()
		}
		_, _ = io.WriteString(w, chatDone)
	}))
	defer up.Close()
	c, err := Load("g.yaml", []byte("upstreams: {main: {urls: [\""+up.URL+"\"]}}\nroutes: [{path: \"/*\", upstream: main}]\n"))
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(c, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	target, _ := url.Parse(up.URL)
	plain := httputil.NewSingleHostReverseProxy(target)
	plain.Transport = &http.Transport{MaxIdleConnsPerHost: 1000}
	weir, proxy := httptest.NewServer(g.Handler()), httptest.NewServer(plain)
	defer weir.Close()
	defer proxy.Close()
	for _, way := range []struct{ name, url string }{{"direct", up.URL}, {"reverseproxy", proxy.URL}, {"weir", weir.URL}} {
		b.Run(way.name, func(b *testing.B) {
			before, events := processorTime(), 0
			for b.Loop() {
				events += manyStreams(b, way.url, 50)
			}
			b.ReportMetric(float64((processorTime()-before).Microseconds())/float64(events), "cpu-µs/event")
		})
	}
}

func manyStreams(b *testing.B, url string, n int) int {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			resp, err := tryPost(b.Context(), url+"/v1/chat/completions", ask1)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		})
	}
	all.Wait()
	return n * 100
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
