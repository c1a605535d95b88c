package telemetry

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// socketMetrics are of clients' WebSockets; absent where there was none.
type socketMetrics struct {
	open              *prometheus.GaugeVec
	opened, closed    *prometheus.CounterVec
	refused, messages *prometheus.CounterVec
}

func newSockets(f factory) socketMetrics {
	return socketMetrics{
		open:     f.gauge("weir_gateway_sockets_open", "WebSockets of clients that are open"),
		opened:   f.counter("weir_gateway_sockets_opened_total", "WebSockets that were opened"),
		closed:   f.counter("weir_gateway_sockets_closed_total", "WebSockets that are over, by close code and by who closed: client, gateway, or connection (1006: it broke)", "code", "by"),
		refused:  f.counter("weir_gateway_sockets_refused_total", "handshakes that were refused, by reason", "reason"),
		messages: f.counter("weir_gateway_socket_messages_refused_total", "messages of clients that were not followed, by reason", "reason"),
	}
}

// Panicked counts a failure of the gateway's own.
func (g *Gateway) Panicked(where string) { g.own.panics.WithLabelValues(where).Inc() }

// SocketOpened counts a WebSocket; SocketClosed must follow.
func (g *Gateway) SocketOpened() {
	g.sockets.opened.WithLabelValues().Inc()
	g.sockets.open.WithLabelValues().Inc()
}

// SocketClosed counts its end. A client may close with any code of 3000 and
// above, so that those of clients have one label.
func (g *Gateway) SocketClosed(code int, by string) {
	label := strconv.Itoa(code)
	if by == "client" && (code < 1000 || code > 1015) {
		label = Other
	}
	g.sockets.closed.WithLabelValues(label, by).Inc()
	g.sockets.open.WithLabelValues().Dec()
}

// SocketRefused counts a handshake that was refused.
func (g *Gateway) SocketRefused(reason string) {
	g.sockets.refused.WithLabelValues(g.reasons.label(reason, true)).Inc()
}

// MessageRefused counts a message that was not followed.
func (g *Gateway) MessageRefused(reason string) {
	g.sockets.messages.WithLabelValues(g.reasons.label(reason, true)).Inc()
}
