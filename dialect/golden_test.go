package dialect

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"weir/stream"
	"weir/wire"
)

var rewrite = flag.Bool("rewrite", false, "write the goldens anew; read the difference before committing it")

// TestGoldens runs every testdata/<dialect>/*.txtar: the bytes of `wire` are
// decoded and classified, `events` is what comes out, an event a line.
// The comment before the first file says what the case shows; a line "#
// crlf" there makes the line ends of wire CRLF, "# cut N" drops its last N
// bytes, "# format NAME" names the framing (default sse).
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens found: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "testdata/"), ".txtar"), func(t *testing.T) {
			golden(t, file)
		})
	}
}

func golden(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := goldenDialect(t, file, a)
	in, format := goldenWire(t, a)
	got := transcript(t, d, format, in)
	if *rewrite {
		setFile(a, "events", got)
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := string(findFile(a, "events")); got != want {
		t.Errorf("events are\n%s\nwant\n%s", got, want)
	}
	if d.Name() != filepath.Base(filepath.Dir(file)) || strings.Contains(string(a.Comment), "# undetected") {
		return
	}
	if got, why := Detect(firstHint(t, format, in)); got.Name() != d.Name() {
		t.Errorf("detected as %s (%s)", got.Name(), why)
	}
}

// firstHint is what a reader of the stream knows at the first frame that says
// something.
func firstHint(t *testing.T, format string, in []byte) Hint {
	for _, f := range decode(t, format, in) {
		if f.Kind != wire.Comment && f.Kind != wire.DataLess {
			return Hint{First: f.Data, Event: string(f.Event)}
		}
	}
	return Hint{}
}

func goldenDialect(t *testing.T, file string, a *txtar.Archive) Dialect {
	t.Helper()
	if y := findFile(a, "dialect.yaml"); y != nil {
		d, err := Load("dialect.yaml", y)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d, err := Lookup(filepath.Base(filepath.Dir(file)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func goldenWire(t *testing.T, a *txtar.Archive) (in []byte, format string) {
	t.Helper()
	in, format = findFile(a, "wire"), "sse"
	for line := range strings.Lines(string(a.Comment)) {
		option, ok := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if !ok {
			continue
		}
		word, arg, _ := strings.Cut(option, " ")
		switch word {
		case "crlf":
			in = bytes.ReplaceAll(in, []byte("\n"), []byte("\r\n"))
		case "cut":
			var n int
			if _, err := fmt.Sscan(arg, &n); err != nil {
				t.Fatal(err)
			}
			in = in[:len(in)-n]
		case "format":
			format = arg
		}
	}
	return in, format
}

// transcript classifies in and writes what came out, an event a line.
func transcript(t *testing.T, d Dialect, format string, in []byte) string {
	t.Helper()
	var b strings.Builder
	c := d.NewClassifier()
	var id, model string
	write := func(e *stream.Event) {
		b.WriteString(line(*e))
		if e.BodyID != id {
			id = e.BodyID
			fmt.Fprintf(&b, " id=%s", id)
		}
		if e.Model != model {
			model = e.Model
			fmt.Fprintf(&b, " model=%s", model)
		}
		b.WriteByte('\n')
	}
	for _, f := range decode(t, format, in) {
		n := b.Len()
		if err := c.Classify(f, write); err != nil {
			t.Fatal(err)
		}
		if b.Len() == n {
			t.Errorf("frame %s %q gave no event", f.Kind, f.Data)
		}
	}
	if f, ok := c.(Flusher); ok {
		f.Flush(func(e *stream.Event) { b.WriteString("flushed: "); write(e) })
	}
	end := c.Ended()
	fmt.Fprintf(&b, "end proof=%s", orNone(end.Proof))
	for _, is := range []struct {
		name string
		yes  bool
	}{{"by_eof", end.ByEOF}, {"sentinel", end.Sentinel}, {"error", end.LastError != nil}} {
		if is.yes {
			b.WriteString(" " + is.name)
		}
	}
	b.WriteByte('\n')
	if !utf8.ValidString(b.String()) {
		t.Error("the events hold invalid UTF-8")
	}
	return b.String()
}

func decode(t testing.TB, format string, in []byte) []wire.Frame {
	t.Helper()
	d, err := wire.New(format, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var frames []wire.Frame
	keep := func(f wire.Frame) {
		f.Event, f.Data, f.Field, f.Raw = bytes.Clone(f.Event), bytes.Clone(f.Data), bytes.Clone(f.Field), bytes.Clone(f.Raw)
		frames = append(frames, f)
	}
	if err := d.Feed(in, keep); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(keep); err != nil {
		t.Fatal(err)
	}
	return frames
}

// line writes one event: kind, choice where it is not 0, name, text, and every
// field that is known.
func line(e stream.Event) string {
	var b strings.Builder
	b.WriteString(e.Kind.String())
	say := func(format string, args ...any) { fmt.Fprintf(&b, " "+format, args...) }
	if e.Choice != 0 {
		say("#%d", e.Choice)
	}
	if e.Name != "" {
		say("<%s>", e.Name)
	}
	if e.Text != "" {
		say("%q", e.Text)
	}
	if e.Tool != "" {
		say("call=%s", e.Tool)
	}
	if e.Summary {
		say("summary")
	}
	if n, ok := e.Tokens.Get(); ok {
		say("tokens=%d", n)
	}
	if n, ok := e.ServiceSeq.Get(); ok {
		say("seq=%d", n)
	}
	if n, ok := e.ServiceTime.Get(); ok {
		say("service_time=%s", n)
	}
	if n, ok := e.Took.Get(); ok {
		say("took=%s", n)
	}
	if e.State != nil {
		say("state=%s", e.State)
	}
	if e.Kind == stream.KindDone {
		say("proof=%s finish=%q", orNone(e.Proof), e.Finish)
	}
	if f := e.Fault; f != nil {
		say("code=%q message=%q", f.Code, f.Message)
		if f.Recoverable {
			say("recoverable")
		}
	}
	if e.Usage != nil {
		say("%s", usageText(e.Usage))
	}
	if e.Note != "" {
		say("note=%q", e.Note)
	}
	return b.String()
}

func usageText(u *stream.Usage) string {
	s := "usage"
	for _, f := range []struct {
		name string
		n    stream.Maybe[int]
	}{{"in", u.Input}, {"cached", u.Cached}, {"out", u.Output}, {"reasoning", u.Reasoning}, {"billed", u.Billed}} {
		if n, ok := f.n.Get(); ok {
			s += fmt.Sprintf(" %s:%d", f.name, n)
		}
	}
	if u.Seed {
		s += " seed"
	}
	return s
}

func findFile(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func setFile(a *txtar.Archive, name, data string) {
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = []byte(data)
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(data)})
}

func orNone(p stream.Proof) string {
	if p == stream.ProofNone {
		return "none"
	}
	return p.String()
}
