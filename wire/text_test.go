package wire

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// The cases of the Unicode standard, tables 3-8 to 3-11, and some of our own.
func TestText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"Hi 你好 👋", "Hi 你好 👋"},
		{"a\xffb", "a\ufffdb"},
		{"\xf0\x9f\x8c", "\ufffd"},
		{"\xf0\x9f\x8c\xf0\x9f\x8c\x8d", "\ufffd🌍"},
		{"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
		{"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82A", "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdA"},
		{"\xed\xa0\x80\xed\xbf\xbf\xed\xafA", "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdA"},
		{"\xf4\x91\x92\x93\xffA\x80\xbfB", "\ufffd\ufffd\ufffd\ufffd\ufffdA\ufffd\ufffdB"},
		{"\xe1\x80\xe2\xf0\x91\x92\xf1\xbfA", "\ufffd\ufffd\ufffd\ufffdA"},
		{"\ufffd", "\ufffd"},
		{"\xe4\xbd", "\ufffd"},
	} {
		if got := Text([]byte(c.in)); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestTextIsAlwaysValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.SampledFrom([]byte("a\x80\xa0\xbf\xc2\xe0\xe4\xed\xf0\xf4\xff"))).Draw(t, "in")
		got := Text(in)
		if !utf8.ValidString(got) || utf8.Valid(in) && got != string(in) || Text([]byte(got)) != got {
			t.Fatalf("%q: %q", in, got)
		}
	})
}
