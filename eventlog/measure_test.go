package eventlog

import (
	"bytes"
	"math"
	"os"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"weir/metric"
)

// A saved log measures exactly as the record did, with text or without.
func TestMeasuresTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := genRecord(t)
		want := metric.Measure(r)
		for _, keepText := range []bool{true, false} {
			b, err := AppendRecord(nil, r, keepText)
			if err != nil {
				t.Fatal(err)
			}
			l, err := Read(bytes.NewReader(b), "x")
			if err != nil {
				t.Fatal(err)
			}
			if got := metric.Measure(l.Records[0]); !reflect.DeepEqual(got, want) {
				t.Fatalf("keep text %v:\n got %+v\nwant %+v", keepText, got, want)
			}
		}
	})
}

// The worked example of METRICS §5.
func TestArticleLogMeasures(t *testing.T) {
	b, err := os.ReadFile("testdata/article.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	l, err := Read(bytes.NewReader(b), "article.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	v := metric.Measure(l.Records[0])
	for name, want := range map[string]float64{
		"ttft": 1100.3, "rate_e2e": 21.694, "rate_stream": 141.807, "rate_decode": 84.034,
		"gap_p50": 54.9, "gap_max": 135.5, "tokens": 28, "arrivals": 3,
	} {
		if got, ok := v.Get(name).Get(); !ok || math.Abs(got-want) > 0.0005 {
			t.Errorf("%s is %v (known %v), want %v", name, got, ok, want)
		}
	}
	for _, name := range []string{"complete", "done", "end", "first_text", "chars"} {
		if x := v.Get(name); x.Is != metric.Missing {
			t.Errorf("%s is %v %v; the log does not say", name, x.V, x.Is)
		}
	}
}
