package dialect

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"weir/stream"
	"weir/wire"
)

// Each fuzz target feeds a dialect frames made of any bytes: nothing panics,
// every frame gives an event, every string is valid UTF-8, every number sane.

func FuzzOpenAIChat(f *testing.F)      { fuzzDialect(f, openAIChat{}) }
func FuzzOpenAIResponses(f *testing.F) { fuzzDialect(f, openAIResponses{}) }
func FuzzAnthropic(f *testing.F)       { fuzzDialect(f, anthropic{}) }
func FuzzGemini(f *testing.F)          { fuzzDialect(f, gemini{}) }
func FuzzDify(f *testing.F)            { fuzzDialect(f, dify{}) }
func FuzzOllama(f *testing.F)          { fuzzDialect(f, ollama{}) }
func FuzzArticle(f *testing.F)         { fuzzDialect(f, article()) }

func fuzzDialect(f *testing.F, d Dialect) {
	files, err := filepath.Glob("testdata/" + d.Name() + "/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add("sse", findFile(a, "wire"))
		f.Add("body", findFile(a, "wire"))
	}
	f.Fuzz(func(t *testing.T, format string, in []byte) {
		dec, err := wire.New(format, wire.Options{})
		if err != nil {
			t.Skip("no such format")
		}
		c := d.NewClassifier()
		feed := func(fr wire.Frame) {
			n := 0
			if err := c.Classify(fr, func(e *stream.Event) { n++; checkEvent(t, e) }); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				t.Fatalf("frame %s %q gave no event", fr.Kind, fr.Data)
			}
		}
		if dec.Feed(in, feed) == nil {
			_ = dec.Close(feed)
		}
		if fl, ok := c.(Flusher); ok {
			fl.Flush(func(e *stream.Event) { checkEvent(t, e) })
		}
		c.Ended()
		Detect(Hint{First: in})
	})
}

func checkEvent(t *testing.T, e *stream.Event) {
	t.Helper()
	for _, s := range []string{e.Name, e.Text, e.BodyID, e.Model, e.Finish, e.Note, string(e.State)} {
		if !utf8.ValidString(s) {
			t.Errorf("invalid UTF-8 in %+v", e)
		}
	}
	if f := e.Fault; (f == nil) == (e.Kind == stream.KindError) {
		t.Errorf("fault and kind differ: %+v", e)
	} else if f != nil && !utf8.ValidString(f.Code+f.Message) {
		t.Errorf("invalid UTF-8 in %+v", f)
	}
	hasText := e.Kind.Business() && e.Kind != stream.KindMedia
	if hasText != (e.Text != "") {
		t.Errorf("text where there should be none, or none where there should: %+v", e)
	}
	if e.State != nil && !json.Valid(e.State) {
		t.Errorf("state is no JSON: %s", e.State)
	}
	if n, ok := e.Tokens.Get(); ok && (n < 0 || n > math.MaxInt32*1024*1024) {
		t.Errorf("tokens are %d", n)
	}
	if d, ok := e.Took.Get(); ok && d < 0 {
		t.Errorf("took is %s", d)
	}
	if e.Choice < 0 || e.Choice >= maxChoices {
		t.Errorf("choice is %d", e.Choice)
	}
	if e.Kind == stream.KindOther && e.Note == "" {
		t.Errorf("other without a note: %+v", e)
	}
}

func FuzzThinker(f *testing.F) {
	f.Add("a<think>b</think>c", 2)
	f.Add("<<think>`<think>`</thi", 1)
	f.Fuzz(func(t *testing.T, s string, step int) {
		step = max(1, step%8)
		var whole, cut thinker
		var a, b [2]string
		collect := func(to *[2]string) func(stream.Kind, string) {
			return func(k stream.Kind, s string) {
				if k == stream.KindText {
					to[0] += s
				} else {
					to[1] += s
				}
			}
		}
		whole.feed(s, collect(&a))
		whole.flush(collect(&a))
		for i := 0; i < len(s); i += step {
			cut.feed(s[i:min(len(s), i+step)], collect(&b))
		}
		cut.flush(collect(&b))
		if a != b {
			t.Errorf("whole %q, in pieces of %d %q", a, step, b)
		}
	})
}
