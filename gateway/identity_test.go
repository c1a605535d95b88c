package gateway

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestRequestID(t *testing.T) {
	var sent http.Header
	g := start(t, small, scripted(t, func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Clone()
		w.Header().Set("X-Request-Id", "upstream-made-1")
		sse(chat("a")+chatFinish+chatDone)(w, r)
	}))
	long := strings.Repeat("a", 128)
	for given, kept := range map[string]bool{
		"abcdefgh": true, "a.b_c-1234": true, long: true, long + "a": false, "short": false, "with space": false,
		"semi;colon": false, "": false, "ümlaut-id": false,
	} {
		resp := post(t, g.url+"/v1/chat/completions", ask1, "X-Request-Id", given)
		_ = text(t, resp)
		got := resp.Header.Get("X-Request-Id")
		if (got == given) != kept || !goodID(got) || sent.Get("X-Request-Id") != got {
			t.Errorf("given %q: echoed %q, sent upstream %q", given, got, sent.Get("X-Request-Id"))
		}
		if !strings.Contains(g.logs.String(), "request_id="+got) {
			t.Errorf("%q is not in the log", got)
		}
	}
	two := post(t, g.url+"/v1/chat/completions", ask1, "X-Request-Id", "first-one", "X-Request-Id", "second-one")
	if got := two.Header.Get("X-Request-Id"); strings.Contains(got, "one") {
		t.Errorf("of two ids %q was chosen", got)
	}
}

func TestTraceIsContinued(t *testing.T) {
	var sent http.Header
	g := start(t, small, scripted(t, func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Clone()
		sse(chat("a")+chatFinish+chatDone)(w, r)
	}))
	trace := "0af7651916cd43dd8448eb211c80319c"
	_ = text(t, post(t, g.url+"/v1/chat/completions", ask1, "Traceparent", "00-"+trace+"-b7ad6b7169203331-01", "Tracestate", "a=b"))
	p := strings.Split(sent.Get("Traceparent"), "-")
	if len(p) != 4 || p[1] != trace || p[2] == "b7ad6b7169203331" || p[3] != "01" || sent.Get("Tracestate") != "a=b" {
		t.Errorf("sent %q %q", sent.Get("Traceparent"), sent.Get("Tracestate"))
	}
	for _, bad := range []string{"", "00-0-0-0", "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01", "01-" + trace + "-b7ad6b7169203331-01", "00-" + strings.ToUpper(trace) + "-b7ad6b7169203331-01"} {
		_ = text(t, post(t, g.url+"/v1/chat/completions", ask1, "Traceparent", bad, "Tracestate", "a=b"))
		if got := sent.Get("Traceparent"); childOf(got) == "" || strings.Contains(got, trace) || sent.Get("Tracestate") != "" {
			t.Errorf("for %q sent %q %q", bad, got, sent.Get("Tracestate"))
		}
	}
}

