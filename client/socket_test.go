package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/client"
	"weir/ws"
)

// talk is a gateway's WebSocket as a test writes it: n counts connections from
// 0; say sends, heard is the client's message.
type talk func(n int, heard any, say func(message any), shut func(code ws.Code))

// socketServer serves a talk; the returned function gives the client's messages.
func socketServer(t *testing.T, do talk) (url string, heard func() []any) {
	t.Helper()
	var mu sync.Mutex
	var all []any
	n := -1
	var running sync.WaitGroup // a server does not wait for connections that it gave away
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Done()
		if r.Header.Get("Authorization") == "Bearer wrong" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		say := func(m any) {
			p, err := ws.Encode(m)
			if err != nil {
				t.Error(err)
			}
			_ = conn.Write(r.Context(), websocket.MessageText, p)
		}
		say(ws.Hello{Protocol: ws.Protocol, Auth: "done"})
		_, p, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		m, err := ws.Decode("client", p)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		n++
		k := n
		all = append(all, m)
		mu.Unlock()
		do(k, m, say, func(code ws.Code) { _ = conn.Close(websocket.StatusCode(code), "") })
	}))
	t.Cleanup(func() {
		s.Close()
		running.Wait()
	})
	return strings.Replace(s.URL, "http", "ws", 1), func() []any {
		mu.Lock()
		defer mu.Unlock()
		return append([]any(nil), all...)
	}
}

func event(seq int64, data string) ws.Event { return ws.Event{ID: "s", Seq: seq, Data: &data} }

var quick = client.Options{Delay: time.Millisecond, Jitter: -1, Tries: 3}

var question = client.Question{Path: "/v1/chat/completions", Body: []byte(`{"stream":true}`)}

// TestAskGoesOnOverBrokenSockets: nothing twice, nothing missing, asked once.
func TestAskGoesOnOverBrokenSockets(t *testing.T) {
	url, heard := socketServer(t, func(n int, m any, say func(any), shut func(ws.Code)) {
		from := int64(0)
		if r, ok := m.(*ws.Resume); ok {
			from = r.After
			if r.Stream != "abc" {
				t.Errorf("%+v", r)
			}
		}
		say(ws.Open{ID: "s", Turn: 1, Status: 200, Stream: "abc", Resumable: true})
		for i := from + 1; i <= from+2 && i <= 7; i++ {
			say(event(i, fmt.Sprint(i)))
		}
		switch {
		case from >= 5:
			say(ws.End{ID: "s", Turn: 1, Outcome: "done", Code: ws.Normal})
		case n == 1:
			shut(ws.Drain)
		case n == 2:
			say(ws.End{ID: "s", Turn: 1, Outcome: "broken", Code: ws.Slow, Reconnect: true})
		} // else the connection just goes
	})
	data, err := gather(client.Ask(t.Context(), url, question, quick))
	if strings.Join(data, " ") != "1 2 3 4 5 6 7" || err != nil {
		t.Errorf("%q %v", data, err)
	}
	all := heard()
	if _, ok := all[0].(*ws.Start); !ok || len(all) != 4 {
		t.Errorf("%d messages, the first %T", len(all), all[0])
	}
	for _, m := range all[1:] {
		if _, ok := m.(*ws.Resume); !ok {
			t.Errorf("it was asked again: %+v", m)
		}
	}
}

