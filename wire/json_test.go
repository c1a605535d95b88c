package wire

import (
	"strings"
	"testing"
)

func TestJSONFrames(t *testing.T) {
	for _, c := range []struct{ name, format, in, want string }{
		{"lines", "ndjson", "{\"a\":1}\n{\"b\":2}\r\n", `
event {"a":1} | {"a":1}\n
event {"b":2} | {"b":2}\r\n`},
		{"blank lines are heartbeats", "ndjson", "\n \r\n{}\n", `
comment  | \n
comment  |  \r\n
event {} | {}\n`},
		{"tail", "ndjson", "{}\n{\"a\":", `
event {} | {}\n
unterminated {"a": | {"a":`},
		{"blank tail", "ndjson", "{}\n \r", `
event {} | {}\n
comment  |  \r`},
		{"mark", "ndjson", "\ufeff{}\n", `
event {} | {}\n`},
		{"array", "json-array", "[{\"a\":\"}\\\"\"}\n,\n{\"b\":[{}]}\n]\n", `
event {"a":"}\""} | {"a":"}\""}
event {"b":[{}]} | {"b":[{}]}`},
		{"scalars", "json-array", `[1, -2.5e3,true,"a,]\"b",null]`, `
event 1 | 1
event -2.5e3 | -2.5e3
event true | true
event "a,]\"b" | "a,]\"b"
event null | null`},
		{"arrays in the array", "json-array", `[[1,2],[[]]]`, `
event [1,2] | [1,2]
event [[]] | [[]]`},
		{"an object instead", "json-array", `{"error":{"code":503}}`, `
event {"error":{"code":503}} | {"error":{"code":503}}`},
		{"cut", "json-array", `[{"a":1},{"b":`, `
event {"a":1} | {"a":1}
unterminated {"b": | {"b":`},
		{"a number at the end", "json-array", `12`, `
event 12 | 12`},
		{"no JSON", "json-array", `[oops ,{}]`, `
unknown_field oops | oops
event {} | {}`},
		{"body", "body", "\ufeff<html>\n", `
body <html>\n | ` + "\ufeff" + `<html>\n`},
		{"empty body", "body", "", ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			frames, err := feed(decoder(t, c.format, 0), []byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			visible := strings.NewReplacer("\n", `\n`, "\r", `\r`)
			for _, f := range frames {
				got.WriteString("\n" + f.Kind.String() + " " + visible.Replace(string(f.Data)+" | "+string(f.Raw)))
			}
			if got.String() != c.want {
				t.Errorf("got%s\nwant%s", got.String(), c.want)
			}
		})
	}
}

// An element's time is its closing brace's, not that of the comma after it.
func TestElementIsCompleteAtItsBrace(t *testing.T) {
	d := decoder(t, "json-array", 0)
	n := 0
	for i, step := range []struct {
		piece string
		want  int
	}{{"[{", 0}, {"}", 1}, {",\n{\"a\":\"}", 1}, {"\"}", 2}, {"]", 2}} {
		if err := d.Feed([]byte(step.piece), func(Frame) { n++ }); err != nil || n != step.want {
			t.Fatalf("after piece %d (%q): %d elements, want %d; %v", i, step.piece, n, step.want, err)
		}
	}
}

func TestNDJSONAllocatesNothing(t *testing.T) {
	stream := []byte(strings.Repeat(`{"model":"m","message":{"role":"assistant","content":"Hi"},"done":false}`+"\n", 500))
	for _, size := range []int{73, 4 << 10} {
		ps := pieces(stream, size)
		d := decoder(t, "ndjson", 0)
		if a := testing.AllocsPerRun(5, func() { decodeAll(d, ps, func(Frame) {}) }); a != 0 {
			t.Errorf("pieces of %d: %v allocations", size, a)
		}
	}
}

func TestNewNamesTheFormats(t *testing.T) {
	_, err := New("xml", Options{})
	if err == nil || !strings.Contains(err.Error(), `"xml"; known are sse, ndjson, json-array, body`) {
		t.Error(err)
	}
}
