package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sseBits and jsonBits are what decoders stumble over, for generators to join.
var (
	sseBits = []string{
		"data", "data:", "data: ", "event: e", "id: 7", "id", "id:\x00", "retry: 10", ":", ": c", "error: {\"a\":1}", "{\"a\":1}",
		"\n", "\r", "\r\n", "\n\n", "\r\n\r\n", "\r\r", " ", "\ufeff", "\xef", "\xbb", "\xff", "你", "x", "[DONE]", "data: {}\n\n",
	}
	jsonBits = []string{
		"{", "}", "[", "]", `"`, `\`, `\"`, ",", ":", " ", "\n", "\r\n", "\r", "1", "-2.5", "true", "null", "\ufeff", "\xef", "\xbb",
		"x", "你", `{"a":"}"}`, `["]"]`, "<html>", "[{", "}]",
	}
)

func bits(t *rapid.T, from []string) []byte {
	parts := rapid.SliceOfN(rapid.SampledFrom(from), 0, 24).Draw(t, "bits")
	return []byte(strings.Join(parts, ""))
}

// cuts cuts in at random places; a piece may be empty.
func cuts(t *rapid.T, in []byte) (ps [][]byte) {
	at := rapid.SliceOfN(rapid.IntRange(0, len(in)), 0, 6).Draw(t, "cuts")
	slices.Sort(at)
	from := 0
	for _, to := range at {
		ps = append(ps, in[from:to])
		from = to
	}
	return append(ps, in[from:])
}

func TestAnySplitGivesTheSameFrames(t *testing.T) {
	for _, f := range Formats {
		t.Run(f.Name, rapid.MakeCheck(func(t *rapid.T) {
			in := bits(t, slices.Concat(sseBits, jsonBits))
			limit := rapid.SampledFrom([]int{0, 1, 5, 12, 30}).Draw(t, "limit")
			ps := cuts(t, in)
			if msg := sameFrames(f, limit, in, ps); msg != "" {
				t.Fatal(msg)
			}
			if msg := sameFrames(f, limit, in, pieces(in, 1)); msg != "" {
				t.Fatal(msg)
			}
		}))
	}
}

// sameFrames says how the frames of in differ from those of its pieces; "" if
// they do not.
func sameFrames(f Format, limit int, in []byte, ps [][]byte) string {
	a, errA := feed(f.New(Options{FrameLimit: limit}), in)
	b, errB := feed(f.New(Options{FrameLimit: limit}), ps...)
	if x, y := shown(a), shown(b); x != y || fmt.Sprint(errA) != fmt.Sprint(errB) {
		return fmt.Sprintf("%s of %q, limit %d\nwhole (%v):\n%sin pieces %q (%v):\n%s", f.Name, in, limit, errA, x, ps, errB, y)
	}
	return ""
}

func TestSSEAgreesWithTheSpecification(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if msg := againstReference(bits(t, sseBits)); msg != "" {
			t.Fatal(msg)
		}
	})
}

// againstReference says where the decoder and the specification differ.
func againstReference(in []byte) string {
	d := Formats[0].New(Options{})
	frames, err := feed(d, in)
	if err != nil {
		return err.Error()
	}
	events, id, retry := reference(in)
	s := d.(SSEState)
	ms, ok := s.Retry()
	if !ok {
		ms = -1
	}
	if got := dispatched(frames); !slices.Equal(got, events) || s.LastEventID() != id || ms != retry {
		return fmt.Sprintf("%q:\n got %q last id %q retry %d\nwant %q last id %q retry %d", in, got, s.LastEventID(), ms, events, id, retry)
	}
	return ""
}

// Every byte of a stream is in the Raw of a frame, but for these:
//   - sse: one leading byte order mark; line ends that end no frame (blank lines
//     outside a block; the LF of a CRLF whose CR completed a frame);
//   - ndjson: one leading byte order mark;
//   - json-array: a byte order mark, white space, commas and brackets between elements;
//   - body: nothing.
func accounting(f Format, in []byte) string {
	rest, bad := unaccounted(f.New(Options{}), in)
	if bad != "" {
		return f.Name + ": " + bad
	}
	if f.Name != "body" && bytes.HasPrefix(in, []byte(byteOrderMark)) {
		rest = bytes.TrimPrefix(rest, []byte(byteOrderMark))
	}
	free := map[string]string{"sse": "\r\n", "json-array": " \t\r\n,[]"}[f.Name]
	if left := bytes.Trim(rest, free); len(left) > 0 {
		return fmt.Sprintf("%s of %q: in no frame: %q", f.Name, in, left)
	}
	return ""
}

func TestEveryByteIsAccountedFor(t *testing.T) {
	for _, f := range Formats {
		t.Run(f.Name, rapid.MakeCheck(func(t *rapid.T) {
			if msg := accounting(f, bits(t, slices.Concat(sseBits, jsonBits))); msg != "" {
				t.Fatal(msg)
			}
		}))
	}
}