func TestSocketEnds(t *testing.T) {
	open := ws.Open{ID: "s", Turn: 1, Status: 200, Stream: "abc", Resumable: true}
	for _, c := range []struct {
		name string
		says []any
		code ws.Code // with which the socket is closed; 0 = it is not
		is   error
		data int
	}{
		{"a terminal event is an end", []any{open, event(1, "[DONE]")}, 1011, nil, 1},
		{"a gap in the numbers", []any{open, event(1, "a"), event(3, "c")}, 0, client.ErrGap, 1},
		{"a gap that is said", []any{ws.End{ID: "s", Turn: 1, Outcome: "error", Code: ws.Gap}}, 0, client.ErrGap, 0},
		{"not resumable", []any{ws.Open{ID: "s", Turn: 1, Status: 200}, event(1, "a")}, 1011, client.ErrUnproven, 1},
		{"must not come back", []any{open}, ws.Unauth, &client.CloseError{}, 0},
		{"an answer that is no stream", []any{open, ws.Body{ID: "s", Text: "<html>"}}, 0, client.ErrNoStream, 0},
		{"refused", []any{ws.End{ID: "s", Turn: 1, Outcome: "error", Code: ws.Refused, Status: 404, Reason: "no_route"}}, 0, &client.StatusError{}, 0},
		{"a service's own refusal", []any{ws.Open{ID: "s", Turn: 1, Status: 400}, ws.Body{ID: "s", Text: "{}"}, ws.End{ID: "s", Turn: 1, Outcome: "done", Code: ws.Normal, Status: 400}}, 0, &client.StatusError{}, 0},
		{"an edge's refusal", []any{ws.Open{ID: "s", Turn: 1, Status: 503}, ws.Body{ID: "s", Text: "{}"}, ws.End{ID: "s", Turn: 1, Outcome: "error", Code: ws.Broken, Status: 503, Reconnect: true}}, 0, &client.StatusError{}, 0},
		{"a message that was not taken", []any{ws.Error{Code: ws.BadMessage, Reason: "bad_path"}}, 0, client.ErrNoStream, 0},
		{"stopped by another", []any{open, event(1, "a"), ws.End{ID: "s", Turn: 1, Outcome: "cancelled", Code: ws.Stopped, Status: 200}}, 0, client.ErrUnproven, 1},
		{"twice the same is once", []any{open, event(1, "a"), event(1, "a"), ws.End{ID: "s", Turn: 1, Outcome: "done", Code: ws.Normal}}, 0, nil, 1},
		{"gives up", []any{open}, ws.Drain, client.ErrGaveUp, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, _ := socketServer(t, func(_ int, _ any, say func(any), shut func(ws.Code)) {
				for _, m := range c.says {
					say(m)
				}
				if c.code != 0 {
					shut(c.code)
				}
			})
			data, err := gather(client.Ask(t.Context(), url, question, quick))
			if len(data) != c.data || !isLike(err, c.is) {
				t.Errorf("%q, %v; want %v", data, err, c.is)
			}
		})
	}
}

// isLike compares by type where the wanted error is a pointer to a type.
func isLike(err, want error) bool {
	var closed *client.CloseError
	var status *client.StatusError
	switch {
	case errors.As(want, &closed):
		return errors.As(err, &closed)
	case errors.As(want, &status):
		return errors.As(err, &status)
	}
	return errors.Is(err, want)
}

func TestSocketAddresses(t *testing.T) {
	for _, address := range []string{"http://x/weir/ws", "ws:///x", "ws://x/weir/ws?key=secret", "ws://user:secret@x/"} {
		if _, err := client.Dial(t.Context(), address, client.Options{}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"ws://x/weir/ws", "ws://x/weir/streams/", "ws://x/weir/streams/a?after=x"} {
		if _, err := gather(client.Follow(t.Context(), address, quick)); err == nil {
			t.Errorf("%s was followed", address)
		}
	}
	url, heard := socketServer(t, func(_ int, _ any, say func(any), _ func(ws.Code)) {
		say(event(5, "x"))
		say(ws.End{ID: "s", Turn: 1, Outcome: "done", Code: ws.Normal})
	})
	data, err := gather(client.Follow(t.Context(), url+"/weir/streams/abc?after=4", quick))
	if r, ok := heard()[0].(*ws.Resume); err != nil || len(data) != 1 || !ok || r.Stream != "abc" || r.After != 4 {
		t.Errorf("%q %v %+v", data, err, heard())
	}
	var status *client.StatusError
	_, err = client.Dial(t.Context(), url, client.Options{Header: http.Header{"Authorization": {"Bearer wrong"}}})
	if !errors.As(err, &status) || status.Status != 401 {
		t.Errorf("%v", err)
	}
}

func TestSocketSilence(t *testing.T) {
	o := quick
	o.Silence = 20 * time.Millisecond
	url, _ := socketServer(t, func(n int, _ any, say func(any), _ func(ws.Code)) {
		say(ws.Open{ID: "s", Turn: 1, Status: 200, Stream: "abc", Resumable: true})
		if n == 0 {
			time.Sleep(200 * time.Millisecond)
			return
		}
		say(event(1, "[DONE]"))
		say(ws.End{ID: "s", Turn: 1, Outcome: "done", Code: ws.Normal})
	})
	if data, err := gather(client.Ask(t.Context(), url, question, o)); err != nil || len(data) != 1 {
		t.Errorf("%q %v", data, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := gather(client.Ask(ctx, url, question, quick)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
