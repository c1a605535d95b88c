package table

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// FuzzPredicate: any text is a filter or an error, and a filter decides.
func FuzzPredicate(f *testing.F) {
	for _, seed := range []string{
		"ttft_ms > 2000", `label.region == "eu" && never(mark.handoff)`, `stage["a b"] != nil or missing(ttft)`, "warmup ? index > 1 : choice in [1, 2]",
		`start > "2026" and not (reason matches "^h.*g$")`, "let x = ttft; x > 1", "abs(ttft - 1) ?? 2 > 1", `label?.region == ""`, "never(never(ttft))", "[ttft][0] > 1", "{a: ttft}.a > 1",
	} {
		f.Add(seed)
	}
	rows := filtered()
	f.Fuzz(func(t *testing.T, text string) {
		p, err := NewPredicate(text)
		if err != nil {
			return
		}
		for i := range rows {
			if first, again := p.Match(&rows[i]), p.Match(&rows[i]); first != again {
				t.Fatalf("%q decides twice otherwise", text)
			}
		}
		if _, err := (Query{Where: text, Metrics: []string{"ttft"}}).Needs(); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzReadRows: what is read is written and read again as the same.
func FuzzReadRows(f *testing.F) {
	var b bytes.Buffer
	if err := WriteRows(&b, append(filtered(), Rows(mixed())...)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String())
	f.Add(`{"request":"a","metrics":{"ttft_ms":null,"mark.x":1},"states":{"ttft_ms":{"over":5}}}`)
	f.Add(`{"labels":{},"metrics":{},"states":{}}`)
	f.Add(`{"start":"9999-12-31T23:59:59-01:00","metrics":{}}`)
	f.Add(`{"start":"0000-01-01T00:00:00+01:00","metrics":{}}`)
	f.Add(`{"start":"0001-01-01T00:00:00Z","in_flight":null,"metrics":{"ttft_ms":-0}}`)
	f.Fuzz(func(t *testing.T, text string) {
		rows, _, err := ReadRows(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteRows(&b, rows); err != nil {
			t.Fatal(err)
		}
		again, warnings, err := ReadRows(&b, "f")
		if err != nil || len(warnings) > 0 || !reflect.DeepEqual(again, rows) {
			t.Fatalf("%+v\n%+v\n%v %v", again, rows, warnings, err)
		}
	})
}
