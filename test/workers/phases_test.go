package workers

import (
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/dialect"
	"weir/gateway"
	"weir/ws"
)

// alone is the address of a gateway in one process before the same services.
func (s *site) alone() string {
	s.t.Helper()
	g, err := gateway.New(s.conf, gateway.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(g.Handler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	s.t.Cleanup(func() {
		server.CloseClientConnections()
		g.Close()
		server.Close()
	})
	return server.URL
}

// timing is a Server-Timing header, in ms by name.
func timing(t *testing.T, header string) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for part := range strings.SplitSeq(header, ", ") {
		name, value, _ := strings.Cut(part, ";dur=")
		ms, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Errorf("Server-Timing %q", header)
		}
		all[name] = ms
	}
	return all
}

// recordOf is what GET /weir/records/{id} says of a request.
func recordOf(t *testing.T, url, id string) (record map[string]any) {
	t.Helper()
	await(t, func() bool {
		resp, err := http.Get(url + "/weir/records/" + id)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return false
		}
		if err := json.NewDecoder(resp.Body).Decode(&record); err != nil {
			t.Fatal(err)
		}
		return true
	})
	return record
}

// phasesOf is what it says of its phases, in ms.
func phasesOf(t *testing.T, url, id string) map[string]*float64 {
	t.Helper()
	phases := map[string]*float64{}
	for name, v := range recordOf(t, url, id)["phases"].(map[string]any) {
		phases[name] = nil
		if ms, ok := v.(float64); ok {
			phases[name] = &ms
		}
	}
	return phases
}

func known(phases map[string]*float64) (names []string) {
	for name, v := range phases {
		if v != nil && name != "worker_queue_ms" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// slowly takes 60 ms to its headers, and as long to each part of what it says.
func slowly(_ int, w http.ResponseWriter, r *http.Request) {
	const wait = 60 * time.Millisecond
	time.Sleep(wait)
	if r.URL.Path == "/v1/bad" {
		http.Error(w, "{}", http.StatusTooManyRequests)
		return
	}
	if r.URL.Path == "/v1/whole" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
		return
	}
	say(w, "")
	time.Sleep(wait)
	say(w, chat("one"))
	time.Sleep(wait)
	say(w, chatEnd)
}

// A client of an edge sees the phases that it would see of one process, in the
// header, the record, the meta event and the end on a socket; what is not known
// is missing in both.
func TestPhases(t *testing.T) {
	up := scripted(t, slowly)
	for name, c := range map[string]struct{ route, path string }{
		"held":                {"open: {mode: hold}, meta_event: true", chatPath},
		"held shortly":        {"open: {mode: hold, hold: 20ms}", chatPath},
		"early":               {"open: {mode: early}, meta_event: true", chatPath},
		"no stream":           {"open: {mode: hold}", "/v1/whole"},
		"refused":             {"open: {mode: hold}", "/v1/bad"},
		"the service is away": {"upstream: dead", chatPath},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			route := "upstream: main, " + c.route
			if strings.HasPrefix(c.route, "upstream") {
				route = c.route
			}
			s := newSite(t, strings.Replace(strings.Replace(plain, "upstream: main", route, 1), "upstreams: {",
				`upstreams: {dead: {urls: ["http://127.0.0.1:1"]}, `, 1), up.url)
			s.lease = 10 * time.Second // nobody dies here
			e := s.edge()
			s.worker()
			one := s.alone()
			for range 2 { // over a new connection, and over a kept one
				samePhases(t, one, e.url, c.path)
			}
		})
	}
}

func samePhases(t *testing.T, one, far, path string) {
	var names, records [2][]string
	for i, url := range []string{one, far} {
		began := time.Now()
		resp := post(t.Context(), t, url+path, ask)
		head := timing(t, resp.Header.Get("Server-Timing"))
		_, body := whole(t, resp)
		took := float64(time.Since(began).Microseconds()) / 1000
		phases := phasesOf(t, url, resp.Header.Get("X-Request-Id"))
		if queue, ok := head["worker_queue"]; ok != (i == 1) || phases["worker_queue_ms"] == nil == ok || ok && *phases["worker_queue_ms"] != queue {
			t.Errorf("the wait for a worker is %v in %v, %v in the record", queue, head, phases["worker_queue_ms"])
		}
		delete(head, "worker_queue")
		names[i], records[i] = slices.Sorted(maps.Keys(head)), known(phases)
		inOrder(t, head, phases, took)
		if meta, ok := strings.CutPrefix(body, "event: meta\ndata: "); ok {
			metaInOrder(t, meta, phases, took)
		}
	}
	if !slices.Equal(names[0], names[1]) {
		t.Errorf("Server-Timing of one process has %v, of an edge %v", names[0], names[1])
	}
	if !slices.Contains(names[0], "upstream") { // the hold ended before: nobody tells the edge what came after
		records[0] = slices.DeleteFunc(records[0], func(name string) bool { return name == "connect_ms" || name == "headers_ms" })
	}
	if !slices.Equal(records[0], records[1]) {
		t.Errorf("the record of one process has %v, of an edge %v", records[0], records[1])
	}
}