// recordOf asks for the record of a request, with a key.
func (g *rig) recordOf(t *testing.T, id, key string) (status int, body string) {
	t.Helper()
	req, _ := http.NewRequest(http.MethodGet, g.url+"/weir/records/"+id, nil)
	req.Header.Set("Authorization", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode, text(t, resp)
}

func TestRecordOfARequest(t *testing.T) {
	usage := `data: {"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":17,"total_tokens":20,"prompt_tokens_details":{"cached_tokens":2},"completion_tokens_details":{"reasoning_tokens":5}}}` + "\n\n"
	up := sse("60ms", chat("a"), "120ms", chat("b"), chatFinish, usage, chatDone)
	g := start(t, small, scripted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "made-by-service-1")
		up(w, r)
	}))
	body := strings.Replace(ask1, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`, 1)
	began := time.Now()
	_ = text(t, post(t, g.url+"/v1/chat/completions", body, "X-Request-Id", "request-42", "Authorization", "Bearer mine"))
	took := millis(time.Since(began))
	if status, _ := g.recordOf(t, "request-42", "Bearer other"); status != http.StatusNotFound {
		t.Errorf("a foreign record: %d", status)
	}
	_, said := g.recordOf(t, "request-42", "Bearer mine")
	var got struct {
		summary
		Phases map[string]*float64 `json:"phases"`
		Usage  map[string]*int     `json:"usage"`
	}
	if err := json.Unmarshal([]byte(said), &got); err != nil {
		t.Fatal(err)
	}
	if got.RequestID != "request-42" || got.UpstreamID != "made-by-service-1" || got.BodyID != "c1" || got.Dialect != "openai.chat" || got.Model != "m" ||
		got.Outcome != "complete" || got.Terminal != "done" || got.Attempts != 1 || got.Status != 200 || childOf(got.TraceParent) == "" {
		t.Errorf("%s", said)
	}
	if a, b := got.Generated, got.Delivered; a.Events != 2 || b.Events != 2 || a.Tokens.Or(0) != 17 || b.Tokens.Or(0) != 12 || a.Source != fromUsage ||
		b.Source != fromUsage || a.Bytes == 0 || a.Bytes != b.Bytes {
		t.Errorf("generated %+v, delivered %+v", a, b)
	}
	want := map[string]int{"input": 3, "cached": 2, "output": 17, "reasoning": 5, "billed": 17}
	for name, n := range want {
		if v := got.Usage[name]; v == nil || *v != n {
			t.Errorf("usage: %s is not %d in %s", name, n, said)
		}
	}
	if len(got.Usage) != len(want) {
		t.Errorf("usage has other keys: %s", said)
	}
	phase := func(name string, least, most float64) float64 {
		v := got.Phases[name]
		if v == nil || *v < least || *v > most {
			t.Errorf("%s is not between %g and %g ms in %s", name, least, most, said)
			return 0
		}
		return *v
	}
	for _, name := range []string{"queue_ms", "auth_ms", "route_ms", "connect_ms", "headers_ms"} {
		phase(name, 0, took)
	}
	ttft, total := phase("ttft_ms", 60, took-120), phase("total_ms", 180, took)
	if relay := phase("relay_ms", 120, took-60); math.Abs(ttft+relay-total) > 50 {
		t.Errorf("first output after %g ms, relay %g, total %g", ttft, relay, total)
	}
}

// One id is used by two callers, and by one of them again: each finds its own
// last request.
func TestRecordsOfOneID(t *testing.T) {
	g := start(t, small, scripted(t, sse(chat("a"), chatFinish, chatDone)))
	ask := func(key, model string) {
		_ = text(t, post(t, g.url+"/v1/chat/completions", ask1, "X-Request-Id", "request-42", "Authorization", key, "X-Client-Request-Id", model))
	}
	ask("Bearer a", "a-1")
	ask("Bearer b", "b-1")
	ask("Bearer a", "a-2")
	for key, want := range map[string]string{"Bearer a": "a-2", "Bearer b": "b-1"} {
		if status, said := g.recordOf(t, "request-42", key); status != http.StatusOK || !strings.Contains(said, `"client_request_id":"`+want+`"`) {
			t.Errorf("%s got %d %s, want the record of %s", key, status, said, want)
		}
	}
	if status, _ := g.recordOf(t, "request-42", "Bearer c"); status != http.StatusNotFound {
		t.Errorf("a third got %d", status)
	}
}

// The last requests are kept, no more of them; an id that was used again is
// not forgotten with its older request.
func TestFinishedKeepsTheNewest(t *testing.T) {
	f := newFinished()
	add := func(id string) *summary {
		s := &summary{principal: anonymous, RequestID: id}
		f.add(s)
		return s
	}
	add("again")
	add("once")
	newer := add("again")
	for i := range keepFinished - 2 {
		add("other-" + strconv.Itoa(i))
	}
	if f.find("again", anonymous) != newer {
		t.Error("the newer request went with the older one of the same id")
	}
	if add("last"); f.find("once", anonymous) != nil || f.find("again", anonymous) != newer {
		t.Error("what is too old is not forgotten, or what is not is")
	}
	if add("very-last"); f.find("again", anonymous) != nil || len(f.byID) != keepFinished {
		t.Errorf("%d are kept of %d", len(f.byID), keepFinished)
	}
}

// All ids of a request are recorded: ours, what the client gave instead, the
// client's own beside it, the service's, and the body's.
func TestAllIDsAreRecorded(t *testing.T) {
	var sent http.Header
	g := start(t, small, scripted(t, func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Clone()
		w.Header().Set("X-Request-Id", "made-by-service-1")
		w.Header().Set("Traceresponse", "00-"+strings.Repeat("9", 32)+"-"+strings.Repeat("8", 16)+"-01")
		sse(chat("a")+chatFinish+chatDone)(w, r)
	}))
	trace := "0af7651916cd43dd8448eb211c80319c"
	long := "x y" + strings.Repeat("z", 5000)
	for given, want := range map[string]string{"short": "short", "has \"quotes\"\tand ü": `has \"quotes\"\tand \u00fc`, long: long[:mostQuoted] + "..."} {
		resp := post(t, g.url+"/v1/chat/completions", ask1, "X-Request-Id", given, "X-Client-Request-Id", "client id/7", "Traceparent", "00-"+trace+"-b7ad6b7169203331-01")
		_ = text(t, resp)
		ours := resp.Header.Get("X-Request-Id")
		if got := strings.Split(resp.Header.Get("Traceresponse"), "-"); len(got) != 4 || got[1] != trace || strings.Join(got, "-") != sent.Get("Traceparent") {
			t.Errorf("the trace came back as %q", got)
		}
		if sent.Get("X-Client-Request-Id") != "client id/7" || sent.Get("X-Request-Id") != ours {
			t.Errorf("the service got %v", sent)
		}
		_, said := g.recordOf(t, ours, "")
		var got summary
		if err := json.Unmarshal([]byte(said), &got); err != nil {
			t.Fatal(err)
		}
		if got.GivenID != want || got.ClientID != "client id/7" || got.UpstreamID != "made-by-service-1" || got.BodyID != "c1" || got.RequestID != ours {
			t.Errorf("given %.200q: %.500s", given, said)
		}
		g.mu.Lock()
		r := g.records[len(g.records)-1]
		g.mu.Unlock()
		if f := r.Facts; f.OurID != ours || f.UpstreamID != "made-by-service-1" || f.BodyID != "c1" || f.Extra["given_id"] != want || f.Extra["client_request_id"] != "client id/7" {
			t.Errorf("given %.200q, the log has %.500v", given, f)
		}
		if !strings.Contains(g.logs.String(), "given_id="+strconv.Quote(want)) && !strings.Contains(g.logs.String(), "given_id="+want) {
			t.Errorf("given %.200q is not in the log lines", given)
		}
	}
	two := post(t, g.url+"/v1/chat/completions", ask1, "X-Request-Id", "first-one", "X-Request-Id", "second-one")
	_ = text(t, two)
	if _, said := g.recordOf(t, two.Header.Get("X-Request-Id"), ""); !strings.Contains(said, `"given_id":"first-one, second-one"`) {
		t.Errorf("of two ids: %s", said)
	}
	good := post(t, g.url+"/v1/chat/completions", ask1, "X-Request-Id", "good-enough")
	_ = text(t, good)
	if _, said := g.recordOf(t, "good-enough", ""); said == "" || strings.Contains(said, "given_id") || strings.Contains(said, "client_request_id") {
		t.Errorf("a good id: %s", said)
	}
}

