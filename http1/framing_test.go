package http1

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Any body in any framing, cut anywhere, gives the bytes net/http gives, and
// after each piece no body byte is held back.
func TestFramingAgainstNetHTTP(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, mode := drawResponse(t)
		res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		extra := ""
		if mode != untilClose {
			extra = rapid.SampledFrom([]string{"", "HTTP/1.1 200 OK\r\n"}).Draw(t, "after")
		}
		end, _ := headEnd(raw, 0)
		f := framingOf(res, http.MethodPost)
		if f.mode != mode {
			t.Fatalf("mode %v, want %v", f.mode, mode)
		}
		got, rest := feedSplit(t, &f, append(bytes.Clone(raw[end:]), extra...))
		if !bytes.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		if string(rest) != extra || f.done != (mode != untilClose) {
			t.Fatalf("done %t, rest %q, want %q", f.done, rest, extra)
		}
	})
}

// drawResponse makes a response with a random body and framing.
func drawResponse(t *rapid.T) ([]byte, bodyMode) {
	body := rapid.SliceOfN(rapid.Byte(), 0, 600).Draw(t, "body")
	mode := bodyMode(rapid.IntRange(0, 2).Draw(t, "mode"))
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 200 OK\r\nX: y\r\n")
	switch mode {
	case untilClose:
		b.WriteString("Connection: close\r\n\r\n")
		b.Write(body)
	case byLength:
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n", len(body))
		b.Write(body)
	case byChunks:
		b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		drawChunks(t, &b, body)
	}
	return b.Bytes(), mode
}

func drawChunks(t *rapid.T, b *bytes.Buffer, body []byte) {
	for len(body) > 0 {
		n := rapid.IntRange(1, len(body)).Draw(t, "chunk")
		form := rapid.SampledFrom([]string{"%x\r\n", "%X\r\n", "00%x\r\n", "%x;a=b\r\n", "%x;q=\"x\"\r\n", "%x  \r\n"}).Draw(t, "form")
		fmt.Fprintf(b, form, n)
		b.Write(body[:n])
		b.WriteString("\r\n")
		body = body[n:]
	}
	b.WriteString(rapid.SampledFrom([]string{"0\r\n\r\n", "0;x\r\n\r\n", "000\r\nT: v\r\n\r\n", "0\r\nA: b\r\nC: d\r\n\r\n"}).Draw(t, "end"))
}

// feedSplit feeds p in pieces of random sizes.
func feedSplit(t *rapid.T, f *framing, p []byte) (body, rest []byte) {
	for len(p) > 0 {
		n := rapid.IntRange(1, min(len(p), 64)).Draw(t, "read")
		got, left, err := f.feed(bytes.Clone(p[:n]))
		if err != nil {
			t.Fatal(err)
		}
		body, rest = append(body, got...), append(rest, left...)
		p = p[n:]
	}
	return body, rest
}

func TestFramingHoldsNothingBack(t *testing.T) {
	f := framing{mode: byChunks}
	for _, step := range []struct{ in, out string }{
		{"5\r\nhe", "he"}, {"l", "l"}, {"lo", "lo"}, {"\r", ""}, {"\n3\r\nabc\r\n2\r\nde\r\n", "abcde"}, {"0\r\n", ""}, {"\r\n", ""},
	} {
		got, _, err := f.feed([]byte(step.in))
		if err != nil || string(got) != step.out {
			t.Errorf("feed %q = %q, %v; want %q", step.in, got, err, step.out)
		}
	}
	if !f.done {
		t.Error("not done")
	}
}

func TestFramingRefusesMalformed(t *testing.T) {
	for in, want := range map[string]error{
		"\r\n":                                errChunkSize,
		"1z\r\n":                              errChunkSize,
		"zz\r\n":                              errChunkSize,
		"fffffffffffffffff\r\n":               errChunkBig,
		"1\r\nab\r\n":                         errChunkEnd,
		"1\r\na\r\r\n":                        errChunkEnd,
		"1;" + strings.Repeat("x", maxLine+2): errChunkLine,
		"0\r\n" + strings.Repeat("x: y\r\n", maxLine/4): errChunkLine,
	} {
		f := framing{mode: byChunks}
		if _, _, err := f.feed([]byte(in)); !errors.Is(err, want) {
			t.Errorf("%.20q: %v, want %v", in, err, want)
		}
	}
}

func FuzzFraming(f *testing.F) {
	f.Add([]byte("5\r\nhello\r\n0\r\n\r\n"), 3)
	f.Add([]byte("1;x\r\na\r\n0\r\nT: v\r\n\r\nrest"), 1)
	f.Fuzz(func(t *testing.T, p []byte, cut int) {
		whole, parts := framing{mode: byChunks}, framing{mode: byChunks}
		want, rest, wantErr := whole.feed(bytes.Clone(p))
		cut = max(0, min(cut, len(p)))
		a, restA, err := parts.feed(bytes.Clone(p[:cut]))
		if err == nil {
			var b, restB []byte
			b, restB, err = parts.feed(bytes.Clone(p[cut:]))
			a, restA = append(bytes.Clone(a), b...), append(bytes.Clone(restA), restB...)
		}
		if !bytes.Equal(a, want) || (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(restA, rest) {
			t.Fatalf("cut at %d: %q %q %v; whole: %q %q %v", cut, a, restA, err, want, rest, wantErr)
		}
	})
}
