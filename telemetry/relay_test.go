package telemetry

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestRelayMetrics(t *testing.T) {
	g := NewGateway(Options{})
	scrape := func() string {
		w := httptest.NewRecorder()
		g.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
		return w.Body.String()
	}
	if s := scrape(); strings.Contains(s, "\nweir_relay_") {
		t.Error("metrics of a Redis that is not there")
	}
	g.RelayUp(true)
	g.RelayUp(false)
	g.RelayAppended(2, 5, 600, time.Millisecond)
	g.RelayQueued(42)
	g.RelayDropped(3, "overflow")
	g.RelayLost(4)
	g.RelayFollowing(7)
	s := scrape()
	for _, want := range []string{"weir_relay_up 0", "weir_relay_queued_bytes 42", "weir_relay_followers 7", "weir_relay_lost_events_total 4", "weir_relay_append_seconds_count 1",
		"weir_relay_appended_streams_total 2", "weir_relay_appended_events_total 5", "weir_relay_appended_bytes_total 600",
		`weir_relay_dropped_events_total{reason="overflow"} 3`} {
		if !strings.Contains(s, "\n"+want+"\n") {
			t.Errorf("no %q in\n%s", want, s)
		}
	}
}
