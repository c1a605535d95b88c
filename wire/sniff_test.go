package wire

import "testing"

func TestSniff(t *testing.T) {
	for _, c := range []struct{ contentType, first, want string }{
		{"text/event-stream", "", "sse"},
		{"Text/Event-Stream; charset=utf-8", `{"error":1}`, "sse"},
		{"application/x-ndjson", "", "ndjson"},
		{"application/jsonl; charset=utf-8", "{", "ndjson"},
		{"application/json", `{"error":{"code":1}}`, "body"},
		{"application/json", "{\"a\":1}\n", "body"},
		{"application/json", "{\"a\":1}\n{\"a\":2}\n", "ndjson"},
		{"application/json", "{\"a\":1}\n\n", "body"},
		{"application/json; charset=UTF-8", `[{"candidates":`, "json-array"},
		{"application/json", "\n\n {\n \"a\":1}", "body"},
		{"application/json", "data: {}\n\n", "sse"},
		{"application/problem+json", "", "body"},
		{"application/json", "\n\n", "body"},
		{"application/problem+json", "oops", "body"},
		{"text/html", "<html>", "body"},
		{"text/html", ": ping\n\n", "sse"},
		{"text/plain", "upstream connect error or disconnect/reset before headers. reset reason: overflow", "body"},
		{"text/plain", "no healthy upstream", "body"},
		{"text/plain", "dat", "sse"},
		{"text/plain", "data:x", "sse"},
		{"text/plain", "{\"a\":1}\n", "ndjson"},
		{"text/plain", `{"a":`, "ndjson"},
		{"text/plain", `{"a":1}`, "body"},
		{"text/plain", "{\n \"a\":1}", "body"},
		{"", "\ufeff: hi\n", "sse"},
		{"", "\ufeff  <!doctype html>", "body"},
		{"", "{\"a\":1}\n", "body"},
		{"", "{\"a\":1}\r\n{\"a\":2}\r\n", "ndjson"},
		{"", "{\"a\":\"}\\\"\"}\n{", "ndjson"},
		{"", "[", "json-array"},
		{"", "foo: 1\ndata: x\n\n", "sse"},
		{"", "", "sse"},
		{"application/vnd.amazon.eventstream", "\x00\x00\x00\x8f", "body"},
		{"image/png", "\x89PNG", "body"},
	} {
		if got := Sniff(c.contentType, []byte(c.first)); got != c.want {
			t.Errorf("%q %q: %s, want %s", c.contentType, c.first, got, c.want)
		}
	}
}

// Without a type, a vector is taken for SSE unless it plainly is something else.
func TestSniffVectors(t *testing.T) {
	for _, v := range vectors(t) {
		want := "sse"
		if v.Name == "error-json-body-pretty-not-sse" || v.Name == "html-error-page-not-sse" {
			want = "body"
		}
		if got := Sniff("", v.bytes(t)); got != want {
			t.Errorf("%s: %s, want %s", v.Name, got, want)
		}
	}
}
