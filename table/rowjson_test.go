package table

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/metric"
	"weir/stat"
	"weir/stream"
)

func genRow(t *rapid.T) Row {
	word := func() string {
		return rapid.SampledFrom([]string{"", "a", "stop", "<think>&\u2028", "中文", "e\u0301\t\"\\\n\x00\x1b[31m"}).Draw(t, "word")
	}
	r := Row{
		Key: Key{
			Request: word(), Run: word(), Index: rapid.IntRange(0, 1e9).Draw(t, "index"), Choice: rapid.IntRange(0, 3).Draw(t, "choice"),
			Scenario: word(), Phase: word(), Warmup: rapid.Bool().Draw(t, "warmup"), Conn: word(), Hop: word(),
		},
		Target: word(), Dialect: word(), Model: word(), HTTP: word(), Stamp: stream.StampKernel,
		Streamed: rapid.Bool().Draw(t, "b"), Whole: rapid.Bool().Draw(t, "b"),
		Outcome: rapid.SampledFrom(append(stream.Outcomes(), stream.Unknown)).Draw(t, "outcome"), Reason: word(), Finish: word(),
		Values: metric.Values{Shape: word(), TokenSource: word(), K1Source: word(), FluidityBasis: word(), FirstKind: word(),
			GapMaxOpen: rapid.Bool().Draw(t, "open")},
	}
	if rapid.Bool().Draw(t, "more") {
		r.Labels = map[string]string{"k": word(), "地区": word()}
		r.InFlight = stream.Some(rapid.IntRange(0, 1e6).Draw(t, "n"))
		r.Start = time.Unix(rapid.Int64Range(1, 1.9e9).Draw(t, "start"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC()
	}
	vals := map[string]metric.Value{}
	names := []string{"stage.x", "stage.prefill\n", "mark.handoff", "mark.a.b"}
	for _, m := range metric.All {
		names = append(names, m.Name)
	}
	for _, name := range names {
		x := metric.Value{Is: metric.State(rapid.IntRange(0, 3).Draw(t, "state"))}
		if x.Is == metric.Reached || x.Is == metric.Over {
			x.V = rapid.Float64().Filter(func(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) }).Draw(t, "v")
		}
		vals[name] = x
	}
	r.Values = r.Values.With(vals)
	return r
}

func TestRowsAreReadBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := []Row{genRow(t), genRow(t)}
		var b bytes.Buffer
		if err := WriteRows(&b, want); err != nil {
			t.Fatal(err)
		}
		got, warnings, err := ReadRows(&b, "rows.jsonl")
		if err != nil || len(warnings) > 0 || !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v\n%v %v", got, want, warnings, err)
		}
	})
}

func TestRowJSON(t *testing.T) {
	row := Row{Key: Key{Request: "a"}, Outcome: stream.Hung}
	row.Values = row.Values.With(map[string]metric.Value{
		"ttft": stat.At(312.5), "useful": {Is: metric.Never}, "complete": {V: 5000, Is: metric.Over}, "mark.x": {Is: metric.Never},
	})
	b, err := json.Marshal(row)
	want := `{"request":"a","index":0,"choice":0,"start":null,"streamed":false,"in_flight":null,"outcome":"hung",` +
		`"metrics":{"complete_ms":null,"mark.x":null,"ttft_ms":312.5,"useful_ms":null},` +
		`"states":{"complete_ms":{"over":5000},"mark.x":"never","useful_ms":"never"}}`
	if err != nil || string(b) != want {
		t.Errorf("%s %v", b, err)
	}
	bad := Row{Key: Key{Request: "b"}, Values: metric.Values{}.With(map[string]metric.Value{"ttft": stat.At(math.NaN())})}
	if err := WriteRows(&bytes.Buffer{}, []Row{bad}); err == nil || !strings.Contains(err.Error(), "request b") {
		t.Errorf("a number that is none gave %v", err)
	}
}

func TestReadRowsErrors(t *testing.T) {
	const good = `{"request":"a","metrics":{"ttft_ms":1}}` + "\n"
	for in, want := range map[string]string{
		good + `{"request":"b"}` + "\n":                                                     "f:2: not a row",
		good + "hello\n":                                                                    "f:2: invalid character",
		good + `{"request":"b","met` + "\n" + good:                                          "f:2: unexpected end",
		`{"request":"a","metrics":{"ttft_ms":null}}`:                                        "f:1: metric ttft_ms: a null needs its reason",
		`{"request":"a","metrics":{"ttft_ms":1},"states":{"ttft_ms":"never"}}`:              "only a null has one",
		`{"request":"a","metrics":{"ttft_ms":null},"states":{"ttft_ms":"soon"}}`:            "neither",
		`{"request":"a","metrics":{"ttft_ms":null},"states":{"ttft_ms":{"below":1}}}`:       "neither",
		`{"request":"a","metrics":{"ttft_ms":"1"}}`:                                         "f:1:",
		`{"request":"a","index":1.5,"metrics":{}}`:                                          "f:1:",
		good + `{"request":"` + strings.Repeat("x", maxLine) + `","metrics":{"ttft_ms":1}}`: "too long",
	} {
		if rows, _, err := ReadRows(strings.NewReader(in), "f"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.90q: %d rows, %v", in, len(rows), err)
		}
	}
}

func TestReadRowsWarnings(t *testing.T) {
	in := "\n" + `{"request":"a","metrics":{"ttft_ms":1,"new_ms":2,"ttft":3}}` + "\n" + `{"request":"b","metr`
	rows, warnings, err := ReadRows(strings.NewReader(in), "f")
	if err != nil || len(rows) != 1 || len(warnings) != 2 || rows[0].Values.Get("ttft").V != 1 {
		t.Fatalf("%v %v %v", rows, warnings, err)
	}
	if !strings.Contains(warnings[0], "f:3") || !strings.Contains(warnings[1], "new_ms, ttft") {
		t.Errorf("%q", warnings)
	}
	if rows, warnings, err := ReadRows(strings.NewReader(""), "f"); err != nil || rows != nil || warnings != nil {
		t.Errorf("of nothing: %v %v %v", rows, warnings, err)
	}
}

func TestRunVerdicts(t *testing.T) {
	r := Run{Verdict: json.RawMessage(`{"verdict":"fail","gates":[]}`), Health: json.RawMessage(`{"verdict":"valid"}`)}
	if r.Decision() != "fail" || r.Fitness() != "valid" {
		t.Errorf("%q %q", r.Decision(), r.Fitness())
	}
	if r := (Run{Verdict: json.RawMessage(`[1]`)}); r.Decision() != "" || r.Fitness() != "" {
		t.Errorf("%q %q", r.Decision(), r.Fitness())
	}
}
