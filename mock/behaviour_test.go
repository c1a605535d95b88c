package mock

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestPrecedence(t *testing.T) {
	s := serve(t, Options{Set: "ttft=0s,gap=0s,n=1"})
	c := client(t, &http.Transport{})
	body := func(model string) string { return `{"stream":true,"model":"` + model + `"}` }
	for _, tc := range []struct {
		query, header, model string
		want                 int
	}{
		{"", "", "m", 1},
		{"", "", "mock,n=2,stage=a:1ms,b:1ms", 2},
		{"", "n=3&seed=4", "mock,n=2", 3},
		{"?n=4", "n=3", "mock,n=2", 4},
		{"?n=4&alt=sse&api-version=2026-01-01&beta=true", "", "m", 4},
	} {
		a := askMock(t, c, s.URL()+chat+tc.query, body(tc.model), "X-Weir-Mock", tc.header)
		if got := a.count(textEvents); got != tc.want {
			t.Errorf("query %q header %q model %q: %d outputs, want %d: %s", tc.query, tc.header, tc.model, got, tc.want, a.body)
		}
	}
}

func TestBadBehaviours(t *testing.T) {
	s := serve(t, Options{})
	c := client(t, &http.Transport{})
	bad := map[string]string{
		"tttft=1s": `tttft`, "ttft=soon": "ttft", "ttft=-1s": "ttft", "ttft=25h": "ttft", "gap=exp": "gap", "gap=exp:x": "gap",
		"gap=gamma:1s": "gamma", "gap=uniform:2s:1s": "gap", "gap=normal:1s": "gap", "gap=lognormal:1s:99": "gap",
		"n=-1": "n", "n=x": "n", "n=99999999": "n", "tokens_per_event=0": "tokens_per_event", "lang=de": "lang", "seed=-1": "seed",
		"reasoning=9&n=5": "reasoning", "stage=a": "stage", "stage=:1s": "stage", "emit=a": "emit", "emit=a@0": "emit", "state=a@1": "state",
		"heartbeat=ping": "heartbeat", "gzip=br": "gzip", "crlf=maybe": "crlf", "cut=word": "cut", "usage=twice": "usage",
		"done=never": "done", "truncate_after=-1": "truncate_after", "error=500": "error", "status=302": "status", "status=99": "status",
		"retry_after=soon": "retry_after", "emit=a%0ab@1": "emit", "flush_bytes=-5": "flush_bytes", "heartbeat_every=1us": "heartbeat_every",
	}
	for q, name := range bad {
		a := askMock(t, c, s.URL()+chat+"?"+q, "")
		if a.status != 400 || !strings.Contains(string(a.body), name) || a.count(`"error":{`) != 1 {
			t.Errorf("%s: status %d, want 400 naming %s: %s", q, a.status, name, a.body)
		}
	}
	for where, a := range map[string]answer{
		"model":  askMock(t, c, s.URL()+chat, `{"model":"mock,nope=1"}`),
		"header": askMock(t, c, s.URL()+chat, "", "X-Weir-Mock", "nope=1"),
		"body":   askMock(t, c, s.URL()+chat, `{"model":`),
	} {
		if a.status != 400 || !strings.Contains(string(a.body), where) {
			t.Errorf("%s: status %d, want 400 naming the place: %s", where, a.status, a.body)
		}
	}
	for path, name := range map[string]string{custom + "?tool=1": "tool", custom + "?reasoning=1": "reasoning", "/api/generate?tool=1": "tool",
		"/v1beta/models/m:countTokens": "countTokens"} {
		if a := askMock(t, c, s.URL()+path, ""); a.status != 400 || !strings.Contains(string(a.body), name) {
			t.Errorf("%s: status %d, want 400 naming %s: %s", path, a.status, name, a.body)
		}
	}
	if got := s.Stats(); got.Started != 0 {
		t.Errorf("refused requests were counted: %+v", got)
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []Options{{Set: "nope=1"}, {Set: "n=x"}, {FreezeEvery: time.Second}, {FreezeEvery: time.Second, FreezeFor: time.Second},
		{Listen: "256.0.0.1:0"}, {Set: "tool=60"}} {
		if s, err := Start(o); err == nil {
			t.Errorf("%+v was accepted", o)
			_ = s.Close()
		}
	}
}

func TestSeedRepeatsExactly(t *testing.T) {
	s := serve(t, Options{Set: "ttft=0s,gap=0s,n=30,tokens_per_event=2"})
	c := client(t, &http.Transport{})
	for _, lang := range []string{"en", "zh"} {
		for _, p := range protocols {
			if p.name == "ollama" {
				continue // created_at is a clock
			}
			url := func(seed string) string {
				path := strings.Replace(p.path, "{call}", "m:streamGenerateContent", 1)
				if p.lacks == "" {
					path += "?reasoning=3&tool=3&lang="
				} else {
					path += "?lang="
				}
				return s.URL() + path + lang + "&seed=" + seed
			}
			a, b, other := askMock(t, c, url("7"), ""), askMock(t, c, url("7"), ""), askMock(t, c, url("8"), "")
			if !bytes.Equal(a.body, b.body) {
				t.Errorf("%s %s: the same seed gave other bytes", p.name, lang)
			}
			if bytes.Equal(a.body, other.body) {
				t.Errorf("%s %s: another seed gave the same bytes", p.name, lang)
			}
		}
	}
}

func TestDistributions(t *testing.T) {
	for _, tc := range []struct {
		dist   string
		lo, hi time.Duration // of the mean of 4000
	}{
		{"20ms", 20 * time.Millisecond, 20 * time.Millisecond},
		{"exp:20ms", 18 * time.Millisecond, 22 * time.Millisecond},
		{"normal:20ms:5ms", 19 * time.Millisecond, 21 * time.Millisecond},
		{"lognormal:20ms:0.5", 21 * time.Millisecond, 24500 * time.Microsecond}, // mean 20 ms × e^(0.5²/2)
		{"uniform:10ms:30ms", 19 * time.Millisecond, 21 * time.Millisecond},
	} {
		d, err := ParseDist(tc.dist)
		if err != nil {
			t.Fatal(err)
		}
		r, sum := rand.New(rand.NewPCG(1, 1)), time.Duration(0)
		for range 4000 {
			v := d.Sample(r)
			if v < 0 {
				t.Fatalf("%s gave %s", tc.dist, v)
			}
			sum += v
		}
		if mean := sum / 4000; mean < tc.lo || mean > tc.hi {
			t.Errorf("%s: mean %s, want %s to %s", tc.dist, mean, tc.lo, tc.hi)
		}
	}
}

func TestParseListKeepsCommasOfValues(t *testing.T) {
	got, err := parseList("ttft=1s,stage=plan:1s,search:2s,emit=a@1,b@2,crlf,state=k:a%2Cb@3", "x")
	if err != nil {
		t.Fatal(err)
	}
	want := []setting{{"ttft", "1s", "x"}, {"stage", "plan:1s,search:2s", "x"}, {"emit", "a@1,b@2", "x"}, {"crlf", "", "x"}, {"state", "k:a,b@3", "x"}}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("setting %d: %v, want %v", i, got[i], want[i])
		}
	}
}
