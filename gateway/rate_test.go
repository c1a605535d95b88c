package gateway

import (
	"bufio"
	"strings"
	"sync"
	"testing"
	"time"
)

// talk is a service that says so many words at once.
func talk(n int) []string {
	return []string{chatRole + strings.Repeat(chat("w "), n) + chatFinish + chatDone}
}

const limited = `
upstreams: {main: {urls: ["%s"]}}
limits: {output_per_key: {tokens_per_second: 20, burst: 5}}
routes: [{path: "/*", upstream: main, silence: {log: 100ms, act: 100ms, tell: 0s}, on_silence: end, floor: {tokens_per_second: 100, window: 1s}}]
`

// The streams of a key share its rate; nothing is lost, and the gateway's own
// wait is neither silence nor slowness.
func TestOutputPerKey(t *testing.T) {
	g := start(t, limited, scripted(t, sse(talk(20)...)))
	began := time.Now()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			got := text(t, post(t, g.url+"/v1/chat/completions", ask1, "Authorization", "Bearer one"))
			if got != talk(20)[0] {
				t.Errorf("got %q", got)
			}
		})
	}
	all.Wait()
	// 40 tokens less 5 at once, 20 in a second; the first of a stream is not waited for.
	if took := time.Since(began); took < 1500*time.Millisecond {
		t.Errorf("took %s", took)
	}
	until(t, "both ended", func() bool { return len(g.all()) == 2 })
	for _, e := range g.all() {
		if e.Terminal != "done" || e.Reason != "" {
			t.Errorf("ended %q, %q", e.Terminal, e.Reason)
		}
	}
}

// The first output is not delayed, however much the key owes, and another key
// owes nothing.
func TestFirstOutputIsNotLimited(t *testing.T) {
	g := start(t, limited, scripted(t, sse(talk(60)...)))
	first := func(key string) string {
		r := bufio.NewReader(post(t, g.url+"/v1/chat/completions", ask1, "Authorization", "Bearer "+key).Body)
		for {
			line, err := r.ReadString('\n')
			if err != nil || strings.Contains(line, `"content":"w`) {
				return line
			}
		}
	}
	began := time.Now()
	for range 4 { // the key owes seconds before the last of them asks
		first("one")
		time.Sleep(50 * time.Millisecond)
	}
	if first("one") == "" || first("two") == "" || time.Since(began) > 3*time.Second {
		t.Errorf("took %s", time.Since(began))
	}
}

// More than the burst at once is owed, not refused; what is owed is paid by time.
func TestKeyRate(t *testing.T) {
	r := newRates(OutputRate{TokensPerSecond: 10, Burst: 5})
	k, now := r.enter(principal{1}), time.Unix(1000, 0)
	if k != r.enter(principal{1}) || k == r.enter(principal{2}) {
		t.Error("a rate is a key's")
	}
	for i, want := range []time.Duration{0, 2 * time.Second, 2100 * time.Millisecond} {
		if got := k.take([]int{5, 20, 1}[i], now); got != want {
			t.Errorf("take %d: %s, want %s", i, got, want)
		}
	}
	if got := k.take(1, now.Add(10*time.Second)); got != 0 {
		t.Errorf("after the debt: %s", got)
	}
	if none := newRates(OutputRate{}).enter(principal{1}); none.take(1000, now) != 0 || newRates(OutputRate{TokensPerSecond: 2.5}).burst != 3 {
		t.Error("off is none; a burst is that of a second")
	}
}

// Another limit is in force for the keys that are there; what they have left, or
// owe, is theirs.
func TestKeyRateIsSet(t *testing.T) {
	r := newRates(OutputRate{TokensPerSecond: 10, Burst: 5})
	k := r.enter(principal{1})
	k.take(25, time.Now())
	about := func(what string, want time.Duration) {
		t.Helper()
		if got := k.take(1, time.Now()); got < want-time.Second || got > want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	r.set(OutputRate{TokensPerSecond: 10, Burst: 5})
	about("the same", 2100*time.Millisecond)
	r.set(OutputRate{TokensPerSecond: 1, Burst: 50})
	about("slower", 22*time.Second)
	if r.enter(principal{2}).take(50, time.Now()) != 0 {
		t.Error("a new key has the new burst")
	}
	r.set(OutputRate{})
	about("none", 0)
}

// A configuration that is taken up gives no key a new burst, and a limit that it
// changes is in force at once.
func TestReloadKeepsOutputRates(t *testing.T) {
	const limit = "limits: {output_per_key: {tokens_per_second: %d, burst: 5}}\n" + small
	up := scripted(t, sse(talk(15)...))
	g := startFront(t, limit, 5, up)
	took := func() time.Duration {
		began := time.Now()
		if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); got != talk(15)[0] {
			t.Errorf("got %q", got)
		}
		return time.Since(began)
	}
	took() // 10 tokens more than the burst: 2 s
	g.reload(limit, 5, up)
	if d := took(); d < 2500*time.Millisecond { // 15 tokens, and no burst: 3 s
		t.Errorf("after a reload of the same limit it took %s", d)
	}
	g.reload(limit, 100000, up)
	if d := took(); d > 2*time.Second {
		t.Errorf("with a limit that is no longer felt it took %s", d)
	}
}

// Keys without streams that owe nothing are forgotten, others are not.
func TestKeysAreForgotten(t *testing.T) {
	r := newRates(OutputRate{TokensPerSecond: 1, Burst: 5})
	stays, owes := r.enter(principal{1}), r.enter(principal{2})
	owes.take(1000, time.Now())
	r.leave(owes)
	for i := range 3 * manyKeys {
		r.leave(r.enter(principal{3, byte(i), byte(i >> 8)}))
	}
	if len(r.key) > manyKeys || r.key[principal{1}] != stays || r.key[principal{2}] != owes {
		t.Errorf("%d keys", len(r.key))
	}
}
