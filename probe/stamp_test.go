package probe

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"weir/http1"
	"weir/stream"
)

func pemOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// carriers runs f against the same handler over every kind of connection.
func carriers(t *testing.T, h http.HandlerFunc, f func(t *testing.T, c *Client, url, proto string, best stream.Stamp)) {
	kernel := stream.StampSocket
	if runtime.GOOS == "linux" {
		kernel = stream.StampKernel
	}
	for _, k := range []struct {
		http, proto string
		tls         bool
		best        stream.Stamp
	}{
		{"1.1", "HTTP/1.1", false, kernel},
		{"1.1", "HTTP/1.1", true, kernel},
		{"h2c", "HTTP/2.0", false, stream.StampBody},
		{"2", "HTTP/2.0", true, stream.StampBody},
	} {
		t.Run(fmt.Sprintf("%s,tls=%t", k.http, k.tls), func(t *testing.T) {
			s := httptest.NewUnstartedServer(h)
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetHTTP1(true)
			s.Config.Protocols.SetHTTP2(true)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.EnableHTTP2 = true
			o := Options{HTTP: k.http}
			if k.tls {
				s.StartTLS()
				o.CACert = pemOf(s)
			} else {
				s.Start()
			}
			t.Cleanup(s.Close)
			f(t, client(t, o), s.URL, k.proto, k.best)
		})
	}
}

func TestStreamOverEveryCarrier(t *testing.T) {
	carriers(t, speaker(8, 5*time.Millisecond), func(t *testing.T, c *Client, url, proto string, best stream.Stamp) {
		for i, conn := range []string{"cold", "warm"} {
			r := ask(t, c, url)
			wantOutcome(t, r, stream.Complete, "")
			if r.Stamp != best {
				t.Errorf("request %d: stamp %q (%s), want %q", i, r.Stamp, r.StampWhy, best)
			}
			if r.Conn != conn || r.Facts.HTTPVersion != proto || count(r, stream.KindText) != 8 {
				t.Errorf("request %d: conn %s, %s, %d text events", i, r.Conn, r.Facts.HTTPVersion, count(r, stream.KindText))
			}
			wantPhases(t, r, strings.HasPrefix(url, "https"))
			wantStamps(t, r)
		}
	})
}

func wantPhases(t *testing.T, r *stream.Record, tls bool) {
	t.Helper()
	cold := r.Conn == "cold"
	p := r.Phases
	if p.Connect.Known() != cold || p.TLS.Known() != (cold && tls) {
		t.Errorf("%s: connect known %t, tls known %t", r.Conn, p.Connect.Known(), p.TLS.Known())
	}
	at := p.Connect.Or(0)
	for _, next := range []stream.Maybe[time.Duration]{p.Headers, p.FirstByte, r.End} {
		v, ok := next.Get()
		if !ok || v < at {
			t.Errorf("%s: phases out of order or missing: %+v end %v", r.Conn, p, r.End)
		}
		at = v
	}
	if !p.RequestWritten.Known() {
		t.Errorf("request_written is missing")
	}
}

// wantStamps checks what holds for every stream: times in order, the stamp in
// use on every read and event, bytes that add up.
func wantStamps(t *testing.T, r *stream.Record) {
	t.Helper()
	var bytes int64
	var last time.Duration
	for i, read := range r.Reads {
		bytes += int64(read.Bytes)
		k, known := read.Kernel.Get()
		if r.Stamp == stream.StampKernel && (!known || k != read.At || k > read.App) {
			t.Errorf("read %d: at %v kernel %v app %v", i+1, read.At, read.Kernel, read.App)
		}
		if r.Stamp != stream.StampKernel && read.At != read.App {
			t.Errorf("read %d: at %v app %v", i+1, read.At, read.App)
		}
		if read.At < last {
			t.Errorf("read %d came before the one before", i+1)
		}
		last = read.At
	}
	if bytes != r.Facts.WireBytes || r.Facts.WireBytes == 0 {
		t.Errorf("reads brought %d bytes, facts say %d", bytes, r.Facts.WireBytes)
	}
	for _, e := range r.Events {
		if e.Read == 0 || e.At != r.Reads[e.Read-1].At {
			t.Errorf("event %d at %v, its read %d", e.Seq, e.At, e.Read)
		}
	}
}

func TestAppStampsOnRequest(t *testing.T) {
	s := serve(t, speaker(3, 0))
	r := ask(t, client(t, Options{AppStamps: true}), s.URL)
	if r.Stamp != stream.StampSocket || r.StampWhy == "" {
		t.Errorf("stamp %q, why %q", r.Stamp, r.StampWhy)
	}
	wantStamps(t, r)
}

// A flush is one arrival, however many reads it took. The server writes it in
// one piece: net/http's would cut it at 4 KiB, with pauses where the machine is
// busy.
func TestBigFlushIsOneArrival(t *testing.T) {
	for _, size := range []int{12 << 10, 40 << 10} {
		var flush strings.Builder
		for flush.Len() < size {
			flush.WriteString(chunk(strings.Repeat("x", 400)))
		}
		u := raw(t, func(c net.Conn) {
			io.WriteString(c, chunkedHead)
			for range 3 {
				io.WriteString(c, asChunk(flush.String()))
				time.Sleep(150 * time.Millisecond)
			}
			io.WriteString(c, asChunk(finish+done)+"0\r\n\r\n")
		})
		r := ask(t, client(t, Options{}), u)
		wantOutcome(t, r, stream.Complete, "")
		if n := len(r.Arrivals); n != 4 || len(r.Reads) < 3*size/http1.ReadSize {
			t.Errorf("%d arrivals of %d reads, want 4: %+v", n, len(r.Reads), r.Arrivals)
		}
	}
}
