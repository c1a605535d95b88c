package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/relay"
)

const askResponses = `{"model":"m","stream":true,"input":"hi"}`

// TestResponsesByTheirOwnNumbers is OpenAI's way to go on.
func TestResponsesByTheirOwnNumbers(t *testing.T) {
	m := startMock(t, "ttft=2ms,gap=0ms,n=6")
	g := startLog(t, relay.MemoryOptions{}, resuming, m.URL())
	first := post(t, g.url+"/v1/responses", askResponses, "authorization", "Bearer mine-key")
	all := blocks(text(t, first))
	id := responseID([]byte(all[0]))
	if id == "" {
		t.Fatalf("no id in %s", all[0])
	}
	at := g.url + "/v1/responses/" + id + "?stream=true"
	for i, b := range all {
		n, ok := sequenceNumber([]byte(b))
		if !ok {
			t.Fatalf("no number in %s", b)
		}
		got := get(t, fmt.Sprint(at, "&starting_after=", n), "authorization", "Bearer mine-key")
		if body := text(t, got); got.StatusCode != http.StatusOK || body != strings.Join(all[i+1:], "") || got.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("after %d: %d\n%s", n, got.StatusCode, body)
		}
	}
	if got := text(t, get(t, at, "authorization", "Bearer mine-key")); got != strings.Join(all, "") {
		t.Errorf("from the beginning:\n%s", got)
	}
	for query, want := range map[string]int{"&starting_after=900": 409, "&starting_after=x": 400, "&starting_after=-1": 400} {
		if r := get(t, at+query, "authorization", "Bearer mine-key"); r.StatusCode != want {
			t.Errorf("%s: %d", query, r.StatusCode)
		}
	}
	// What is not kept here, or is another's, is the upstream's to answer.
	foreign, direct := get(t, at, "authorization", "Bearer other-key"), get(t, m.URL()+"/v1/responses/"+id+"?stream=true")
	if foreign.StatusCode != direct.StatusCode || text(t, foreign) != text(t, direct) {
		t.Errorf("another's answer: %d, the upstream says %d", foreign.StatusCode, direct.StatusCode)
	}
}

// TestNumbersWithHoles: a service may count as it likes.
func TestNumbersWithHoles(t *testing.T) {
	event := func(n int) string {
		return fmt.Sprintf("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":%d,\"delta\":\"x\",\"response\":{\"id\":\"resp_1\"}}\n\n", n)
	}
	log := relay.NewMemory(relay.MemoryOptions{Events: 3})
	defer log.Close()
	if _, err := log.Open(t.Context(), "s", nil); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{4, 10, 12, 20, 21} {
		if _, err := log.Append(t.Context(), "s", relay.Entry{Frame: []byte(event(n))}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := log.Stat(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int64]int64{12: 3, 20: 4, 21: 5, 4: -1, 10: -1, 13: -1, 99: -1, 3: -1} {
		p, err := afterNumber(t.Context(), log, "s", s, n)
		if want < 0 && err == nil || want >= 0 && (err != nil || p.Offset != want) {
			t.Errorf("after number %d: %+v, %v; want %d", n, p, err, want)
		}
	}
}

// TestAnUnseenAttemptIsForgotten: what a client was spared is not replayed.
func TestAnUnseenAttemptIsForgotten(t *testing.T) {
	n := 0
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			sse(chatRole, "reset")(w, r)
			return
		}
		sse(chatRole, chat("a"), chatFinish, chatDone)(w, r)
	})
	g := startLog(t, relay.MemoryOptions{}, strings.Replace(resuming, "mode: early", "mode: hold", 1), up)
	r := post(t, g.url+"/v1/chat/completions", ask1, "weir-resume", "1")
	body, want := text(t, r), chatRole+chat("a")+chatFinish+chatDone
	if withoutStamps(body) != want || !strings.Contains(body, ".1\n\n") {
		t.Errorf("the client got\n%s", body)
	}
	if got := text(t, get(t, g.url+"/weir/streams/"+r.Header.Get("Weir-Stream"))); n != 2 || got != want {
		t.Errorf("after %d attempts the replay is\n%s", n, got)
	}
}

// TestAReaderThatIsOvertaken is told in the stream, in its dialect.
func TestAReaderThatIsOvertaken(t *testing.T) {
	up := newStepped(t)
	g := startLog(t, relay.MemoryOptions{Bytes: 64 << 10}, resuming, up.url)
	owner := post(t, g.url+"/v1/chat/completions", ask1)
	go func() { _, _ = io.Copy(io.Discard, owner.Body) }()
	up.next <- chat("first")
	slow := get(t, g.url+"/weir/streams/"+owner.Header.Get("Weir-Stream"))
	in := bufio.NewReader(slow.Body)
	readEvents(t, in, 1)
	big := chat(strings.Repeat("x", 30<<10))
	for range 2000 { // more than sockets hold: 60 MB
		up.next <- big
	}
	close(up.next)
	rest, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	all := blocks(string(rest))
	for i, b := range all[:len(all)-1] {
		if b != big {
			t.Fatalf("event %d is not whole: %.80q … %d bytes", i+2, b, len(b))
		}
	}
	if last := all[len(all)-1]; !strings.Contains(last, `"code":"weir_gap"`) || !strings.HasPrefix(last, "data: {\"error\"") {
		t.Errorf("it ended with %.300q after %d events", last, len(all))
	}
}

