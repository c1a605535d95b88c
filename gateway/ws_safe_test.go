package gateway

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/relay"
	"weir/ws"
)

func TestSocketHandshake(t *testing.T) {
	keys := fileOf(t, "keys.yaml", "keys: [{name: alice, key: alice-alice}]")
	g := start(t, small+"ws: {origins: [\"https://chat.example.com\"], sockets: 1}\nkeys: {mode: file, file: "+keys+"}\n", "http://127.0.0.1:1")
	for _, c := range []struct {
		name   string
		header []string
		status int
	}{
		{"a foreign page", []string{"Origin", "https://evil.example.com"}, 403},
		{"a page of the gateway's own host", []string{"Origin", g.url}, 403},
		{"a page of no origin", []string{"Origin", "null"}, 403},
		{"two origins", []string{"Origin", "https://chat.example.com", "Origin", "https://evil.example.com"}, 403},
		{"a prefix", []string{"Origin", "https://chat.example.com.evil.com"}, 403},
		{"a wrong key", []string{"Authorization", "Bearer mallory-mallory"}, 401},
		{"a listed page", []string{"Origin", "https://chat.example.com"}, 101},
	} {
		conn, resp, err := dialSocket(t, g.url, c.header...)
		if resp == nil || resp.StatusCode != c.status || (err == nil) != (c.status == 101) {
			t.Errorf("%s: %v %v", c.name, resp, err)
		}
		if conn != nil {
			if _, resp, _ := dialSocket(t, g.url); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
				t.Errorf("beyond the limit: %v", resp)
			}
			_ = conn.CloseNow()
		}
	}
	await(t, func() bool { return g.g.sockets.count() == 0 })
	resp := get(t, g.url+"/weir/ws?key=alice-alice", "Connection", "Upgrade", "Upgrade", "websocket",
		"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")
	if b := text(t, resp); resp.StatusCode != http.StatusBadRequest || !strings.Contains(b, "query") || strings.Contains(b+g.logs.String(), "alice-alice") {
		t.Errorf("%d %s", resp.StatusCode, b)
	}
	if resp := get(t, g.url+"/weir/ws"); resp.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("%d without an upgrade", resp.StatusCode)
	}
}

func TestSocketAuthByMessage(t *testing.T) {
	keys := fileOf(t, "keys.yaml", "keys: [{name: alice, key: alice-alice}]")
	var seen []string
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		sse(chat("a")+chatFinish+chatDone)(w, r)
	})
	g := start(t, small+"keys: {mode: file, file: "+keys+"}\nws: {auth_wait: 1h}\n", up)
	p, h := connect(t, g.url)
	if h.Auth != "needed" {
		t.Errorf("%+v", h)
	}
	p.say(`{"type":"auth","key":"alice-alice"}`)
	next[*ws.Ready](p)
	p.say(startA)
	if got := p.whole("a"); got.end.Outcome != "done" {
		t.Errorf("%+v", got.end)
	}
	p.say(`{"type":"auth","key":"alice-alice"}`)
	if e := next[*ws.Error](p); e.Reason != "auth" {
		t.Errorf("%+v", e)
	}
	for _, message := range []string{`{"type":"auth","key":"mallory-mallory"}`, startA, `{"type":"ping"}`} {
		q, _ := connect(t, g.url)
		q.say(message)
		if e := next[*ws.Error](q); e.Code != ws.Unauth {
			t.Errorf("%+v", e)
		}
		if code, _ := q.closed(); code != ws.Unauth {
			t.Errorf("%s: %d", message, code)
		}
	}
	g2 := start(t, small+"keys: {mode: file, file: "+keys+"}\nws: {auth_wait: 20ms}\n", up)
	q, _ := connect(t, g2.url)
	if code, _ := q.closed(); code != ws.Unauth {
		t.Errorf("%d", code)
	}
	// Where the upstream decides, the key goes there.
	g3 := start(t, small, up)
	q, _ = connect(t, g3.url)
	q.say(`{"type":"auth","key":"` + sentinel + `"}`)
	next[*ws.Ready](q)
	q.say(startA)
	q.whole("a")
	if seen[len(seen)-1] != "Bearer "+sentinel {
		t.Errorf("the upstream saw %q", seen)
	}
	if strings.Contains(g3.logs.String()+fmt.Sprintf("%+v", g3.all()), sentinel) {
		t.Error("the key is in a log or a record")
	}
}

