package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

const output = `goos: linux
pkg: weir/wire
cpu: some
BenchmarkSSE/event-2         	     946	    300 ns/op	10829.64 MB/s	       0 B/op	       0 allocs/op
BenchmarkSSE/event-2         	     946	    100 ns/op	10829.64 MB/s	       0 B/op	       0 allocs/op
BenchmarkSSE/event-2         	     946	    200 ns/op	10829.64 MB/s	       0 B/op	       0 allocs/op
BenchmarkRatio/event-2       	     982	   1102340 ns/op	         0.5950 of-IndexByte
BenchmarkRatio/4KiB-2        	     982	   1102340 ns/op	         0.4950 of-IndexByte
PASS
ok  	weir/wire	7.816s
pkg: weir/mark
BenchmarkMark 	 10	 5 ns/op
`

func TestParse(t *testing.T) {
	all := parse(strings.NewReader(output))
	if len(all) != 4 || all[3].pkg != "weir/mark" || all[0].name != "SSE/event" {
		t.Fatalf("%+v", all)
	}
	if v, ok := all[0].median("ns/op"); !ok || v != 200 {
		t.Errorf("median %v %v", v, ok)
	}
	if v, ok := all[3].median("MB/s"); ok {
		t.Errorf("a figure nobody reported: %v", v)
	}
}

func TestTargets(t *testing.T) {
	r := results{benchmarks: parse(strings.NewReader(output))}
	c := calibration{}
	err := json.Unmarshal([]byte(`{"events":10,"events_lost":1,"kernel":{"ttft_error_us":{"p50":1,"p99":20},"gap_error_us":{"p99":150}},
		"app":null,"cpu_us_per_event":null,"baseline":{"cpu_us_per_event":10,"ratio":1.4}}`), &c)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range loads {
		c.load = l
		r.calibrations = append(r.calibrations, c)
	}
	var met []bool
	for _, x := range r.targets() {
		met = append(met, x.met)
	}
	want := []bool{
		true, true, // pieces of one event
		false, false, // of 4 KiB: too slow, allocations not reported
		false, false, // 100 streams: 150 µs, one event lost
		true, false, true, // 600 streams: 150 µs, one lost, CPU
	}
	if !slices.Equal(met, want) {
		t.Errorf("met %v, want %v\n%s", met, want, r.markdown())
	}
	text := r.markdown()
	for _, s := range []string{
		"| speed of SSE decoding ÷ bytes.IndexByte, a piece = 4KiB | ≥ 0.5 | 0.49 | **missed** |",
		"| 600 × 50/s, GOMAXPROCS=1 | kernel (0 of 600 streams) | 1 / 20 / 0 | 0 / 150 / 0 | n/a | n/a | 1.40 | n/a |",
		"| | application | n/a | n/a | n/a | | | |",
		"| wire | SSE/event | 200 ns/op, 1.083e+04 MB/s, 0 B/op, 0 allocs/op |",
	} {
		if !strings.Contains(text, s) {
			t.Errorf("missing: %s\n%s", s, text)
		}
	}
}

func TestWithBenchmarks(t *testing.T) {
	dirs, err := withBenchmarks("..")
	if err != nil || !slices.Contains(dirs, "./../wire") || slices.Contains(dirs, "./../docs") {
		t.Error(dirs, err)
	}
}
