package eventlog

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/stream"
)

func TestRecordComesBackWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genRecord(t)
		lines, err := AppendRecord(nil, want, true)
		if err != nil {
			t.Fatal(err)
		}
		l, err := Read(bytes.NewReader(lines), "x.jsonl")
		if err != nil {
			t.Fatalf("%v\n%s", err, lines)
		}
		if len(l.Records) != 1 || l.Torn {
			t.Fatalf("read %d records, torn %v", len(l.Records), l.Torn)
		}
		if got := l.Records[0]; !reflect.DeepEqual(got, want) {
			t.Fatalf("record changed:\n got %+v\nwant %+v\n%s", got, want, lines)
		}
	})
}

func TestWithoutTextNothingElseIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genRecord(t)
		lines, err := AppendRecord(nil, want, false)
		if err != nil {
			t.Fatal(err)
		}
		l, err := Read(bytes.NewReader(lines), "x.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		want.TextKept, want.Prompt = false, ""
		if want.Outcome != stream.ErrorEarly {
			want.Facts.BodyStart = ""
		}
		for i := range want.Events {
			want.Events[i].Text, want.Events[i].State = "", nil
		}
		if got := l.Records[0]; !reflect.DeepEqual(got, want) {
			t.Fatalf("record changed:\n got %+v\nwant %+v\n%s", got, want, lines)
		}
	})
}

// A field added to the kernel's types and forgotten here would be lost
// without a sound: fill every field and see it come back.
func TestNoFieldIsForgotten(t *testing.T) {
	r := &stream.Record{}
	fill(reflect.ValueOf(r).Elem())
	r.Start = time.Unix(1800000000, 5).UTC()
	r.Arrivals, r.Reads = r.Arrivals[:1], r.Reads[:1]
	r.Events[0].Read, r.Events[0].Arrival = 1, 1
	r.Events[0].State = json.RawMessage(`{"a":1}`)
	lines, err := AppendRecord(nil, r, true)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Read(bytes.NewReader(lines), "x")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(l.Records[0], r) {
		t.Errorf("got  %+v\nwant %+v", l.Records[0], r)
	}
}

// fill gives every field a value that is not its zero.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		return
	case stream.Maybe[int]:
		v.Set(reflect.ValueOf(stream.Some(3)))
		return
	case stream.Maybe[int64]:
		v.Set(reflect.ValueOf(stream.Some(int64(4))))
		return
	case stream.Maybe[time.Duration]:
		v.Set(reflect.ValueOf(stream.Some(5 * time.Millisecond)))
		return
	case stream.Outcome:
		v.Set(reflect.ValueOf(stream.Truncated))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"k": "v"}))
	case reflect.String:
		v.SetString("s")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(2)
	case reflect.Uint8:
		v.SetUint(1)
	default:
		panic("fill: " + v.Type().String())
	}
}

// The keys DESIGN.md promises on every event line.
func TestEventLineHasTheNamedKeys(t *testing.T) {
	r := &stream.Record{RequestID: "a", Events: []stream.Event{
		{Kind: stream.KindText, Seq: 1, At: 1100300400, Text: "secret answer", Chars: stream.Some(1)},
	}}
	lines, err := AppendRecord(nil, r, false)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]json.RawMessage
	event := bytes.Split(lines, []byte("\n"))[1]
	if err := json.Unmarshal(event, &got); err != nil {
		t.Fatal(err)
	}
	for _, k := range strings.Fields("request_id event_seq service_seq event_type kind service_time_ms client_time_ms " +
		"token_count batch_flag read arrival chars visible bytes marks extra") {
		if _, ok := got[k]; !ok {
			t.Errorf("no %q in %s", k, event)
		}
	}
	if s := string(got["client_time_ms"]); s != "1100.300" {
		t.Errorf("client_time_ms is %s, want milliseconds with 3 decimals: 1100.300", s)
	}
	if bytes.Contains(lines, []byte("secret")) {
		t.Errorf("text was written without keep-text:\n%s", lines)
	}
}

func TestBatchFlagNeedsTwoBusinessEventsInOneArrival(t *testing.T) {
	ev := func(k stream.Kind, arrival int) stream.Event {
		return stream.Event{Kind: k, Read: arrival, Arrival: arrival}
	}
	r := &stream.Record{RequestID: "a", Reads: make([]stream.Read, 2), Arrivals: make([]stream.Arrival, 2), Events: []stream.Event{
		ev(stream.KindText, 1), ev(stream.KindText, 1), ev(stream.KindUsage, 1), ev(stream.KindText, 2), ev(stream.KindDone, 2),
	}}
	lines, err := AppendRecord(nil, r, false)
	if err != nil {
		t.Fatal(err)
	}
	var got []bool
	for _, l := range bytes.Split(lines, []byte("\n"))[1:6] {
		var x struct {
			Batch bool `json:"batch_flag"`
		}
		if err := json.Unmarshal(l, &x); err != nil {
			t.Fatal(err)
		}
		got = append(got, x.Batch)
	}
	if want := []bool{true, true, false, false, false}; !reflect.DeepEqual(got, want) {
		t.Errorf("batch flags %v, want %v", got, want)
	}
}

func TestMilliseconds(t *testing.T) {
	for _, c := range []struct {
		in   string
		want time.Duration
	}{
		{"0", 0}, {"1000.0", time.Second}, {"2100.3", 2100300 * time.Microsecond}, {"-0.000001", -1},
		{"1764464446123.456789", 1764464446123456789}, {"1e3", time.Second}, {"0.0000019", 1},
	} {
		if got, err := parseMS(c.in); err != nil || got != c.want {
			t.Errorf("parseMS(%s) = %d, %v; want %d", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"1e300", "9300000000000", `"12"`, "true", "{}", "0x10", "1_000", "Inf", "NaN"} {
		if got, err := parseMS(in); err == nil {
			t.Errorf("parseMS(%s) = %d, want an error", in, got)
		}
	}
}
