package gateway

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// The ranges of allow hold for every version of HTTP: each has a dialer of its
// own.
func TestAllowForEveryProtocol(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "1.1", "2", "h2c"} {
		for _, secure := range []bool{false, true} {
			if secure == (version == "h2c") || !secure && version == "2" {
				continue
			}
			var asked atomic.Int32
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				sse(chat("a")+chatFinish+chatDone)(w, r)
			}))
			s.EnableHTTP2 = secure
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetHTTP1(true)
			s.Config.Protocols.SetHTTP2(secure)
			s.Config.Protocols.SetUnencryptedHTTP2(version == "h2c")
			extra, key := "", ""
			if version != "" {
				key = "http: \"" + version + "\", "
			}
			if secure {
				s.StartTLS()
				extra = ", cacert: " + fileOf(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
			} else {
				s.Start()
			}
			t.Cleanup(s.Close)
			for allow, want := range map[string]int{"127.0.0.0/8": http.StatusOK, "10.0.0.0/8": http.StatusBadGateway} {
				before := asked.Load()
				g := start(t, `
upstreams: {main: {urls: ["%s"], `+key+`allow: [`+allow+`]`+extra+`}}
routes: [{path: "/*", upstream: main, retry: {attempts: 1}}]
`, s.URL)
				resp := post(t, g.url+"/v1/chat/completions", ask1)
				got := text(t, resp)
				if resp.StatusCode != want || (want != http.StatusOK) != strings.Contains(got, `"upstream_not_allowed"`) || (want == http.StatusOK) != (asked.Load() > before) {
					t.Errorf("http %q, tls %v, allow %s: %d %q", version, secure, allow, resp.StatusCode, got)
				}
			}
		}
	}
}

// A name that resolves to an address of allow, and to another one later, is not
// followed there.
func TestNameThatResolvesAnew(t *testing.T) { // not parallel: the resolver is everybody's
	var asked [2]atomic.Int32
	port := "0"
	for i, host := range []string{"127.0.0.1", "127.0.0.2"} {
		l, err := net.Listen("tcp4", host+":"+port)
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ = net.SplitHostPort(l.Addr().String())
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked[i].Add(1)
			w.Header().Set("Connection", "close") // so that the next request dials
			sse(chat("a")+chatFinish+chatDone)(w, r)
		}))
		_ = s.Listener.Close()
		s.Listener = l
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetHTTP1(true)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
		t.Cleanup(s.Close)
	}
	var to atomic.Value
	resolveBy(t, &to)
	for _, version := range []string{"1.1", "h2c"} {
		to.Store([4]byte{127, 0, 0, 1})
		g := start(t, `
upstreams: {main: {urls: ["http://rebind.test:%s"], http: "`+version+`", allow: [127.0.0.1]}}
routes: [{path: "/*", upstream: main, retry: {attempts: 1}}]
`, port)
		if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); !strings.HasPrefix(got, chat("a")) {
			t.Fatalf("http %s, inside: %q", version, got)
		}
		to.Store([4]byte{127, 0, 0, 2})
		for _, u := range g.g.ups {
			u.close() // an idle connection is no dial
		}
		resp := post(t, g.url+"/v1/chat/completions", ask1)
		if got := text(t, resp); resp.StatusCode != http.StatusBadGateway || !strings.Contains(got, `"upstream_not_allowed"`) {
			t.Errorf("http %s, outside: %d %q", version, resp.StatusCode, got)
		}
	}
	if inside, outside := asked[0].Load(), asked[1].Load(); inside != 2 || outside != 0 {
		t.Errorf("the address inside was asked %d times, the one outside %d times", inside, outside)
	}
}

// resolveBy has every name resolve to one address, by a server of its own, until
// the test's end.
func resolveBy(t *testing.T, to *atomic.Value) {
	t.Helper()
	server, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		buf := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer := resolution(buf[:n], to.Load().([4]byte)); answer != nil {
				_, _ = server.WriteTo(answer, from)
			}
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp4", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		_ = server.Close()
		<-served
	})
}

// resolution answers a question for IPv4 addresses with one, and any other with
// none.
func resolution(question []byte, to [4]byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	answer := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
	if q.Type == dnsmessage.TypeA {
		answer.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
			Body:   &dnsmessage.AResource{A: to},
		}}
	}
	b, _ := answer.Pack()
	return b
}