// What no client may ask for is refused, and the socket lives.
func TestSocketRefusesStarts(t *testing.T) {
	up := scripted(t, func(http.ResponseWriter, *http.Request) { t.Error("the upstream was asked") })
	g := start(t, small, up)
	p, _ := connect(t, g.url)
	for _, c := range []struct{ start, reason string }{
		{`"id":"","path":"/v1/x"`, "bad_id"},
		{`"id":"a b","path":"/v1/x"`, "bad_id"},
		{`"id":"` + strings.Repeat("a", 65) + `","path":"/v1/x"`, "bad_id"},
		{`"id":"a","path":"v1/x"`, "bad_path"},
		{`"id":"a","path":"http://elsewhere/v1/x"`, "bad_path"},
		{`"id":"a","path":"/v1/x HTTP/1.1\r\nHost: y"`, "bad_path"},
		{`"id":"a","path":"/weir/streams/x"`, "bad_path"},
		{`"id":"a","path":"/v1/x?key=secret-secret"`, "key_in_path"},
		{`"id":"a","path":"/v1/x","method":"GET /x"`, "bad_method"},
		{`"id":"a","path":"/v1/x","headers":{"X-Title":"a\r\nX-Evil: 1"}`, "bad_header"},
		{`"id":"a","path":"/v1/x","headers":{"X-Ti:tle":"a"}`, "bad_header"},
		{`"id":"a","path":"/v1/x","headers":{"Authorization":"Bearer other"}`, "bad_header"},
		{`"id":"a","path":"/v1/x","headers":{"x-api-key":"other"}`, "bad_header"},
		{`"id":"a","path":"/v1/x","headers":{"Host":"evil"}`, "bad_header"},
		{`"id":"a","path":"/v1/x","headers":{"Cookie":"a=b"}`, "bad_header"},
		{`"id":"a","path":"/v1/x","headers":{"x-forwarded-for":"1.2.3.4"}`, "bad_header"},
		{`"id":"a","path":"/v1/x","headers":{"X-Title":"1","x-title":"2"}`, "bad_header"},
	} {
		p.say(`{"type":"start",` + c.start + `}`)
		if e := next[*ws.Error](p); e.Reason != c.reason || strings.Contains(e.Message, "secret-secret") {
			t.Errorf("%s: %+v", c.start, e)
		}
	}
	for _, c := range []struct{ resume, reason string }{
		{`"id":"a","stream":"../records/x"`, "bad_stream"},
		{`"id":"a","stream":"x?after=1"`, "bad_stream"},
		{`"id":"a","stream":"x","after":-1`, "bad_position"},
		{`"id":"a","stream":"x","after":1,"last_event_id":"x.y.1"`, "bad_position"},
		{`"id":"a","stream":"x","last_event_id":"a\r\nX-Evil: 1"`, "bad_position"},
	} {
		p.say(`{"type":"resume",` + c.resume + `}`)
		if e := next[*ws.Error](p); e.Reason != c.reason {
			t.Errorf("%s: %+v", c.resume, e)
		}
	}
}

// Another's stream is one that is not there, in every way of asking.
func TestSocketForeignResume(t *testing.T) {
	up := newStepped(t)
	g := startLog(t, relay.MemoryOptions{}, resuming, up.url)
	p, _ := connect(t, g.url, "Authorization", "Bearer alice-alice")
	p.say(startA)
	up.next <- chat("one")
	open := next[*ws.Open](p)
	next[*ws.Event](p)
	var ends []string
	for _, header := range [][]string{nil, {"Authorization", "Bearer mallory-mallory"}} {
		q, _ := connect(t, g.url, header...)
		for _, stream := range []string{open.Stream, strings.Repeat("0", 32)} {
			q.say(`{"type":"resume","id":"r","stream":"` + stream + `"}`)
			e := next[*ws.End](q)
			ends = append(ends, fmt.Sprintf("%s %d %s %s %d", e.Outcome, e.Code, e.Reason, e.Message, e.Status))
		}
	}
	for _, e := range ends {
		if e != ends[0] || !strings.HasPrefix(e, "error 4502 not_found") {
			t.Errorf("%q", ends)
		}
	}
	p.say(`{"type":"resume","id":"r","stream":"` + open.Stream + `","last_event_id":"x.y.1"}`)
	if e := next[*ws.End](p); e.Reason != "bad_position" || e.Code != ws.Refused {
		t.Errorf("%+v", e)
	}
	close(up.next)
	p.whole("a")
}

