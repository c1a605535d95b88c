package gateway

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"time"

	"weir/stream"
)

// trace gathers the phases of a connection of net/http's. Its hooks run on the transport's
// goroutines, some of them after the attempt was given up.
type trace struct {
	mu                            sync.Mutex
	began                         time.Time
	dnsStart, connStart, tlsStart time.Time
	traced
}

// traced is what a trace knows.
type traced struct {
	dns, connect, tls stream.Maybe[time.Duration]
	written, head     stream.Maybe[time.Duration] // since the attempt's start
	remote            string
	reused            bool
	tlsVersion        string
}

// now is what is known by now.
func (t *trace) now() traced {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.traced
}

func (t *trace) with(ctx context.Context) context.Context {
	t.began = time.Now()
	since := func(from time.Time) stream.Maybe[time.Duration] { return stream.Some(time.Since(from)) }
	locked := func(f func()) {
		t.mu.Lock()
		defer t.mu.Unlock()
		f()
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:          func(httptrace.DNSStartInfo) { locked(func() { t.dnsStart = time.Now() }) },
		DNSDone:           func(httptrace.DNSDoneInfo) { locked(func() { t.dns = since(t.dnsStart) }) },
		ConnectStart:      func(string, string) { locked(func() { t.connStart = time.Now() }) },
		ConnectDone:       func(_, _ string, err error) { locked(func() { t.connect = since(t.connStart) }) },
		TLSHandshakeStart: func() { locked(func() { t.tlsStart = time.Now() }) },
		TLSHandshakeDone: func(s tls.ConnectionState, _ error) {
			locked(func() { t.tls, t.tlsVersion = since(t.tlsStart), tls.VersionName(s.Version) })
		},
		WroteRequest: func(httptrace.WroteRequestInfo) { locked(func() { t.written = since(t.began) }) },
		GotConn: func(i httptrace.GotConnInfo) {
			locked(func() {
				t.reused, t.remote = i.Reused, i.Conn.RemoteAddr().String()
			})
		},
	})
}

// headers notes that they came.
func (t *trace) headers(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head = stream.Some(now.Sub(t.began))
}

// way is what is known of the attempt's connection and phases.
func (a *attempt) way() traced {
	if a.trace != nil {
		return a.trace.now()
	}
	t := &a.trip
	w := traced{written: t.Phases.RequestWritten, head: t.Phases.Headers, remote: t.Remote, reused: t.Warm, tlsVersion: t.TLS}
	if !t.Warm {
		w.dns, w.connect, w.tls = t.Phases.DNS, t.Phases.Connect, t.Phases.TLS
	}
	return w
}
