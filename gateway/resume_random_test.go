package gateway

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

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
