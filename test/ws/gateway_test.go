package ws

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"weir/gateway"
	"weir/mock"
	"weir/relay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves a gateway before the mock, and gives its address as ws://.
func start(t testing.TB, set, more string) (url string, g *gateway.Gateway) {
	t.Helper()
	m, err := mock.Start(mock.Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	c, err := gateway.Load("gateway.yaml", fmt.Appendf(nil, "upstreams: {main: {urls: [%q]}}\nroutes: [{path: \"/*\", upstream: main}]\n%s", m.URL(), more))
	if err != nil {
		t.Fatal(err)
	}
	log := relay.NewMemory(relay.MemoryOptions{})
	if g, err = gateway.New(c, gateway.Options{Log: log}); err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(g.Handler())
	front.Config.ConnContext = gateway.ConnContext
	front.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	front.Start()
	t.Cleanup(func() {
		g.Close()
		front.CloseClientConnections()
		front.Close()
		_ = log.Close()
		_ = m.Close() // a stream that hangs is no error here
	})
	return strings.Replace(front.URL, "http", "ws", 1), g
}
