package relay_test

import (
	"strings"
	"testing"

	"weir/relay"
	"weir/wire"
)

func TestIDsReadBackTheSame(t *testing.T) {
	for _, p := range []relay.Position{{Epoch: "0f", Offset: 0}, {Epoch: "a1b2c3d4", Offset: 1<<63 - 1}} {
		id := string(relay.AppendID(nil, "stream_-9", p))
		stream, got, err := relay.ParseID(id)
		if err != nil || stream != "stream_-9" || got != p {
			t.Errorf("%s reads back as %s %+v, %v", id, stream, got, err)
		}
	}
}

func TestHostileIDsAreRefused(t *testing.T) {
	for _, id := range []string{
		"", ".", "..", "a", "a.b", "a.b.", "a.b.c", ".b.1", "a..1", "a.b.-1", "a.b.+1", "a.b.01", "a.b. 1", "a.b.1.2", "a.b.1\n",
		"a.b.9223372036854775808", "a\x00.b.1", "a/../x.b.1", "ä.b.1", "a.{}.1", strings.Repeat("a", 129) + ".b.1",
		"a." + strings.Repeat("b", 33) + ".1", strings.Repeat("a.", 1<<20),
	} {
		if stream, p, err := relay.ParseID(id); err == nil {
			t.Errorf("ParseID(%.40q) = %s %+v", id, stream, p)
		} else if len(id) > 3 && strings.Contains(err.Error(), id) {
			t.Errorf("the error repeats %q", id)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("s.e.1")
	f.Fuzz(func(t *testing.T, id string) {
		if stream, p, err := relay.ParseID(id); err == nil && string(relay.AppendID(nil, stream, p)) != id {
			t.Errorf("%q is read as %s %+v, which is another id", id, stream, p)
		}
	})
}

func TestStampsStandInTheEvent(t *testing.T) {
	p := relay.Position{Epoch: "e", Offset: 7}
	for _, c := range []struct {
		frame string
		retry int64
		want  string
	}{
		{"data: x\n\n", 0, "data: x\nid: s.e.7\n\n"},
		{"data: x\n\n", 1500, "data: x\nretry: 1500\nid: s.e.7\n\n"},
		{"data: x\r\n\r\n", 0, "data: x\r\nid: s.e.7\r\n\r\n"},
		{"data: x\r\n\r", 0, "data: x\r\nid: s.e.7\r\n\r\n"}, // the LF had not come yet
		{"data: x\r\r", 0, "data: x\rid: s.e.7\r\r"},
		{"data: x\n\r\n", 0, "data: x\nid: s.e.7\n\n"},
		{"id: theirs\ndata: x\n\n", 0, "id: theirs\ndata: x\nid: s.e.7\n\n"},
		{": hb\nevent: a\ndata: x\ndata: y\n\n", 0, ": hb\nevent: a\ndata: x\ndata: y\nid: s.e.7\n\n"},
	} {
		got, ok := relay.AppendStamped([]byte("before|"), []byte(c.frame), "s", p, c.retry)
		if !ok || string(got) != "before|"+c.want {
			t.Errorf("%q became %q, want %q", c.frame, got, c.want)
		}
		was, is := decode(t, c.frame), decode(t, string(got[len("before|"):]))
		if len(was) != 1 || len(is) != 1 || was[0].data != is[0].data || is[0].id != "s.e.7" {
			t.Errorf("%q means %v, stamped it means %v", c.frame, was, is)
		}
	}
	for _, frame := range []string{"", "data: x", "data: x\n", "data: x\r\n", ": hb\n"} {
		if got, ok := relay.AppendStamped(nil, []byte(frame), "s", p, 5); ok || string(got) != frame {
			t.Errorf("%q is no whole event, but became %q", frame, got)
		}
	}
}

type event struct{ data, id string }

func decode(t *testing.T, s string) (events []event) {
	t.Helper()
	d, err := wire.New("sse", wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Feed([]byte(s), func(f wire.Frame) {
		if f.Kind == wire.Event {
			events = append(events, event{string(f.Data), string(f.ID)})
		}
	}); err != nil {
		t.Fatal(err)
	}
	return events
}
