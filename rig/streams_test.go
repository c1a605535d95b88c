package rig

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"weir/diagnose"
	"weir/dialect"
	"weir/metric"
	"weir/stream"
	"weir/tap"
)

var rewrite = flag.Bool("rewrite", false, "write the goldens anew; then read them")

// TestStreams replays testdata/streams: one recorded stream, three goldens.
// A file's "wire" section has a line per socket read, "@TIME BYTES" with the
// escapes of a Go string; its first line "@0 STATUS CONTENT-TYPE PATH" is the
// response, its last "@TIME EOF|RST|DEADLINE|CANCEL" the end. The sections
// events, metrics and findings are what weir makes of it.
func TestStreams(t *testing.T) {
	files, err := filepath.Glob("testdata/streams/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) { replay(t, f) })
	}
}

func replay(t *testing.T, file string) {
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, f := range ar.Files {
		sections[f.Name] = string(f.Data)
	}
	records := play(t, sections["wire"])
	got := map[string]string{"wire": sections["wire"], "events": "", "metrics": "", "findings": ""}
	for _, r := range records {
		got["events"] += eventLines(r)
		got["metrics"] += metricLines(r)
	}
	for _, f := range diagnose.Diagnose(records) {
		got["findings"] += f.Code + "\n"
	}
	if *rewrite {
		ar.Files = nil
		for _, name := range []string{"wire", "events", "metrics", "findings"} {
			ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(got[name])})
		}
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name, want := range sections {
		if got[name] != want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got[name], want)
		}
	}
}

func play(t *testing.T, wire string) []*stream.Record {
	lines := strings.Split(strings.TrimSpace(wire), "\n")
	head := strings.Fields(lines[0])
	if len(head) != 4 {
		t.Fatalf("first line %q: want @0 STATUS CONTENT-TYPE PATH", lines[0])
	}
	tp := tap.New(tap.Options{KeepText: true, Hint: dialect.Hint{Method: "POST", Path: head[3], ContentType: head[2]}})
	base := stream.Record{RequestID: "r", Stamp: stream.StampSocket, Streamed: true, UsageAsked: true, Conn: "warm"}
	base.Facts.Status, _ = strconv.Atoi(head[1])
	base.Phases.Headers = stream.Some(time.Duration(0))
	for _, line := range lines[1:] {
		at, bytes := reading(t, line)
		if how, ok := ends[bytes]; ok {
			return tp.Close(base, stream.Closing{How: how, At: at})
		}
		if !base.Phases.FirstByte.Known() {
			base.Phases.FirstByte = stream.Some(at)
		}
		n := tp.Read(stream.Read{At: at, App: at, Bytes: len(bytes), Waited: true})
		if err := tp.Feed([]byte(bytes), n); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the last line must be @TIME EOF, RST, DEADLINE or CANCEL")
	return nil
}

var ends = map[string]stream.How{
	"EOF": stream.CleanEOF, "RST": stream.Broken, "DEADLINE": stream.OurDeadline, "CANCEL": stream.UserStop,
}

func reading(t *testing.T, line string) (time.Duration, string) {
	at, rest, ok := strings.Cut(strings.TrimPrefix(line, "@"), " ")
	d, err := time.ParseDuration(at)
	if !ok || err != nil && at != "0" {
		t.Fatalf("line %q: want @TIME BYTES", line)
	}
	s, err := strconv.Unquote(`"` + strings.ReplaceAll(rest, `"`, `\"`) + `"`)
	if err != nil {
		t.Fatalf("line %q: %v", line, err)
	}
	return d, s
}

func eventLines(r *stream.Record) string {
	var b strings.Builder
	for _, e := range r.Events {
		fmt.Fprintf(&b, "%s %s", e.At, e.Kind)
		if e.Choice > 0 {
			fmt.Fprintf(&b, " choice %d", e.Choice)
		}
		if e.Name != "" {
			fmt.Fprintf(&b, " %s", e.Name)
		}
		if e.Text != "" {
			fmt.Fprintf(&b, " %q", e.Text)
		}
		if n, ok := e.Tokens.Get(); ok {
			fmt.Fprintf(&b, " %d tokens", n)
		}
		if e.Proof > stream.ProofNone {
			fmt.Fprintf(&b, " proves %s", e.Proof)
		}
		if e.Finish != "" {
			fmt.Fprintf(&b, " finish %s", e.Finish)
		}
		if e.Fault != nil {
			fmt.Fprintf(&b, " fault %s: %s", e.Fault.Code, e.Fault.Message)
		}
		if e.Note != "" {
			fmt.Fprintf(&b, " note %q", e.Note)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// headline are the metrics that every golden shows.
var headline = []string{
	"first_event", "ttft", "first_reasoning", "first_text", "last_output", "complete", "end", "tokens", "chars",
	"rate_e2e", "rate_decode", "gap_p50", "gap_max", "stall_count", "batch_share", "restarts", "fluidity_index",
}

func metricLines(r *stream.Record) string {
	v := metric.Measure(r)
	b := strings.Builder{}
	fmt.Fprintf(&b, "outcome %s", r.Outcome)
	for _, s := range []string{r.Reason, r.Proof.String(), r.Finish} {
		if s != "" {
			fmt.Fprintf(&b, " %s", s)
		}
	}
	fmt.Fprintf(&b, "\nshape %s\n", v.Shape)
	for _, name := range headline {
		m, ok := metric.Lookup(name)
		if !ok {
			fmt.Fprintf(&b, "%s: no such metric\n", name)
			continue
		}
		switch x := v.Get(name); x.Is {
		case metric.Reached:
			fmt.Fprintf(&b, "%s %.4g %s\n", name, x.V, m.Unit)
		case metric.Over:
			fmt.Fprintf(&b, "%s over %.4g %s\n", name, x.V, m.Unit)
		case metric.Never:
			fmt.Fprintf(&b, "%s never\n", name)
		}
	}
	if v.TokenSource != "" {
		fmt.Fprintf(&b, "tokens by %s\n", v.TokenSource)
	}
	return b.String()
}
