package gateway

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"weir/gateway"
	"weir/mock"
	"weir/relay"
	"weir/telemetry"
)

// telemetry counts without knowing the gateway; here it is seen to fit.
var _ gateway.Observer = (*telemetry.Gateway)(nil)

// upstream starts the mock.
func upstream(t *testing.T) *mock.Server {
	t.Helper()
	m, err := mock.Start(mock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() }) // a stream that hangs is no error here
	return m
}

// start serves a setup before the mock until the test ends, and gives its
// address.
func start(t *testing.T, m *mock.Server, c setup, count *telemetry.Gateway) (url string) {
	t.Helper()
	return startBefore(t, m.URL(), c, count)
}

// startBefore is start for any service.
func startBefore(t *testing.T, service string, c setup, count *telemetry.Gateway) (url string) {
	t.Helper()
	route := `path: "/*", upstream: main`
	if c.route != "" {
		route += ", " + c.route
	}
	config, err := gateway.Load("gateway.yaml", fmt.Appendf(nil, "upstreams: {main: {urls: [%q]}}\nroutes: [{%s}]\n", service, route))
	if err != nil {
		t.Fatal(err)
	}
	config.Routes[0].Retry.Backoff = time.Millisecond // of no matter here
	log := relay.NewMemory(relay.MemoryOptions{})
	g, err := gateway.New(config, gateway.Options{Observer: count, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(g.Handler())
	front.Listener = gateway.Listener(front.Listener)
	front.Config.ConnContext = gateway.ConnContext
	front.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	front.Start()
	t.Cleanup(func() {
		g.Close()
		front.CloseClientConnections()
		front.Close()
		_ = log.Close()
	})
	return front.URL
}