func TestSocketGap(t *testing.T) {
	m := startMock(t, "n=50,ttft=1ms")
	g := startLog(t, relay.MemoryOptions{Events: 10}, resuming, m.URL())
	p, _ := connect(t, g.url)
	p.say(startA)
	first := p.whole("a")
	p.say(`{"type":"resume","id":"r","stream":"` + first.open.Stream + `","after":1}`)
	if got := p.whole("r"); got.end.Code != ws.Gap || got.end.Outcome != "error" || got.end.Reconnect || len(got.events) > 0 {
		t.Errorf("%+v", got.end)
	}
}

func TestSocketBadMessages(t *testing.T) {
	g := start(t, small+"ws: {message: 1KiB}\n", "http://127.0.0.1:1")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, c := range []struct {
		name, message string
		kind          websocket.MessageType
		code          ws.Code
	}{
		{"binary", "{}", websocket.MessageBinary, ws.Binary},
		{"too big", `{"type":"ping","data":"` + strings.Repeat("x", 2<<10) + `"}`, websocket.MessageText, ws.TooBig},
		{"no JSON", "hello", websocket.MessageText, ws.BadMessage},
		{"unknown type", `{"type":"hello"}`, websocket.MessageText, ws.BadMessage},
		{"unknown field", `{"type":"ping","date":"x"}`, websocket.MessageText, ws.BadMessage},
		{"deep", strings.Repeat("[", 900), websocket.MessageText, ws.BadMessage},
	} {
		p, _ := connect(t, g.url)
		if err := p.conn.Write(ctx, c.kind, []byte(c.message)); err != nil {
			t.Fatal(err)
		}
		if code, _ := p.closed(); code != c.code {
			t.Errorf("%s: %d, want %d", c.name, code, c.code)
		}
	}
}

// rawSocket is a connection after the handshake, for frames that no library
// sends.
func rawSocket(t *testing.T, url string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	_, _ = io.WriteString(c, "GET /weir/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n")
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %v", resp, err)
	}
	if e := resp.Header.Get("Sec-WebSocket-Extensions"); e != "" {
		t.Errorf("compression was agreed on: %s", e)
	}
	return c, r
}

// frame is a masked frame; the mask is zero.
func frame(first byte, payload []byte) []byte {
	b := []byte{first, 0x80 | 127}
	b = binary.BigEndian.AppendUint64(b, uint64(len(payload)))
	return append(append(b, 0, 0, 0, 0), payload...)
}

// closeCode reads frames to a close.
func closeCode(t *testing.T, r *bufio.Reader) ws.Code {
	t.Helper()
	for {
		var head [2]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			t.Fatal(err)
		}
		n := int(head[1])
		if n == 126 {
			var l [2]byte
			_, _ = io.ReadFull(r, l[:])
			n = int(binary.BigEndian.Uint16(l[:]))
		}
		p := make([]byte, n)
		if _, err := io.ReadFull(r, p); err != nil {
			t.Fatal(err)
		}
		if head[0]&15 == 8 {
			return ws.Code(binary.BigEndian.Uint16(p))
		}
	}
}

// A compressed message is not inflated, however small it is: nobody agreed to.
func TestSocketCompressionBomb(t *testing.T) {
	g := start(t, small, "http://127.0.0.1:1")
	var bomb bytes.Buffer
	z, _ := flate.NewWriter(&bomb, flate.BestCompression)
	_, _ = z.Write(bytes.Repeat([]byte{' '}, 32<<20))
	_ = z.Flush()
	c, r := rawSocket(t, g.url)
	_, _ = c.Write(frame(0x81|0x40, bomb.Bytes()))
	if code := closeCode(t, r); code != 1002 {
		t.Errorf("%d", code)
	}
}