// Who is refused learns the trace as well.
func TestARefusalHasItsTrace(t *testing.T) {
	g := start(t, small+"keys: {mode: file, file: "+fileOf(t, "keys.yaml", "keys: [{name: a, key: mine-of-a-length}]\n")+"}\n", "http://127.0.0.1:1")
	for _, path := range []string{"/v1/chat/completions", "/weir/records/request-42", "/weir/streams/0123/stop"} {
		resp := post(t, g.url+path, ask1)
		if path == "/weir/records/request-42" {
			resp = get(t, g.url+path)
		}
		page := post(t, g.url+path, ask1, "Origin", "https://evil.example.com")
		for r, status := range map[*http.Response]int{resp: http.StatusUnauthorized, page: http.StatusForbidden} {
			if r.StatusCode != status || childOf(r.Header.Get("Traceresponse")) == "" || !goodID(r.Header.Get("X-Request-Id")) {
				t.Errorf("%s: %d %v", path, r.StatusCode, r.Header)
			}
		}
	}
}

// A gateway behind a gateway hands the service's own id on.
func TestUpstreamIDThroughTwo(t *testing.T) {
	behind := start(t, small, scripted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "made-by-service-1")
		sse(chat("a")+chatFinish+chatDone)(w, r)
	}))
	g := start(t, small, behind.url)
	resp := post(t, g.url+"/v1/chat/completions", ask1, "X-Request-Id", "request-42")
	_ = text(t, resp)
	if _, said := g.recordOf(t, "request-42", ""); resp.Header.Get("X-Upstream-Request-Id") != "made-by-service-1" || !strings.Contains(said, `"upstream_id":"made-by-service-1"`) {
		t.Errorf("%v, %s", resp.Header, said)
	}
}

func TestMetaEvent(t *testing.T) {
	g := start(t, `
upstreams: {main: {urls: ["%s"]}}
routes: [{path: "/*", upstream: main, meta_event: true}]
`, scripted(t, sse(chatRole, chat("a"), chatFinish, chatDone)))
	list := frames(t, "sse", text(t, post(t, g.url+"/v1/chat/completions", ask1)))
	var meta map[string]any
	if string(list[1].Event) != "meta" || json.Unmarshal(list[1].Data, &meta) != nil {
		t.Fatalf("second frame %q %q", list[1].Event, list[1].Data)
	}
	for _, key := range []string{"prepare_ms", "queue_ms", "ttft_ms"} {
		if _, ok := meta[key].(float64); !ok {
			t.Errorf("%s is missing in %v", key, meta)
		}
	}
	if len(list) != 5 {
		t.Errorf("%d frames", len(list))
	}
}
