package gateway

import (
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// countedServer is a service whose new connections and requests are told.
type countedServer struct {
	url string

	mu    sync.Mutex
	conns int
	asked []string
}

func (c *countedServer) posted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.asked, http.MethodPost)
}

func (c *countedServer) opened() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conns
}

func counted(t *testing.T, unencryptedHTTP2 bool) *countedServer {
	t.Helper()
	c := &countedServer{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.asked = append(c.asked, r.Method)
		c.mu.Unlock()
		sse(chat("a")+chatFinish+chatDone)(w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			c.mu.Lock()
			c.conns++
			c.mu.Unlock()
		}
	}
	if unencryptedHTTP2 {
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
	}
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	c.url = s.URL
	return c
}

// Connections that are to be warm are open before the first request, to each
// address, and serve it.
func TestWarmConnections(t *testing.T) {
	t.Parallel()
	for version, most := range map[string]int{"1.1": 2, "h2c": 1} { // of HTTP/2, one is enough for all
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			one, two := counted(t, version == "h2c"), counted(t, version == "h2c")
			g := start(t, `
upstreams: {main: {urls: ["%s", "%s"], http: "`+version+`", warm: 2}}
routes: [{path: "/*", upstream: main}]
`, one.url, two.url)
			for _, s := range []*countedServer{one, two} {
				until(t, "warm connections", func() bool { return s.opened() >= most })
			}
			before := one.opened() + two.opened()
			if len(g.all()) != 0 || one.posted() || two.posted() {
				t.Fatal("a request was served before")
			}
			for range 2 {
				if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); !strings.HasPrefix(got, chat("a")) {
					t.Fatalf("got %q", got)
				}
			}
			until(t, "the records", func() bool { return len(g.all()) == 2 })
			for _, e := range g.all() {
				if r := e.Records[0]; r.Conn != "warm" || r.Phases.Connect.Known() {
					t.Errorf("the connection was %s", r.Conn)
				}
			}
			if after := one.opened() + two.opened(); after != before {
				t.Errorf("%d connections, %d before the first request", after, before)
			}
		})
	}
	none := counted(t, false)
	g := start(t, small, none.url)
	_ = text(t, post(t, g.url+"/v1/chat/completions", ask1))
	if until(t, "the record", func() bool { return len(g.all()) == 1 }); g.all()[0].Records[0].Conn != "cold" || none.opened() != 1 {
		t.Errorf("without warm: %s, %d connections", g.all()[0].Records[0].Conn, none.opened())
	}
}

// Of clients that are told when to come back, each has a time of its own: in
// its stream, and in a refusal's header.
func TestDrainHintsDiffer(t *testing.T) {
	t.Parallel()
	const clients = 12
	var begun sync.WaitGroup
	begun.Add(clients)
	more := make(chan struct{})
	g := startFront(t, resuming, scripted(t, func(w http.ResponseWriter, r *http.Request) {
		sse(chat("one"))(w, r)
		begun.Done()
		<-more
		sse(chat("two"), chatFinish, chatDone)(w, r)
	}))
	var all []*http.Response
	for range clients {
		all = append(all, post(t, g.url+"/v1/chat/completions", ask1, "weir-resume", "1"))
	}
	begun.Wait()
	ended := startDrain(t, g.f, time.Minute)
	close(more)
	times := map[int]int{}
	for _, resp := range all {
		body := text(t, resp)
		told := retries(t, body)
		if n := len(told); n < 1 || n > 2 || told[n-1] < 1000 || told[n-1] > 5000 { // one where the gateway read the first event late
			t.Errorf("retries %v in %s", told, body)
			continue
		}
		times[told[len(told)-1]]++
	}
	if len(times) < clients/2 {
		t.Errorf("%d clients are to come back at %d different times", clients, len(times))
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
