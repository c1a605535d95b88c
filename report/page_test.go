package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/clipperhouse/displaywidth"
	"pgregory.net/rapid"

	"weir/stream"
)

func TestNoLineIsWiderThanThePage(t *testing.T) {
	for name, s := range sessions() {
		for width := 60; width <= 140; width++ {
			s.View.Width = width
			for i, line := range strings.Split(render(t, s), "\n") {
				if w := displaywidth.String(line); w > width {
					t.Errorf("%s at %d columns: line %d takes %d: %s", name, width, i+1, w, line)
				}
				if strings.HasSuffix(line, " ") {
					t.Errorf("%s at %d columns: line %d ends in a blank", name, width, i+1)
				}
			}
		}
	}
}

var escape = regexp.MustCompile(`\x1b\[[0-9]*m`)

func TestColourChangesNothingElse(t *testing.T) {
	for name, s := range sessions() {
		plain := render(t, s)
		s.View.Color = true
		coloured := render(t, s)
		if escape.ReplaceAllString(coloured, "") != plain {
			t.Errorf("%s: the text under the colours differs", name)
		}
		if !strings.Contains(coloured, "\x1b[") {
			t.Errorf("%s: no colour", name)
		}
	}
}

const hostile = "\x1b]0;owned\x07\x1b[2J\x9b31m\u009b\r\nx\tRTL \u202e\u2066 end\x00\x7f中文"

// Whatever a server says in whatever field, a terminal is only written to.
func TestHostileTextIsNeutralised(t *testing.T) {
	for _, s := range sessions() {
		for i := range s.Requests {
			for j, r := range s.Requests[i] {
				c := *r
				infect(reflect.ValueOf(&c).Elem(), 3)
				c.RequestID, c.Conn, c.Stamp, c.Outcome = r.RequestID, r.Conn, r.Stamp, r.Outcome
				s.Requests[i][j] = &c
			}
		}
		for i := range s.Findings {
			infect(reflect.ValueOf(&s.Findings[i]).Elem(), 3)
		}
		s.Dialect, s.Choices, s.Unseen, s.Sources, s.Logs = hostile, []string{hostile}, []string{hostile}, []string{hostile}, hostile
		var b bytes.Buffer
		if err := WriteJSON(&b, s); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b.Bytes()) {
			t.Error("JSON is not valid")
		}
		for _, out := range []string{render(t, s), strings.TrimSuffix(b.String(), "\n")} {
			for i, r := range out {
				if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar) && !okInJSON(r, out) {
					t.Fatalf("%U at %d: %q", r, i, out[max(0, i-40):min(len(out), i+20)])
				}
			}
		}
	}
}

// In JSON ill-formed bytes are U+FFFD.
func okInJSON(r rune, out string) bool { return r == unicode.ReplacementChar && out[0] == '{' }

// infect sets every text to the hostile one.
func infect(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				infect(v.Field(i), depth)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			infect(v.Index(i), depth-1)
		}
		if v.Len() == 0 && v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.ValueOf([]string{hostile}))
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{hostile: hostile}))
	case reflect.Pointer:
		if v.IsNil() && depth > 0 && v.Type().Elem() == reflect.TypeFor[stream.Fault]() {
			v.Set(reflect.ValueOf(&stream.Fault{Code: hostile, Message: hostile}))
		}
	}
}

func TestWrapLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := Clean(rapid.StringOfN(rapid.SampledFrom([]rune("ab 中文é👩\u200d")), 0, 200, -1).Draw(t, "text"))
		width := rapid.IntRange(10, 60).Draw(t, "width")
		lines := wrap(text, width)
		for _, l := range lines {
			if w := displaywidth.String(l); w > width {
				t.Fatalf("%q takes %d of %d columns", l, w, width)
			}
		}
		squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if got := squeeze(strings.Join(lines, "")); got != squeeze(text) {
			t.Fatalf("wrapped %q to %q", text, lines)
		}
	})
}

func TestFigures(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{0, "ms", "0 ms"}, {0.0312, "ms", "0.03 ms"}, {4.21, "ms", "4.2 ms"}, {9.96, "ms", "10 ms"}, {999.4, "ms", "999 ms"},
		{999.6, "ms", "1.00 s"}, {12345, "ms", "12.3 s"}, {99960, "ms", "100 s"}, {125000, "ms", "125 s"}, {-0.4, "ms", "-0.40 ms"},
		{0, "share", "0 %"}, {0.0123, "share", "1.2 %"}, {0.5, "share", "50 %"}, {1, "share", "100 %"},
		{21.694, "tok/s", "21.7 tok/s"}, {141.807, "tok/s", "142 tok/s"}, {28, "tokens", "28 tokens"}, {4096, "bytes", "4096 B"},
		{12288, "bytes", "12.0 KiB"}, {0.987, "index", "0.99"}, {3, "count", "3"},
		{1, "tokens", "1 token"}, {1, "events", "1 event"}, {0, "events", "0 events"},
	} {
		if got := Figure(c.v, c.unit); got != c.want {
			t.Errorf("%v %s is shown as %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

func render(t *testing.T, s Session) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteText(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
