package workers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/dialect"
	"weir/metric"
	"weir/probe"
	"weir/stream"
)

// Bursts of 5 events in 5 ms, each 205 ms after the one before.
const bursts, perBurst = 60, 5

func bursty(_ int, w http.ResponseWriter, _ *http.Request) {
	began := time.Now()
	for i := range bursts * perBurst {
		time.Sleep(time.Until(began.Add(time.Duration(i/perBurst)*205*time.Millisecond + time.Duration(i%perBurst)*1250*time.Microsecond)))
		say(w, chat(fmt.Sprint("word", i, " ")))
	}
	say(w, chatEnd)
}

// heard is a stream as weir's own probe heard it.
type heard struct {
	text, ids string
	pieces    int // events with text
	last      stream.Event
	stddev    float64 // ms
}

func hear(t *testing.T, url string, header http.Header) heard {
	d, err := dialect.Lookup("openai.chat")
	if err != nil {
		t.Fatal(err)
	}
	c, err := probe.New(probe.Options{Dialect: d, KeepText: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	list, err := c.Do(t.Context(), dialect.Ask{URL: url + chatPath, Header: header}, probe.Meta{})
	if err != nil || len(list) != 1 || list[0].Outcome != stream.Complete {
		t.Errorf("%v, %+v", err, list)
		return heard{}
	}
	r := list[0]
	h := heard{last: r.Events[len(r.Events)-1], stddev: metric.Measure(r).Get("gap_stddev").V, ids: r.Facts.OurID}
	for _, e := range r.Events {
		if e.Kind == stream.KindText {
			h.text += e.Text
			h.pieces++
		}
	}
	return h
}

// The edge paces and the worker does not: bursts leave evenly, the text and its
// end are the same, and each piece's delay is counted once.
func TestPacing(t *testing.T) {
	t.Parallel()
	up := scripted(t, bursty)
	s := newSite(t, strings.Replace(plain, "resume: {", "pacing: {enabled: true}, resume: {", 1), up.url)
	s.lease = 10 * time.Second // nobody dies here
	e := s.edge()
	w := s.worker()
	pieces := 0
	for try := 1; ; try++ { // the figure is of a machine that has time
		var all sync.WaitGroup
		var direct heard
		through := make([]heard, 2)
		all.Go(func() { direct = hear(t, up.url, nil) })
		all.Go(func() { through[0] = hear(t, e.url, nil) })
		all.Go(func() { through[1] = hear(t, e.url, http.Header{"Weir-Resume": {"1"}}) })
		all.Wait()
		even := true
		for i, h := range through {
			if h.text != direct.text || h.text == "" || h.last.Kind != direct.last.Kind || h.last.Proof != direct.last.Proof {
				t.Fatalf("%d: %q, which ends with %s %s, became %q and %s %s", i, direct.text, direct.last.Kind, direct.last.Proof, h.text, h.last.Kind, h.last.Proof)
			}
			pieces += h.pieces
			even = even && h.stddev < direct.stddev/5
			t.Logf("gap_stddev %.1f ms became %.1f ms", direct.stddev, h.stddev)
		}
		if through[1].pieces != bursts*perBurst {
			t.Errorf("a stream that can be resumed has %d events", through[1].pieces)
		}
		if even {
			break
		}
		if try == 3 {
			t.Error("gap_stddev did not fall by 80 %")
			break
		}
	}
	await(t, func() bool { return len(e.list()) == len(w.list()) && len(w.list()) >= 2 })
	for i, r := range e.list() {
		x, far := r.Facts.Extra, w.list()[i].Facts.Extra
		// The bound of each piece is held on a clock of its own, by
		// TestPacingKeepsItsBound of the gateway: here a late machine adds to it.
		if mean, err := strconv.ParseFloat(x["pacing_delay_mean_ms"], 64); err != nil || mean <= 0 || mean > 150 || x["pacing_events"] != fmt.Sprint(bursts*perBurst) {
			t.Errorf("the edge's record says %v", x)
		}
		if far["pacing_events"] != "" {
			t.Errorf("the worker's record says %v", far)
		}
	}
	rec := httptest.NewRecorder()
	s.count.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		fmt.Sprintf("weir_gateway_pacing_delay_seconds_count{route=\"/*\"} %d\n", pieces),
		fmt.Sprintf("weir_gateway_pacing_gap_stddev_seconds_count{route=\"/*\",side=\"after\"} %d\n", len(e.list())),
	} {
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
}
