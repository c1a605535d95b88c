package eventlog

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"weir/stream"
)

func TestArticleLog(t *testing.T) {
	f, err := os.Open("testdata/article.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := Read(f, "article.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Records) != 1 || len(l.Warnings) != 0 {
		t.Fatalf("%d records, warnings %q", len(l.Records), l.Warnings)
	}
	r := l.Records[0]
	if r.Outcome != stream.Unknown || !r.NoReads || r.End.Known() || !r.Start.IsZero() {
		t.Errorf("outcome %q, no reads %v, end %v, start %v; the log says none of these", r.Outcome, r.NoReads, r.End, r.Start)
	}
	wantAt := []time.Duration{0, 1100300 * time.Microsecond, 1155200 * time.Microsecond, 1290700 * time.Microsecond}
	for i, e := range r.Events {
		if e.At != wantAt[i] || e.Seq != i+1 {
			t.Errorf("event %d: seq %d at %v, want %v", i+1, e.Seq, e.At, wantAt[i])
		}
		if n, ok := e.ServiceSeq.Get(); !ok || n != int64(i+1) {
			t.Errorf("event %d: service_seq %d %v", i+1, n, ok)
		}
	}
	if k := r.Events[0].Kind; k != stream.KindConnect {
		t.Errorf("first event is %v", k)
	}
	if e := r.Events[3]; e.Kind != stream.KindText || e.Tokens.Or(0) != 9 || e.ServiceTime.Or(0) != 2250100*time.Microsecond {
		t.Errorf("last event: %+v", e)
	}
}

func TestForeignEnds(t *testing.T) {
	const head = `{"request_id":"a","event_seq":1,"event_type":"connect","client_time_ms":5}` + "\n"
	const text = `{"request_id":"a","event_seq":2,"event_type":"business","client_time_ms":6}` + "\n"
	for _, c := range []struct {
		name, log string
		want      stream.Outcome
	}{
		{"nothing said", head + text, stream.Unknown},
		{"done", head + text + `{"request_id":"a","event_seq":3,"event_type":"done","client_time_ms":7}`, stream.Complete},
		{"hole", head + text + `{"request_id":"a","event_seq":4,"event_type":"done","client_time_ms":7}`, stream.Gapped},
		{"error first", head + `{"request_id":"a","event_type":"error","client_time_ms":7}`, stream.ErrorEarly},
		{"error later", head + text + `{"request_id":"a","event_type":"error","client_time_ms":7}`, stream.ErrorMid},
	} {
		l, err := Read(strings.NewReader(c.log), c.name)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := l.Records[0].Outcome; got != c.want {
			t.Errorf("%s: outcome %q, want %q", c.name, got, c.want)
		}
	}
}

func TestInterleavedForeignRequestsAreSeparate(t *testing.T) {
	log := `{"request_id":"a","event_type":"connect","client_time_ms":10}
{"request_id":"b","event_type":"connect","client_time_ms":100}
{"request_id":"a","event_type":"business","client_time_ms":30}
{"request_id":"b","event_type":"business","client_time_ms":150}
`
	l, err := Read(strings.NewReader(log), "x")
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Records) != 2 {
		t.Fatalf("%d records, want 2", len(l.Records))
	}
	for i, want := range []time.Duration{20 * time.Millisecond, 50 * time.Millisecond} {
		if got := l.Records[i].Events[1].At; got != want {
			t.Errorf("request %d: %v from its own start, want %v", i, got, want)
		}
	}
}

func TestTornLastLine(t *testing.T) {
	whole := lines(t, sample("a"), sample("b"))
	first := lines(t, sample("a"))
	for cut := len(first) + 1; cut < len(whole); cut += 3 {
		l, err := Read(bytes.NewReader(whole[:cut]), "x.jsonl")
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if len(l.Records) < 1 || l.Records[0].RequestID != "a" || l.Records[0].Outcome != stream.Complete {
			t.Fatalf("cut at %d: the record before was lost", cut)
		}
		onLine := whole[cut-1] == '\n' || whole[cut] == '\n'
		if l.Torn == onLine {
			t.Fatalf("cut at %d: torn %v\n%s", cut, l.Torn, whole[len(first):cut])
		}
		if len(l.Records) == 2 && cut < len(whole)-1 && l.Records[1].Outcome != stream.Unknown {
			t.Fatalf("cut at %d: outcome %q of a record without an end", cut, l.Records[1].Outcome)
		}
	}
}