// TestAStreamThatHasNotBegun: its client lost the connection while the model
// was still reading.
func TestAStreamThatHasNotBegun(t *testing.T) {
	begin := make(chan bool)
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		<-begin
		sse(chat("a"), chatFinish, chatDone)(w, r)
	})
	g := startLog(t, relay.MemoryOptions{}, strings.Replace(resuming, "mode: early", "hold: 1ms", 1), up)
	ctx, leave := context.WithCancel(t.Context())
	owner, err := tryPost(ctx, g.url+"/v1/chat/completions", ask1)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	time.AfterFunc(50*time.Millisecond, func() { close(begin) })
	r := get(t, g.url+"/weir/streams/"+owner.Header.Get("Weir-Stream"))
	if got := text(t, r); r.StatusCode != http.StatusOK || got != chat("a")+chatFinish+chatDone {
		t.Errorf("%d\n%s", r.StatusCode, got)
	}
}

// TestAFollowerIsKeptAlive by heartbeats, and let go when the gateway closes.
func TestAFollowerIsKeptAlive(t *testing.T) {
	up := newStepped(t)
	g := startLog(t, relay.MemoryOptions{}, strings.Replace(resuming, "resume:", "heartbeat: 10ms, resume:", 1), up.url)
	owner := post(t, g.url+"/v1/chat/completions", ask1)
	up.next <- chat("a")
	in := bufio.NewReader(get(t, g.url+"/weir/streams/"+owner.Header.Get("Weir-Stream")).Body)
	readEvents(t, in, 1)
	for range 3 {
		if line, err := in.ReadString('\n'); err != nil || line != ": hb\n" {
			t.Fatalf("%q, %v", line, err)
		}
	}
	g.g.Close()
	rest, err := io.ReadAll(in)
	if !strings.Contains(string(rest), `"shutdown"`) {
		t.Errorf("it ended with %q, %v", rest, err)
	}
}

// TestEventsAndHeartbeatsAlternate: a wait that ends for a heartbeat may have
// brought events, and needs none then.
func TestEventsAndHeartbeatsAlternate(t *testing.T) {
	up := newStepped(t)
	g := startLog(t, relay.MemoryOptions{}, strings.Replace(resuming, "resume:", "heartbeat: 10ms, resume:", 1), up.url)
	owner := post(t, g.url+"/v1/chat/completions", ask1)
	follower := get(t, g.url+"/weir/streams/"+owner.Header.Get("Weir-Stream"))
	want := ""
	for i := range 60 {
		piece := chat(fmt.Sprint(i))
		want += piece
		up.next <- piece
		time.Sleep(time.Duration(i%12) * time.Millisecond)
	}
	up.next <- chatFinish + chatDone
	close(up.next)
	if got := strings.ReplaceAll(text(t, follower), ": hb\n", ""); got != want+chatFinish+chatDone {
		t.Errorf("the follower got\n%s", got)
	}
}

func TestCutLineEndsAreKeptWhole(t *testing.T) {
	log := relay.NewMemory(relay.MemoryOptions{})
	defer log.Close()
	for _, c := range []struct{ in, kept []string }{
		{[]string{"data: a\r\n\r", "\ndata: b\r\n\r\n"}, []string{"data: a\r\n\r\n", "data: b\r\n\r\n"}},
		{[]string{"data: a\r\r", "data: b\r\r"}, []string{"data: a\r\r", "data: b\r\r"}},
		{[]string{"data: a\n\n", "\n\n"}, []string{"data: a\n\n"}},
		{[]string{": hb\n\n", ": hb\ndata: a\n\n", ":\r\n\r", "\ndata: b\n\n"}, []string{": hb\ndata: a\n\n", "data: b\n\n"}},
	} {
		l := &live{id: randomID(), resumable: true, format: "sse", ids: true, dialect: "openai.chat", route: &route{Route: DefaultRoute()}}
		g := &Gateway{common: newCommon(Limits{}), o: Options{Log: log}}
		k := g.newKeeper(l)
		for _, e := range c.in {
			if _, err := k.Append([]byte(e), false); err != nil {
				t.Fatal(err)
			}
		}
		k.Close()
		var got []string
		for e, err := range log.After(t.Context(), l.id, relay.Position{}) {
			if err != nil {
				t.Fatal(err)
			}
			if !e.Terminal {
				got = append(got, string(e.Frame))
			}
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.kept) {
			t.Errorf("%q is kept as %q, want %q", c.in, got, c.kept)
		}
	}
}

// A service that uses an answer's id again means its newest answer.
func TestAnswersOfTheSameID(t *testing.T) {
	var asked atomic.Int32
	event := func(typ string, n int, rest string) string {
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":%d%s}\n\n", typ, typ, n, rest)
	}
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		word := fmt.Sprintf("word-%d", asked.Add(1))
		sse(event("response.created", 0, `,"response":{"id":"resp_same","status":"in_progress"}`),
			event("response.output_text.delta", 1, `,"delta":"`+word+`"`),
			event("response.completed", 2, `,"response":{"id":"resp_same","status":"completed"}`))(w, r)
	})
	g := startLog(t, relay.MemoryOptions{}, resuming, up)
	for _, word := range []string{"word-1", "word-2", "word-3"} {
		_ = text(t, post(t, g.url+"/v1/responses", `{"model":"m","stream":true,"input":"hi"}`))
		got := text(t, get(t, g.url+"/v1/responses/resp_same?stream=true&starting_after=0"))
		if !strings.Contains(got, word) || !strings.Contains(got, "response.completed") {
			t.Errorf("want %s: %q", word, got)
		}
	}
}
