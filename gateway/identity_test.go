package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
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

func TestRecordOfARequest(t *testing.T) {
	m := startMock(t, "ttft=30ms,gap=1ms,n=10,usage=end")
	g := start(t, small, m.URL())
	body := strings.Replace(ask1, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`, 1)
	resp := post(t, g.url+"/v1/chat/completions", body, "X-Request-Id", "request-42", "Authorization", "Bearer mine")
	_ = text(t, resp)
	look := func(key string) *http.Response {
		req, _ := http.NewRequest(http.MethodGet, g.url+"/weir/records/request-42", nil)
		req.Header.Set("Authorization", key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	if r := look("Bearer other"); r.StatusCode != http.StatusNotFound {
		t.Errorf("a foreign record: %d", r.StatusCode)
	}
	var got struct {
		summary
		Generated struct{ Events int } `json:"generated"`
		Delivered struct{ Events int } `json:"delivered"`
		Phases    map[string]*float64  `json:"phases"`
	}
	if err := json.NewDecoder(look("Bearer mine").Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.RequestID != "request-42" || got.Dialect != "openai.chat" || got.Outcome != "complete" || got.Terminal != "done" ||
		got.BodyID == "" || got.TraceParent == "" || got.Attempts != 1 || got.Status != 200 || got.Usage == nil {
		t.Errorf("%+v", got)
	}
	if got.Generated.Events != 10 || got.Delivered.Events != 10 {
		t.Errorf("generated %d, delivered %d events", got.Generated.Events, got.Delivered.Events)
	}
	for _, name := range []string{"queue_ms", "auth_ms", "route_ms", "connect_ms", "headers_ms", "ttft_ms", "relay_ms", "total_ms"} {
		if got.Phases[name] == nil {
			t.Errorf("phase %s is missing", name)
		}
	}
	if ttft := got.Phases["ttft_ms"]; ttft != nil && *ttft < 30 {
		t.Errorf("ttft %g ms, the mock takes 30", *ttft)
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