// A client that claims a huge frame, or sends pieces for ever, is cut at the
// limit.
func TestSocketOversizedPieces(t *testing.T) {
	g := start(t, small, "http://127.0.0.1:1")
	c, r := rawSocket(t, g.url)
	go func() {
		_, err := c.Write(frame(0x01, []byte(`{"type":"ping","data":"`)))
		for err == nil {
			_, err = c.Write(frame(0x00, bytes.Repeat([]byte{'x'}, 1<<10)))
		}
	}()
	if code := closeCode(t, r); code != ws.TooBig {
		t.Errorf("%d", code)
	}
	_ = c.Close()
}

// Who answers no ping is gone.
func TestSocketNoPong(t *testing.T) {
	g := start(t, small+"ws: {ping: 1s}\n", "http://127.0.0.1:1")
	_, r := rawSocket(t, g.url)
	if code := closeCode(t, r); code != ws.Stalled {
		t.Errorf("%d", code)
	}
	await(t, func() bool { return g.g.sockets.count() == 0 })
}

// A client that never reads holds a bounded amount, and nobody else up. Where
// the service waits for it, its socket ends when a write takes too long; else its
// stream does, and the socket lives.
func TestSocketSlowClient(t *testing.T) {
	flood := strings.Repeat(chat(strings.Repeat("x", 1000)), 20_000) // 20 MB
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Title") == "fast" {
			sse(chat("a")+chatFinish+chatDone)(w, r)
			return
		}
		sse(flood+chatFinish+chatDone)(w, r)
	})
	for _, policy := range []string{"drop", "block"} {
		g := start(t, strings.Replace(small, "upstream: main}", "upstream: main, slow_client: {policy: "+policy+", bytes: 64KiB, write_timeout: 1s}}", 1)+
			"ws: {write_timeout: 1s}\n", up)
		c, _ := rawSocket(t, g.url)
		_, _ = c.Write(frame(0x81, []byte(startA)))
		await(t, func() bool { return g.g.gate.count() == 1 })
		var most uint64
		for range 10 {
			p, _ := connect(t, g.url)
			p.say(`{"type":"start","id":"a","path":"/v1/chat/completions","headers":{"X-Title":"fast"},"body":` + ask1 + `}`)
			if got := p.whole("a"); got.end.Outcome != "done" {
				t.Errorf("%+v", got.end)
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			_ = p.conn.CloseNow()
		}
		if most > 200<<20 {
			t.Errorf("%d bytes in use", most)
		}
		await(t, func() bool { return g.g.gate.count() == 0 })
		if policy == "drop" {
			_ = c.Close()
		}
		await(t, func() bool { return g.g.sockets.count() == 0 })
		if e := g.all(); len(e) != 11 || !slowIn(e) {
			t.Errorf("%d ended, none of them slow", len(e))
		}
	}
}

func slowIn(all []Ended) bool {
	for _, e := range all {
		if e.Reason == "slow_client" {
			return true
		}
	}
	return false
}

func TestSocketConfig(t *testing.T) {
	for _, c := range []struct{ ws, says string }{
		{`{origins: ["*"]}`, "is no origin"},
		{`{origins: ["https://*"]}`, "is no origin"},
		{`{origins: ["chat.example.com"]}`, "is no origin"},
		{`{origins: ["https://chat.example.com/"]}`, "is no origin"},
		{`{message: 10}`, "ws.message"},
		{`{streams: 0}`, "ws.streams"},
		{`{ping: 1ms}`, "ws.ping"},
		{`{write_timeout: 0}`, "write_timeout"},
		{`{sockets: -1}`, "ws.sockets"},
	} {
		_, err := Load("g.yaml", []byte("upstreams: {main: {urls: [\"http://x\"]}}\nroutes: [{path: /, upstream: main}]\nws: "+c.ws+"\n"))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.ws, err)
		}
	}
	g := start(t, small+"ws: {enabled: false}\n", scripted(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	if _, resp, err := dialSocket(t, g.url); err == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		t.Errorf("%v", resp)
	}
}
