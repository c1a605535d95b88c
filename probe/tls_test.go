package probe

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/dialect"
	"weir/stream"
)

// trickle writes in small pieces, so that a TLS record comes in several reads.
type trickle struct {
	net.Conn
	limit int // close after so many bytes; 0 = never
	sent  int
}

func (c *trickle) Write(p []byte) (int, error) {
	for i := 0; i < len(p); i += 700 {
		piece := p[i:min(i+700, len(p))]
		if c.limit > 0 && c.sent+len(piece) > c.limit {
			c.Conn.Write(piece[:c.limit-c.sent])
			c.Conn.Close()
			return 0, net.ErrClosed
		}
		if _, err := c.Conn.Write(piece); err != nil {
			return 0, err
		}
		c.sent += len(piece)
		time.Sleep(200 * time.Microsecond)
	}
	return len(p), nil
}

// rawTLS answers every connection with sends, by way of a trickle.
func rawTLS(t *testing.T, protos []string, limit int, sends string) (url string, ca []byte) {
	t.Helper()
	certs := httptest.NewUnstartedServer(nil)
	certs.StartTLS()
	config := &tls.Config{Certificates: certs.TLS.Certificates, NextProtos: protos}
	ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certs.Certificate().Raw})
	certs.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s := tls.Server(&trickle{Conn: c, limit: limit}, config)
			readHead(s)
			io.WriteString(s, sends)
			s.Close()
			c.Close()
		}
	}()
	return "https://" + l.Addr().String(), ca
}

func TestTLSRecordsInPieces(t *testing.T) {
	long := asChunk(chunk(strings.Repeat("long ", 2500))) // one record, many reads
	u, ca := rawTLS(t, nil, 0, chunkedHead+long+asChunk(chunk("a"))+asChunk(finish+done)+"0\r\n\r\n")
	for range 2 {
		r := ask(t, client(t, Options{CACert: ca}), u)
		wantOutcome(t, r, stream.Complete, "")
		wantStamps(t, r)
		if r.Facts.TLSVersion != "TLS 1.3" || count(r, stream.KindText) != 2 {
			t.Errorf("%s, %d text events", r.Facts.TLSVersion, count(r, stream.KindText))
		}
	}
}

func TestTLSCutInsideARecord(t *testing.T) {
	long := chunk(strings.Repeat("long ", 2500))
	u, ca := rawTLS(t, nil, 6000, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"+long)
	r := ask(t, client(t, Options{CACert: ca}), u)
	wantOutcome(t, r, stream.Reset, "eof")
}

func TestProtocolsThatDoNotMeet(t *testing.T) {
	for _, k := range []struct{ server, http, says string }{
		{"h3", "1.1", "use --http 2"}, {"http/1.1", "2", "application protocol"}, {"", "2", "use --http 1.1"},
	} {
		var protos []string
		if k.server != "" {
			protos = []string{k.server}
		}
		u, ca := rawTLS(t, protos, 0, chunkedHead)
		r := ask(t, client(t, Options{CACert: ca, HTTP: k.http}), u)
		wantOutcome(t, r, stream.ErrorEarly, "tls")
		if !strings.Contains(r.Detail, k.says) {
			t.Errorf("server %q, --http %s: %q", k.server, k.http, r.Detail)
		}
	}
}

func TestInsecureAcceptsAnyCertificate(t *testing.T) {
	s := httptest.NewTLSServer(speaker(1, 0))
	defer s.Close()
	c := client(t, Options{Insecure: true})
	wantOutcome(t, askAs(t, c, dialect.Ask{URL: s.URL + "/v1/chat/completions"}), stream.Complete, "")
	c.Close()
}
