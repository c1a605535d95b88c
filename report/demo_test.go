package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"weir/diagnose"
	"weir/stream"
)

func demo() Demo {
	roleFirst := newAnswer(1, "cold").headers(20*ms).at(60*ms, role()).text(3100*ms, 30*ms, 70, "word ").
		tokens(70).end(5200*ms, stream.Complete).r
	cut := newAnswer(2, "cold").headers(20*ms).text(210*ms, 30*ms, 35, "word ").text(3630*ms, 30*ms, 20, "word ").
		end(4230*ms, stream.Truncated).r
	return Demo{Took: 5320 * ms, Logs: "/tmp/weir-demo-1/events/2026-03-01/demo.jsonl", Rows: []DemoRow{
		{Name: "healthy", Naive: Naive{FirstByte: stream.Some(203 * ms), Total: time.Second, Result: "ok"}, Record: healthy(0, "cold", 0)},
		{Name: "role-first", Naive: Naive{FirstByte: stream.Some(60 * ms), Result: "ok"}, Record: roleFirst, Findings: []diagnose.Finding{{
			Code: "first_event_early", Severity: diagnose.Warning,
			Text: "the first event carried only a role; output began 3.04 s later (in the one answer)",
			Evidence: []diagnose.Figure{{Name: "answers", Value: 1, Unit: "count"}, {Name: "first_event_p50", Value: 60, Unit: "ms"},
				{Name: "ttft_p50", Value: 3100, Unit: "ms"}}}}},
		{Name: "cut short", Naive: Naive{FirstByte: stream.Some(210 * ms), Result: "ok"}, Record: cut},
		{Name: "unreachable", Naive: Naive{Result: "error"}, Record: refused().Requests[0][0]},
	}}
}

func TestDemoFitsAScreen(t *testing.T) {
	for width, name := range map[int]string{100: "demo.txt", 80: "demo-80.txt"} {
		d := demo()
		d.View.Width = width
		var b bytes.Buffer
		if err := WriteDemo(&b, d); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "\n"); n > 30 {
			t.Errorf("%d lines", n)
		}
		golden(t, name, b.Bytes())
	}
}
