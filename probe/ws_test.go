package probe

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/dialect"
	"weir/stream"
	"weir/ws"
)

// socketGateway is a gateway's WebSocket that answers each message as a test
// says; what say gets in one call leaves in one write.
func socketGateway(t *testing.T, answer func(m any, say func(messages ...any), conn *websocket.Conn)) string {
	t.Helper()
	var running sync.WaitGroup
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Done()
		if r.URL.Path != "/weir/ws" || r.Header.Get("Authorization") != "Bearer the-key" {
			http.Error(w, `{"error":{"message":"a key is needed"}}`, http.StatusUnauthorized)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		say := func(messages ...any) {
			for _, m := range messages {
				p, err := ws.Encode(m)
				if err != nil {
					t.Error(err)
				}
				_ = conn.Write(r.Context(), websocket.MessageText, p)
			}
		}
		say(ws.Hello{Protocol: ws.Protocol, Auth: "done"})
		for {
			_, p, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			m, err := ws.Decode("client", p)
			if err != nil {
				t.Error(err)
				return
			}
			answer(m, say, conn)
		}
	}))
	t.Cleanup(func() {
		s.Close()
		running.Wait()
	})
	return s.URL
}

func delta(id string, seq int64, text string) ws.Event {
	data := `{"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}`
	return ws.Event{ID: id, Seq: seq, Data: &data}
}

func overSocket(t *testing.T, url, key string) []*stream.Record {
	t.Helper()
	c, err := New(Options{HTTP: "ws", Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var all []*stream.Record
	for range 2 {
		records, err := c.Do(context.Background(), dialect.Ask{URL: url + "/v1/chat/completions", Model: "m", APIKey: key}, Meta{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, records...)
	}
	return all
}

// A record over a WebSocket is the record of the stream: the second request goes
// over the same socket.
func TestSocketRecord(t *testing.T) {
	url := socketGateway(t, func(m any, say func(...any), _ *websocket.Conn) {
		q := m.(*ws.Start)
		done, finish := "[DONE]", `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
		say(ws.Open{ID: q.ID, Turn: 1, Status: 200, ContentType: "text/event-stream", Stream: "abc", RequestID: q.Headers["X-Request-Id"]})
		say(ws.Heartbeat{ID: q.ID}, delta(q.ID, 1, "a"))
		time.Sleep(20 * time.Millisecond)
		say(delta(q.ID, 2, "b"), ws.Event{ID: q.ID, Seq: 3, Data: &finish}, ws.Event{ID: q.ID, Seq: 4, Data: &done})
		say(ws.End{ID: q.ID, Turn: 1, Outcome: "done", Code: ws.Normal})
	})
	all := overSocket(t, url, "the-key")
	if len(all) != 2 {
		t.Fatalf("%d records", len(all))
	}
	for i, r := range all {
		if !r.Outcome.Ended() || r.Outcome != stream.Complete || r.Facts.HTTPVersion != "WebSocket" || r.Facts.Status != 200 || r.Facts.EchoedID == "" {
			t.Errorf("%s %s %+v", r.Outcome, r.Reason, r.Facts)
		}
		if r.Stamp != stream.StampSocket || r.StampWhy == "" {
			t.Errorf("stamps %s: %s", r.Stamp, r.StampWhy)
		}
		if want := []string{"cold", "warm"}[i]; r.Conn != want {
			t.Errorf("request %d was %s", i, r.Conn)
		}
	}
}

func TestSocketOutcomes(t *testing.T) {
	for _, c := range []struct {
		name    string
		says    func(id string) []any
		outcome stream.Outcome
		status  int
	}{
		{"refused", func(id string) []any {
			return []any{ws.End{ID: id, Turn: 1, Outcome: "error", Code: ws.Capacity, Status: 503, Reason: "overloaded_full"}}
		}, stream.ErrorEarly, 503},
		{"not taken", func(id string) []any { return []any{ws.Error{ID: id, Code: ws.BadMessage, Reason: "bad_path"}} }, stream.ErrorEarly, 400},
		{"an error of the service", func(id string) []any {
			return []any{ws.Open{ID: id, Turn: 1, Status: 401, ContentType: "application/json"}, ws.Body{ID: id, Text: `{"error":{"message":"no"}}`},
				ws.End{ID: id, Turn: 1, Outcome: "error", Code: ws.Refused, Status: 401}}
		}, stream.ErrorEarly, 401},
		{"cut", func(id string) []any {
			return []any{ws.Open{ID: id, Turn: 1, Status: 200, ContentType: "text/event-stream", Stream: "abc"}, delta(id, 1, "a"),
				ws.End{ID: id, Turn: 1, Outcome: "broken", Code: ws.Broken}}
		}, "", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := socketGateway(t, func(m any, say func(...any), _ *websocket.Conn) { say(c.says(m.(*ws.Start).ID)...) })
			r := overSocket(t, url, "the-key")[0]
			if r.Facts.Status != c.status || r.Outcome.Ended() && c.outcome == "" || c.outcome != "" && r.Outcome != c.outcome {
				t.Errorf("%s %s, status %d", r.Outcome, r.Reason, r.Facts.Status)
			}
		})
	}
	url := socketGateway(t, func(any, func(...any), *websocket.Conn) {})
	if r := overSocket(t, url, "another-key")[0]; r.Facts.Status != 401 || r.Outcome.Ended() {
		t.Errorf("%s, status %d", r.Outcome, r.Facts.Status)
	}
	url = socketGateway(t, func(_ any, _ func(...any), conn *websocket.Conn) { _ = conn.Close(4000, "drain") })
	if r := overSocket(t, url, "the-key")[0]; r.Outcome.Ended() || r.Outcome == "" {
		t.Errorf("%s %s", r.Outcome, r.Reason)
	}
}
