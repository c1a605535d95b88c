package rig

import (
	"testing"

	"weir/stream"
)

func TestNoStream(t *testing.T) {
	answered := stream.Facts{Status: 200}
	for name, c := range map[string]struct {
		r    stream.Record
		want bool
	}{
		"refused":                         {stream.Record{Outcome: stream.ErrorEarly, Reason: "refused"}, true},
		"a page":                          {stream.Record{Outcome: stream.ErrorEarly, Reason: "not_a_stream", Facts: answered}, true},
		"an error as a JSON body":         {stream.Record{Outcome: stream.ErrorEarly, Reason: "in_band", Whole: true, Facts: answered}, true},
		"an error as the stream's first":  {stream.Record{Outcome: stream.ErrorEarly, Reason: "in_band", Facts: answered}, false},
		"an empty body":                   {stream.Record{Outcome: stream.Truncated, Reason: "empty", Facts: answered}, true},
		"a cut stream":                    {stream.Record{Outcome: stream.Truncated, Facts: answered}, false},
		"closed without a response":       {stream.Record{Outcome: stream.Reset, Reason: "eof"}, true},
		"broken within the body":          {stream.Record{Outcome: stream.Reset, Facts: answered}, false},
		"no response by our deadline":     {stream.Record{Outcome: stream.Hung}, true},
		"a stream that said nothing":      {stream.Record{Outcome: stream.Hung, Facts: answered}, false},
		"stopped by us before a response": {stream.Record{Outcome: stream.Cancelled}, false},
		"complete":                        {stream.Record{Outcome: stream.Complete, Facts: answered}, false},
	} {
		o := Observation{Requests: [][]*stream.Record{{&c.r}}}
		if got := o.NoStream(); got != c.want {
			t.Errorf("%s: NoStream() = %t", name, got)
		}
	}
	mixed := Observation{Requests: [][]*stream.Record{{{Outcome: stream.Hung}}, {{Outcome: stream.Complete, Facts: answered}}}}
	if mixed.NoStream() || (&Observation{}).NoStream() {
		t.Error("one stream is a stream; no request says nothing")
	}
}
