package wire

import (
	"bytes"
	"testing"
)

// fuzzFormat checks that a format's frames do not depend on the split, that no
// byte is lost and that nothing panics.
func fuzzFormat(f *testing.F, format Format, seeds ...string) {
	for _, v := range vectors(f) {
		f.Add(v.bytes(f), 3, 0)
	}
	for _, s := range seeds {
		f.Add([]byte(s), 5, 40)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut, limit int) {
		limit &= 0xfff // 0: the default
		cut = max(0, min(cut, len(in)))
		for _, ps := range [][][]byte{{in[:cut], in[cut:]}, pieces(in, 1), pieces(in, 1+cut%7)} {
			if msg := sameFrames(format, limit, in, ps); msg != "" {
				t.Error(msg)
			}
		}
		if msg := accounting(format, in); msg != "" {
			t.Error(msg)
		}
	})
}

func FuzzSSE(f *testing.F) {
	fuzzFormat(f, Formats[0], "data: {\"a\":1}\n\n: c\n\ndata: [DONE]\n\n")
}

func FuzzNDJSON(f *testing.F) {
	fuzzFormat(f, Formats[1], "{\"a\":1}\n\n{\"b\":2}\r\n{\"c\"", "\ufeff{}\n")
}

func FuzzArray(f *testing.F) {
	fuzzFormat(f, Formats[2], `[{"a":"}"},`+"\n"+`{"b":[1,2]} , "\"", -1.5, true ]`, `{"error":{"code":503}}`, "[[1],[2]")
}

// FuzzReference compares the SSE decoder with the specification.
func FuzzReference(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.bytes(f))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if msg := againstReference(in); msg != "" {
			t.Error(msg)
		}
	})
}

// FuzzEncode checks that what an encoder does not refuse reads back as it was.
func FuzzEncode(f *testing.F) {
	f.Add("ping", "7", int64(1500), []byte("a\n b\n"), true, false)
	f.Add("", "", int64(0), []byte(nil), false, true)
	f.Add("a\r", "b\n", int64(-1), []byte("c\x00"), false, false)
	for _, v := range vectors(f) {
		f.Add("e", v.Name, int64(0), v.bytes(f), false, false)
	}
	f.Fuzz(func(t *testing.T, event, id string, retry int64, data []byte, noSpace, crlf bool) {
		e := SSEEvent{Event: event, ID: id, Retry: retry, Data: data, NoSpace: noSpace, CRLF: crlf}
		if msg := roundTrip(e); msg != "" {
			t.Error(msg)
		}
		if msg := commentRoundTrip(event); msg != "" {
			t.Error(msg)
		}
		if msg := lineRoundTrip(bytes.Clone(data)); msg != "" {
			t.Error(msg)
		}
	})
}
