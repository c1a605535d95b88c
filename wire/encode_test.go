package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAppendSSE(t *testing.T) {
	for _, c := range []struct {
		e    SSEEvent
		want string
	}{
		{SSEEvent{}, "\n"},
		{SSEEvent{Data: []byte("{}")}, "data: {}\n\n"},
		{SSEEvent{Data: []byte{}}, "data: \n\n"},
		{SSEEvent{Event: "ping"}, "event: ping\n\n"},
		{SSEEvent{Event: "e", ID: "7", Retry: 10, Data: []byte("a\nb\n")}, "event: e\nid: 7\nretry: 10\ndata: a\ndata: b\ndata: \n\n"},
		{SSEEvent{Event: "e", Data: []byte("a\n b"), NoSpace: true, CRLF: true}, "event:e\r\ndata:a\r\ndata:  b\r\n\r\n"},
	} {
		got, err := AppendSSE([]byte("before "), c.e)
		if err != nil || string(got) != "before "+c.want {
			t.Errorf("%+v: %q, %v", c.e, got, err)
		}
	}
}

func TestEncodersRefuseInjection(t *testing.T) {
	dst := []byte("kept")
	check := func(what string, got []byte, err error, names string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), names) || string(got) != "kept" {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	for _, bad := range []string{"a\rb", "a\nb", "a\x00b"} {
		got, err := AppendSSE(dst, SSEEvent{Event: bad, Data: []byte("x")})
		check("event", got, err, "event type")
		got, err = AppendSSE(dst, SSEEvent{ID: bad, Data: []byte("x")})
		check("id", got, err, "event id")
		got, err = AppendComment(dst, bad)
		check("comment", got, err, "comment")
		got, err = AppendNDJSON(dst, []byte(bad))
		check("ndjson", got, err, "ndjson")
	}
	got, err := AppendSSE(dst, SSEEvent{Data: []byte("a\rdata: injected")})
	check("data", got, err, "CR at byte 1")
	got, err = AppendSSE(dst, SSEEvent{Retry: -1})
	check("retry", got, err, "-1 ms")
	got, err = AppendNDJSON(dst, []byte(" "))
	check("blank", got, err, "blank")
	got, err = AppendNDJSON(dst, []byte("\ufeff{}"))
	check("mark", got, err, "byte order mark")
}

// roundTrip encodes e and reads it back; "" if it is the same or was refused.
func roundTrip(e SSEEvent) string {
	b, err := AppendSSE(nil, e)
	if err != nil {
		return ""
	}
	d := Formats[0].New(Options{})
	frames, err := feed(d, b)
	if err != nil {
		return err.Error()
	}
	kind := Event
	if e.Data == nil {
		kind = DataLess
		if e.Event == "" && e.ID == "" && e.Retry == 0 {
			return only(frames, 0, b)
		}
	}
	if msg := only(frames, 1, b); msg != "" {
		return msg
	}
	f := frames[0]
	ms, _ := d.(SSEState).Retry()
	if f.Kind != kind || string(f.Event) != e.Event || string(f.ID) != e.ID || !bytes.Equal(f.Data, e.Data) || ms != e.Retry {
		return fmt.Sprintf("%+v became %q and reads back as %s", e, b, shown(frames))
	}
	return ""
}

func only(frames []Frame, n int, b []byte) string {
	if len(frames) != n {
		return fmt.Sprintf("%q reads back as %d frames, want %d:\n%s", b, len(frames), n, shown(frames))
	}
	return ""
}

func commentRoundTrip(text string) string {
	b, err := AppendComment(nil, text)
	if err != nil {
		return ""
	}
	frames, _ := feed(Formats[0].New(Options{}), b)
	if len(frames) != 1 || frames[0].Kind != Comment || string(frames[0].Data) != text {
		return fmt.Sprintf("comment %q became %q and reads back as %s", text, b, shown(frames))
	}
	return ""
}

func lineRoundTrip(json []byte) string {
	b, err := AppendNDJSON(nil, json)
	if err != nil {
		return ""
	}
	frames, _ := feed(Formats[1].New(Options{}), b)
	if len(frames) != 1 || frames[0].Kind != Event || !bytes.Equal(frames[0].Data, json) {
		return fmt.Sprintf("value %q became %q and reads back as %s", json, b, shown(frames))
	}
	return ""
}

func TestWhatIsEncodedReadsBackTheSame(t *testing.T) {
	nasty := rapid.SampledFrom([]string{"", " ", "a", "你", "data: ", ":", "\ufeff", "\xff", "\x00", "\r", "\n", "\u2028"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(nasty, 0, 5).Draw(t, "parts"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		e := SSEEvent{
			Event: text.Draw(t, "event"), ID: text.Draw(t, "id"), Retry: rapid.Int64Range(-1, 1<<62).Draw(t, "retry"),
			NoSpace: rapid.Bool().Draw(t, "nospace"), CRLF: rapid.Bool().Draw(t, "crlf"),
		}
		if rapid.Bool().Draw(t, "has data") {
			e.Data = []byte(text.Draw(t, "data"))
		}
		for _, msg := range []string{roundTrip(e), commentRoundTrip(e.Event), lineRoundTrip(e.Data)} {
			if msg != "" {
				t.Fatal(msg)
			}
		}
	})
}
