package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/relay"
)

// TestRandomCutsOfLiveStreams has clients whose connections break again and
// again while the answer is being made: 0 lost, 0 doubled.
func TestRandomCutsOfLiveStreams(t *testing.T) {
	const clients, words = 12, 120
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		var pieces []string
		for i := range words {
			pieces = append(pieces, chat(fmt.Sprint("word ", i, " ", strings.Repeat("字", i%9))), "1ms")
		}
		sse(append(pieces, chatFinish, chatDone)...)(w, r)
	})
	g := startLog(t, relay.MemoryOptions{}, resuming, up)
	var want []string
	for i := range words {
		want = append(want, strings.TrimSuffix(strings.TrimPrefix(chat(fmt.Sprint("word ", i, " ", strings.Repeat("字", i%9))), "data: "), "\n\n"))
	}
	for _, last := range []string{chatFinish, chatDone} {
		want = append(want, strings.TrimSuffix(strings.TrimPrefix(last, "data: "), "\n\n"))
	}
	for seed := range uint64(clients) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			cuts := 0
			got := followed(t, g, "/v1/chat/completions", ask1,
				func(int) int { return 300 + random.IntN(2000) }, // always a whole event, so that it is never given up
				func() { cuts++ })
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
				t.Errorf("after %d cuts:\n%q\nwant:\n%q", cuts, got, want)
			}
			if cuts < 5 {
				t.Errorf("only %d cuts: the test proves little", cuts)
			}
		})
	}
}

// TestAFullLog: a stream that cannot be kept is served all the same, and says so.
func TestAFullLog(t *testing.T) {
	n := 0
	hang := make(chan bool)
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			sse(chat("a"))(w, r)
			<-hang
			return
		}
		sse(chat("b"), chatFinish, chatDone)(w, r)
	})
	g := startLog(t, relay.MemoryOptions{Streams: 1}, strings.Replace(resuming, "mode: early", "mode: hold", 1), up)
	first := post(t, g.url+"/v1/chat/completions", ask1)
	second := post(t, g.url+"/v1/chat/completions", ask1, "weir-resume", "1")
	if got := text(t, second); got != chat("b")+chatFinish+chatDone || second.Header.Get("Weir-Resumable") != "false" {
		t.Errorf("the second: %v\n%s", second.Header, got)
	}
	if r := get(t, g.url+"/weir/streams/"+second.Header.Get("Weir-Stream")); r.StatusCode != http.StatusNotFound {
		t.Errorf("what was not kept: %d", r.StatusCode)
	}
	close(hang)
	if first.Header.Get("Weir-Resumable") != "true" {
		t.Errorf("the first: %v", first.Header)
	}
}

// TestSlowFollowersSlowNobody: one does not read at all, another is in time.
func TestSlowFollowersSlowNobody(t *testing.T) {
	up := newStepped(t)
	g := startLog(t, relay.MemoryOptions{}, resuming, up.url)
	owner := post(t, g.url+"/v1/chat/completions", ask1)
	at := g.url + "/weir/streams/" + owner.Header.Get("Weir-Stream")
	deaf := get(t, at)
	quick := bufio.NewReader(get(t, at).Body)
	piece := chat(strings.Repeat("x", 8<<10))
	go func() { _, _ = io.Copy(io.Discard, owner.Body) }()
	for range 1000 { // 8 MB: more than the deaf one's socket holds
		up.next <- piece
		if got := readEvents(t, quick, 1); got != piece {
			t.Fatalf("the quick one got %.80q", got)
		}
	}
	_ = deaf
	close(up.next)
}

// TestAFollowerKeepsTheStream: the grace window begins when the last is gone.
func TestAFollowerKeepsTheStream(t *testing.T) {
	up := newStepped(t)
	g := startLog(t, relay.MemoryOptions{}, strings.Replace(resuming, "grace: 30s", "grace: 100ms", 1), up.url)
	ctx, leave := context.WithCancel(t.Context())
	owner, err := tryPost(ctx, g.url+"/v1/chat/completions", ask1)
	if err != nil {
		t.Fatal(err)
	}
	up.next <- chat("a")
	readEvents(t, bufio.NewReader(owner.Body), 1)
	ctx2, leave2 := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx2, http.MethodGet, g.url+"/weir/streams/"+owner.Header.Get("Weir-Stream"), nil)
	if err != nil {
		t.Fatal(err)
	}
	follower, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(follower.Body)
	readEvents(t, in, 1)
	leave()
	for i := range 20 { // four times the grace window
		time.Sleep(20 * time.Millisecond)
		select {
		case up.next <- chat(fmt.Sprint(i)):
		case <-up.gone:
			t.Fatal("the upstream was cancelled though a follower reads")
		}
		if got := readEvents(t, in, 1); got != chat(fmt.Sprint(i)) {
			t.Fatalf("event %d is %q", i, got)
		}
	}
	leave2()
	select {
	case <-up.gone:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody follows, and the upstream still runs")
	}
}

// TestAnOldOwnerCannotWrite into another generation of its stream.
func TestAnOldOwnerCannotWrite(t *testing.T) {
	log := relay.NewMemory(relay.MemoryOptions{})
	defer log.Close()
	l := &live{id: randomID(), resumable: true, format: "sse", route: &route{Route: DefaultRoute()}}
	k := (&Gateway{common: newCommon(Limits{}), o: Options{Log: log}}).newKeeper(l)
	if _, err := k.Append([]byte(chat("a")), false); err != nil {
		t.Fatal(err)
	}
	if err := log.Drop(t.Context(), l.id); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Open(t.Context(), l.id, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Append([]byte(chat("b")), false); err == nil {
		t.Error("it wrote")
	}
	k.Close()
	if s, err := log.Stat(t.Context(), l.id); err != nil || s.Last.Offset != 0 || s.Ended {
		t.Errorf("the new generation has %+v, %v", s, err)
	}
}