// inOrder holds the times together, in ms: the header's and the record's are of
// one clock, and within what the client saw.
func inOrder(t *testing.T, head map[string]float64, phases map[string]*float64, took float64) {
	t.Helper()
	last := 0.0
	for _, name := range []string{"headers_ms", "ttft_ms", "total_ms"} {
		if v := phases[name]; v != nil && *v < last {
			t.Errorf("%s is %g ms, after %g", name, *v, last)
		} else if v != nil {
			last = *v
		}
	}
	for name, least := range map[string]float64{"upstream": 60, "first_output": 120} {
		if v, ok := head[name]; ok && (v < least || v > took) {
			t.Errorf("%s is %g of %g ms", name, v, took)
		}
	}
	if v := phases["headers_ms"]; v != nil && head["upstream"] != 0 && head["upstream"] != *v {
		t.Errorf("%g ms in the header, %g in the record", head["upstream"], *v)
	}
}

func metaInOrder(t *testing.T, event string, phases map[string]*float64, took float64) {
	t.Helper()
	line, _, _ := strings.Cut(event, "\n")
	var meta map[string]any
	if err := json.Unmarshal([]byte(line), &meta); err != nil {
		t.Fatal(err)
	}
	prepare, _ := meta["prepare_ms"].(float64)
	queue, _ := meta["queue_ms"].(float64)
	ttft, _ := meta["ttft_ms"].(float64)
	if prepare <= 0 || queue < *phases["queue_ms"] || ttft < 120 || ttft < prepare+queue || ttft > took+1 {
		t.Errorf("%s, of %g ms", line, took)
	}
	if w := phases["worker_queue_ms"]; w != nil && queue < *w {
		t.Errorf("%s, with %g ms until a worker had it", line, *w)
	}
}

// The end on an edge's socket has them too.
func TestPhasesOnASocket(t *testing.T) {
	t.Parallel()
	up := scripted(t, slowly)
	s := newSite(t, strings.Replace(sockets, "upstream: main", "upstream: main, open: {mode: hold}", 1), up.url)
	e := s.edge()
	s.worker()
	p := e.socket(t)
	p.say(ws.Start{ID: "a", Path: chatPath, Body: json.RawMessage(ask)})
	got := p.whole("a")["a"]
	var phases map[string]*float64
	b, err := json.Marshal(got.end.Phases)
	if err == nil {
		err = json.Unmarshal(b, &phases)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"queue_ms", "auth_ms", "route_ms", "worker_queue_ms", "connect_ms", "headers_ms", "ttft_ms", "relay_ms", "total_ms"} {
		if phases[name] == nil {
			t.Errorf("%s is missing in %s", name, b)
		}
	}
	for _, name := range []string{"queue", "auth", "route", "worker_queue", "connect", "upstream", "first_output"} {
		if _, ok := timing(t, got.open.ServerTiming)[name]; !ok {
			t.Errorf("%s is missing in %s", name, got.open.ServerTiming)
		}
	}
}

// The event that a worker adds does not make an edge take a stream for one of
// another dialect: both have the same record of it.
func TestMetaEvent(t *testing.T) {
	t.Parallel()
	m := service(t)
	s := newSite(t, strings.Replace(plain, "upstream: main", "upstream: main, meta_event: true", 1), m.URL())
	s.lease = 10 * time.Second // nobody dies here
	e := s.edge()
	w := s.worker()
	for i, d := range dialect.All {
		req, err := d.Request(dialect.Ask{URL: e.url, Prompt: "hi", Model: "m"})
		if err != nil {
			t.Fatalf("%s: %v", d.Name(), err)
		}
		req.Header.Set("X-Weir-Mock", "ttft=1ms,n=20,gap=1ms,seed=1")
		resp, err := http.DefaultClient.Do(req.WithContext(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		whole(t, resp)
		await(t, func() bool { return len(e.list()) == i+1 && len(w.list()) == i+1 })
		a, b := e.list()[i], w.list()[i]
		if a.Dialect != b.Dialect || a.Outcome != b.Outcome || len(a.Events) != len(b.Events) || (a.Usage == nil) != (b.Usage == nil) {
			t.Errorf("%s: the edge has %s, %s, %d events; the worker %s, %s, %d", d.Name(), a.Dialect, a.Outcome, len(a.Events), b.Dialect, b.Outcome, len(b.Events))
		}
	}
}

// The record of an edge says what that of one process says, but for what is each
// one's own: attempts, the service's id and its accounting come from the worker.
func TestRecordOfAnEdge(t *testing.T) {
	t.Parallel()
	up := scripted(t, func(call int, w http.ResponseWriter, r *http.Request) {
		if call%2 == 1 {
			http.Error(w, "{}", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("X-Request-Id", "of-the-service")
		slowly(call, w, r)
	})
	s := newSite(t, strings.Replace(plain, "attempts: 1", "attempts: 2, backoff: 1ms", 1), up.url)
	s.lease = 10 * time.Second // nobody dies here
	e := s.edge()
	s.worker()
	one := s.alone()
	for _, path := range []string{chatPath, "/v1/bad"} {
		var records [2]map[string]any
		for i, url := range []string{one, e.url} {
			resp := post(t.Context(), t, url+path, ask)
			whole(t, resp)
			records[i] = recordOf(t, url, resp.Header.Get("X-Request-Id"))
			for _, own := range []string{"request_id", "stream_id", "traceparent", "start", "target", "phases", "extra", "notes"} {
				delete(records[i], own)
			}
		}
		if !reflect.DeepEqual(records[0], records[1]) || records[0]["attempts"] != 2.0 || records[0]["upstream_id"] != "of-the-service" {
			t.Errorf("one process: %v\nan edge: %v", records[0], records[1])
		}
	}
}
