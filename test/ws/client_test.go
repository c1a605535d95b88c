package ws

import (
	"encoding/json"
	"testing"

	"weir/client"
	"weir/dialect"
	"weir/probe"
	"weir/stream"
)

// The client asks and follows through a real gateway.
func TestAsk(t *testing.T) {
	url, _ := start(t, "n=20,ttft=5ms,gap=1ms", "")
	n := 0
	q := client.Question{Path: "/v1/chat/completions", Body: json.RawMessage(*wsBody)}
	var last client.Event
	for e, err := range client.Ask(t.Context(), url, q, client.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		last = e
	}
	if n < 20 || string(last.Data) != "[DONE]" {
		t.Errorf("%d events, the last %q", n, last.Data)
	}
}

// The probe's record over a WebSocket is the one over HTTP, but for times.
func TestProbe(t *testing.T) {
	url, _ := start(t, "n=20,ttft=5ms,gap=1ms", "")
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/v1/responses", "/api/chat"} {
		var seen [2]*stream.Record
		for i, http := range []string{"1.1", "ws"} {
			c, err := probe.New(probe.Options{HTTP: http, KeepText: true})
			if err != nil {
				t.Fatal(err)
			}
			records, err := c.Do(t.Context(), dialect.Ask{URL: "http" + url[2:] + path, Model: "m", Header: map[string][]string{"X-Weir-Mock": {"seed=7"}}}, probe.Meta{})
			c.Close()
			if err != nil || len(records) != 1 {
				t.Fatalf("%s: %d records, %v", path, len(records), err)
			}
			seen[i] = records[0]
		}
		a, b := seen[0], seen[1]
		if b.Outcome != stream.Complete || a.Outcome != b.Outcome || a.Dialect != b.Dialect || len(a.Events) != len(b.Events) || a.Proof != b.Proof || a.Finish != b.Finish {
			t.Errorf("%s: %s %s %d events, %s; over HTTP %s %s %d events, %s", path, b.Outcome, b.Dialect, len(b.Events), b.Reason, a.Outcome, a.Dialect, len(a.Events), a.Reason)
		}
	}
}