func TestTornLineThatAnEditorEnded(t *testing.T) {
	ok := lines(t, sample("a"))
	l, err := Read(strings.NewReader(string(ok)+`{"request_id":"b","eve`+"\n\n"), "f")
	if err != nil || !l.Torn || len(l.Records) != 1 || !strings.HasPrefix(l.Warnings[0], "f:7: the last line is cut") {
		t.Errorf("%v, torn %v, %q", err, l.Torn, l.Warnings)
	}
}

func TestRecordWithoutEndKeepsItsArrivals(t *testing.T) {
	whole := lines(t, sample("a"))
	cut := bytes.Index(whole, []byte(`{"request_id":"a","event_type":"end"`))
	l, err := Read(bytes.NewReader(whole[:cut]), "x")
	if err != nil {
		t.Fatal(err)
	}
	r := l.Records[0]
	if r.NoReads || len(r.Arrivals) != 2 || r.Events[2].Arrival != 2 || r.Arrivals[1].At != r.Events[2].At {
		t.Errorf("arrivals %+v, events %+v", r.Arrivals, r.Events)
	}
}

func TestNoLog(t *testing.T) {
	ok := string(lines(t, sample("a")))
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", "f:1: empty: expected a weir event log"},
		{"blank", "\n\n", "f:1: empty"},
		{"html", "<!doctype html>\n<p>", `f:1: starts with "<!doctype html>": expected a weir event log, one JSON object a line`},
		{"binary", "\x7fELF\x02\x01\x01\x00\xff\xfe", "f:1: not text"},
		{"other json", `{"foo":1}` + "\n", `f:1: no "request_id"`},
		{"no type", `{"request_id":"a"}`, `f:1: no "event_type"`},
		{"no time", ok + `{"request_id":"a","event_type":"business"}`, `no "client_time_ms"`},
		{"array", "[1,2]", `f:1: starts with "[1,2]"`},
		{"wrong type", `{"request_id":7}`, `f:1: "request_id" is a number`},
		{"text as time", `{"request_id":"a","event_type":"text","client_time_ms":"now"}`, "f:1: not a line of a weir event log"},
		{"rot in the middle", ok + "rot\n" + ok, `starts with "rot"`},
		{"rot at the end", ok + "rot\n", `starts with "rot"`},
		{"cut in the middle", ok + "{\"requ\n" + ok, "f:7: not a line"},
		{"newer", strings.Replace(ok, `"log":1`, `"log":9`, 1), "f:1: a log of version 9"},
		{"end alone", `{"request_id":"a","event_type":"end"}`, "f:1: the end of a request that did not begin"},
		{"row", strings.Replace(ok, `"reads":[[`, `"reads":[[null,`, 1), "a read is [at_ns"},
		{"reads gone", strings.Replace(ok, `"read":2`, `"read":99`, 1), "of read 99"},
	} {
		_, err := Read(strings.NewReader(c.in), "f")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("%s: error %v does not name the file and line", c.name, err)
		}
	}
}

func TestEndlessLineIsRefused(t *testing.T) {
	_, err := Read(endless{}, "/dev/zero")
	if err == nil || !strings.Contains(err.Error(), "/dev/zero:1: a line longer than 64 MiB") {
		t.Errorf("error %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// sample is a short complete record with two arrivals.
func sample(id string) *stream.Record {
	ms := time.Millisecond
	return &stream.Record{
		RequestID: id, Choices: 1, Start: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), Target: "http://x/v1",
		Dialect: "openai.chat", Streamed: true, Outcome: stream.Complete, Proof: stream.ProofFinish, End: stream.Some(90 * ms),
		Reads:    []stream.Read{{At: 50*ms + 1, App: 50 * ms, Waited: true}, {At: 80 * ms, App: 80 * ms, Waited: true}},
		Arrivals: []stream.Arrival{{At: 50*ms + 1, Reads: 1}, {At: 80 * ms, Reads: 1}},
		Events: []stream.Event{
			{Kind: stream.KindConnect, Seq: 1, At: 50*ms + 1, Read: 1, Arrival: 1},
			{Kind: stream.KindText, Seq: 2, At: 50*ms + 1, Read: 1, Arrival: 1, Text: "hi", Chars: stream.Some(2)},
			{Kind: stream.KindText, Seq: 3, At: 80 * ms, Read: 2, Arrival: 2, Text: "你好", Chars: stream.Some(2)},
			{Kind: stream.KindDone, Seq: 4, At: 80 * ms, Read: 2, Arrival: 2, Finish: "stop", Proof: stream.ProofFinish},
		},
	}
}

func lines(t testing.TB, rs ...*stream.Record) []byte {
	t.Helper()
	var b []byte
	for _, r := range rs {
		one, err := AppendRecord(nil, r, false)
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, one...)
	}
	return b
}
