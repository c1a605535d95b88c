package mark

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/stream"
)

func compile(t *testing.T, defs ...Def) *Set {
	t.Helper()
	s, err := Compile(defs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// first plays events and returns, per mark, the 0-based event it first held at.
func first(s *Set, events []stream.Event) map[string]int {
	v := s.New()
	out := map[string]int{}
	for i := range events {
		for _, name := range v.Mark(&events[i]) {
			if _, twice := out[name]; twice {
				out[name+" twice"] = i
			} else {
				out[name] = i
			}
		}
	}
	return out
}

func text(s string) stream.Event { return stream.Event{Kind: stream.KindText, Text: s} }
func state(s string) stream.Event {
	return stream.Event{Kind: stream.KindStage, State: json.RawMessage(s)}
}

func TestMarks(t *testing.T) {
	events := []stream.Event{
		{Kind: stream.KindConnect, Name: "connected", At: 5 * time.Millisecond},
		{Kind: stream.KindReasoning, Text: "Answer: maybe"},
		text("The Ans"),
		text("wer: 42"),
		{Kind: stream.KindStage, Name: "tool_timeout", At: 1500 * time.Millisecond},
		state(`{"decision":"yes","score":0.7,"items":[{"tags":["a","b"]}]}`),
		{Kind: stream.KindTool, Text: `{"x":1}`},
		{Kind: stream.KindDone},
	}
	for _, c := range []struct {
		expr string
		at   int // -1 = never
	}{
		{`event == "connected"`, 0},
		{`text contains "Answer:"`, 3}, // cut over two deltas; the thinking is no text
		{`delta contains "maybe"`, 1},
		{`event == "tool_timeout"`, 4},
		{`t > 1000`, 4},
		{`t >= 5 && kind == "connect"`, 0},
		{`state.decision == "yes"`, 5},
		{`state.score > 0.5`, 5},
		{`any(state.items, any(#.tags, # == "b"))`, 5},
		{`kind == "tool" && state.decision != nil`, 6},
		{`len(text) >= 14`, 3},
		{`text matches "[0-9]+$"`, 3},
		{`true`, 0},
		{`state.missing.deeper == 1`, -1},    // a field of nil fails: false
		{`state.decision.deeper == "x"`, -1}, // so does a field of a string
		{`state.decision > 3`, -1},
		{`kind == "restart"`, -1},
	} {
		got, ok := first(compile(t, Def{"m", c.expr}), events)["m"]
		if !ok {
			got = -1
		}
		if got != c.at {
			t.Errorf("%s: held at event %d, want %d", c.expr, got, c.at)
		}
	}
}

func TestUseful(t *testing.T) {
	def, err := Useful("decision, reason,next.step")
	if err != nil {
		t.Fatal(err)
	}
	s := compile(t, def)
	got := first(s, []stream.Event{
		state(`{"decision":0,"reason":""}`), // 0 is a value, "" is none
		state(`{"next":{"step":null}}`),
		state(`{"next":{"step":"call"}}`),
		state(`not json`),
		state(`{"decision":null,"reason":"because"}`), // null removes
		state(`{"next":{"other":1}}`),                 // merging keeps step
		state(`{"decision":false}`),
	})
	if got["useful"] != 6 || len(got) != 1 {
		t.Errorf("held at %v, want event 6", got)
	}
	if names := s.Unseen(); len(names) != 0 {
		t.Errorf("unseen %v", names)
	}
	for _, bad := range []string{"", "a,,b", "a b", `a"]`, "a..b"} {
		if d, err := Useful(bad); err == nil {
			t.Errorf("Useful(%q) = %q, want an error", bad, d.Expr)
		}
	}
}

func TestRestartVoids(t *testing.T) {
	s := compile(t, Def{"said", `text contains "no"`}, Def{"again", `kind == "restart"`}, Def{"has", `state.a != nil`})
	got := first(s, []stream.Event{
		text("no"), state(`{"a":1}`), {Kind: stream.KindRestart}, text("n"), text("o"),
	})
	want := map[string]int{"said": 0, "has": 1, "again": 2, "said twice": 4}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for k, i := range want {
		if got[k] != i {
			t.Errorf("%s at %d, want %d", k, got[k], i)
		}
	}
}

func TestUnseen(t *testing.T) {
	s := compile(t, Def{"a", `kind == "text"`}, Def{"b", `kind == "done"`})
	if got := s.Names(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("names %v", got)
	}
	first(s, []stream.Event{text("x")})
	if got := s.Unseen(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("unseen %v, want b", got)
	}
}

// TestManyStreams: one set serves streams that run at the same time.
func TestManyStreams(t *testing.T) {
	s := compile(t, Def{"done", `kind == "done" && text == "abcabcabc" && state.n == 3`}, Def{"never", `kind == "error"`})
	var wg sync.WaitGroup
	var marked atomic.Int32
	for range 16 {
		wg.Go(func() {
			v := s.New()
			for i := range 3 {
				e := text("abc")
				e.State = json.RawMessage(fmt.Sprintf(`{"n":%d}`, i+1))
				v.Mark(&e)
			}
			if names := v.Mark(&stream.Event{Kind: stream.KindDone}); len(names) == 1 {
				marked.Add(1)
			}
			s.Unseen()
		})
	}
	wg.Wait()
	if got := s.Unseen(); marked.Load() != 16 || !slices.Equal(got, []string{"never"}) {
		t.Errorf("marked %d of 16, unseen %v", marked.Load(), got)
	}
}

func TestCompileErrors(t *testing.T) {
	for _, c := range []struct{ name, expr, want string }{
		{"m", "txet contains \"a\"", "line 1, column 1: unknown name txet"},
		{"m", "text contains", "column"},
		{"m", "t > \"x\"", "column 3"},
		{"m", "text", "expected bool"},
		{"m", "", "no expression"},
		{"m", "kind == now()", "now"},
		{"m", "any(1..100, # == t)", "range"},
		{"m", "any(state.a, any([#, #], # == 1))", "any inside another loop"},
		{"m", "any(state.a, any(state.a, # == 1))", "state inside a loop"},
		{"m", "any(state.a, text contains #)", "text inside a loop"},
		{"m", "let x = text; any(state.a, x contains #)", "x inside a loop"},
		{"m", "repeat(text, 1000000) == text", "repeat is not allowed"},
		{"m", "len(replace(text, \"\", text)) > 0", "replace is not allowed"},
		{"m", "reduce(state.a, #acc + #acc) == \"\"", "reduce is not allowed"},
		{"a b", "true", "a name is"},
		{"", "true", "a name is"},
	} {
		_, err := Compile([]Def{{c.name, c.expr}})
		if err == nil {
			t.Errorf("%q compiled", c.expr)
			continue
		}
		if msg := err.Error(); !strings.Contains(msg, c.want) || !strings.Contains(msg, "mark ") {
			t.Errorf("%q: error %q does not say %q", c.expr, msg, c.want)
		}
	}
	if _, err := Compile([]Def{{"m", "true"}, {"m", "false"}}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a doubled name gave %v", err)
	}
	if _, err := Compile([]Def{{"m", "foo > 1"}}); !strings.Contains(err.Error(), Available) {
		t.Errorf("error %q does not say what is available", err)
	}
	if _, err := Compile([]Def{{"m", strings.Repeat("t > 1 && ", 1000) + "true"}}); err == nil {
		t.Error("an expression of thousands of nodes compiled")
	}
}

func TestBounded(t *testing.T) {
	s := compile(t, Def{"end", `text endsWith "z"`})
	v := s.New()
	chunk := text(strings.Repeat("a", 1000))
	for range 3000 {
		if names := v.Mark(&chunk); names != nil {
			t.Fatalf("marked %v", names)
		}
	}
	last := text("z")
	if names := v.Mark(&last); names != nil {
		t.Error("text beyond the limit was seen: it would have a hole")
	}
	if n := v.text.Len(); n > maxText {
		t.Errorf("kept %d bytes of text", n)
	}
	huge := state(`{"a":"` + strings.Repeat("x", maxState) + `"}`)
	v.Mark(&huge)
	if len(v.env.State) != 0 {
		t.Error("a state object beyond the limit was merged")
	}
}

// TestQuick: the text grows without copies, and marks that read only the text
// or the state are not evaluated at other events.
func TestQuick(t *testing.T) {
	s := compile(t, Def{"never", `text contains "zzz"`}, Def{"none", `state.a == 1`})
	v := s.New()
	v.Mark(&stream.Event{Kind: stream.KindConnect})
	e := stream.Event{Kind: stream.KindHeartbeat}
	if n := testing.AllocsPerRun(100, func() { v.Mark(&e) }); n != 0 {
		t.Errorf("%v allocations for an event that changes nothing", n)
	}
}

func BenchmarkMark(b *testing.B) {
	s, err := Compile([]Def{{"a", `text contains "zzz"`}, {"b", `event == "x" && t > 10`}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	v := s.New()
	e := text("word ")
	for i := 0; b.Loop(); i++ {
		if i%1000 == 0 {
			v = s.New()
		}
		v.Mark(&e)
	}
}
