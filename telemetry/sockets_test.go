package telemetry

import (
	"strings"
	"testing"
)

func TestSockets(t *testing.T) {
	g := NewGateway(Options{})
	if text := scrape(t, g.Handler()); strings.Contains(text, "weir_gateway_socket") {
		t.Error("without a socket there are series of sockets")
	}
	for range 4 {
		g.SocketOpened()
	}
	g.SocketClosed(1000, "client")
	g.SocketClosed(4000, "gateway")
	for code := 3000; code < 3002; code++ { // any that a client likes
		g.SocketClosed(code, "client")
	}
	g.SocketOpened()
	g.SocketRefused("origin")
	g.MessageRefused("bad_message")
	text := scrape(t, g.Handler())
	for _, line := range []string{
		`weir_gateway_sockets_open 1`, `weir_gateway_sockets_opened_total 5`,
		`weir_gateway_sockets_closed_total{by="client",code="1000"} 1`, `weir_gateway_sockets_closed_total{by="gateway",code="4000"} 1`,
		`weir_gateway_sockets_closed_total{by="client",code="other"} 2`,
		`weir_gateway_sockets_refused_total{reason="origin"} 1`, `weir_gateway_socket_messages_refused_total{reason="bad_message"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
}
