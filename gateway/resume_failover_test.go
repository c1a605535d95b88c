package gateway

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/relay/redis/redistest"
)

// A replica that lags becomes the master in the middle of a stream. Its own
// client sees nothing of it, streams that begin meanwhile say that they cannot
// be resumed, and who follows at another instance gets every event once.
func TestFailoverUnseen(t *testing.T) {
	g := redistest.StartWatched(t, 1)
	up := newStepped(t)
	m := startMock(t, "ttft=2ms,gap=0ms,n=5")
	a, far := startShared(t, g, resuming, up.url)
	b, _ := startShared(t, g, resuming, up.url)
	other, away := startShared(t, g, resuming, m.URL())
	first := post(t, a.url+"/v1/chat/completions", ask1)
	in := bufio.NewReader(first.Body)
	up.next <- chat("a")
	got := readEvents(t, in, 1)
	at := "/weir/streams/" + first.Header.Get("Weir-Stream")
	g.Sync()
	g.Detach()
	follower := soon(t, b.url+at)
	behind := bufio.NewReader(follower.Body)
	up.next <- chat("b")
	got += readEvents(t, in, 1)
	if seen := readEvents(t, behind, 2); seen != got {
		t.Fatalf("the follower has %q", seen)
	}
	brief := post(t, other.url+"/v1/chat/completions", ask1) // of which the replica knows nothing
	said := text(t, brief)
	if seen := text(t, soonUp(t, b.url+"/weir/streams/"+brief.Header.Get("Weir-Stream"))); seen != said {
		t.Fatalf("elsewhere: %q, want %q", seen, said)
	}
	g.Master.Kill()
	up.next <- chat("c")
	got += readEvents(t, in, 1)
	for end := time.Now().Add(30 * time.Second); far.Up() || away.Up(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody noticed")
		}
	}
	if during := post(t, other.url+"/v1/chat/completions", ask1); during.Header.Get("Weir-Resumable") != "false" || !strings.HasSuffix(text(t, during), chatDone) {
		t.Errorf("a stream that began meanwhile: %v", during.Header)
	}
	g.Promote()
	for _, p := range []string{chat("d"), chatFinish, chatDone} {
		up.next <- p
	}
	close(up.next)
	rest, err := io.ReadAll(in)
	whole := got + string(rest)
	if want := chat("a") + chat("b") + chat("c") + chat("d") + chatFinish + chatDone; err != nil || whole != want {
		t.Errorf("its own client got %q, %v", whole, err)
	}
	if rest, err = io.ReadAll(behind); err != nil || chat("a")+chat("b")+string(rest) != whole {
		t.Errorf("the follower got, at last, %q, %v", rest, err)
	}
	for path, want := range map[string]string{at + "?after=1": strings.TrimPrefix(whole, chat("a")), "/weir/streams/" + brief.Header.Get("Weir-Stream"): said} {
		var r *http.Response
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if r = get(t, b.url+path); r.StatusCode != http.StatusServiceUnavailable || time.Now().After(end) {
				break // 404 would be believed
			}
		}
		if body := text(t, r); r.StatusCode != http.StatusOK || body != want {
			t.Errorf("%s afterwards: %d %q, want %q", path, r.StatusCode, body, want)
		}
	}
}
