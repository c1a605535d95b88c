package wire

import (
	"bytes"
	"slices"
	"strings"
)

var ndjsonTypes = []string{
	"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonl",
	"application/jsonlines", "application/x-jsonlines", "application/json-lines", "application/stream+json",
}

// Sniff names the format of a body by its content type and its first bytes (the
// more of them, the surer; all of a short body). The content type decides where
// it names a stream. Otherwise the first byte decides between JSON, HTML and
// binary, and what looks like SSE is taken for it even under a wrong type. What
// no rule knows is "sse" where no type was given: its decoder drops nothing.
//
// JSON that begins with a bracket is an array in pieces. JSON objects are NDJSON
// where the first line holds a whole one and, under application/json or without
// a type, a second follows: one object alone is an error or a whole answer.
func Sniff(contentType string, first []byte) string {
	kind := mediaType(contentType)
	if kind == "text/event-stream" {
		return "sse"
	}
	if slices.Contains(ndjsonTypes, kind) {
		return "ndjson"
	}
	text := bytes.TrimLeft(withoutBOM(first), " \t\r\n")
	isJSON := kind == "application/json" || strings.HasSuffix(kind, "+json")
	switch {
	case len(text) > 0 && text[0] == '[':
		return "json-array"
	case len(text) > 0 && text[0] == '{':
		return sniffObject(text, isJSON || kind == "")
	case len(text) > 0 && (text[0] == '<' || text[0] == 0):
		return "body"
	case kind == "" || kind == "application/octet-stream" || looksSSE(text):
		return "sse"
	}
	return "body"
}

// mediaType is the type of a Content-Type header, without parameters.
func mediaType(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// sniffObject tells NDJSON from one JSON object. single says that one object is
// the likelier: then only the beginning of a second makes it NDJSON.
func sniffObject(text []byte, single bool) string {
	d := array{state: nested}
	end, complete := d.element(text, 0)
	line := bytes.IndexByte(text, '\n')
	switch {
	case line >= 0 && line < end: // an object over several lines
		return "body"
	case line < 0 && complete: // nothing but an object
		return "body"
	case single && !bytes.HasPrefix(bytes.TrimLeft(text[end:], " \t\r\n"), []byte{'{'}):
		return "body"
	}
	return "ndjson"
}

// looksSSE reports whether text, which may be cut anywhere, begins with a
// comment or a field that SSE knows.
func looksSSE(text []byte) bool {
	name := text
	cut := true
	if end := bytes.IndexAny(text, ":\r\n"); end >= 0 {
		name, cut = text[:end], false
	}
	if len(name) == 0 {
		return !cut // a colon: blank lines were trimmed before
	}
	for _, known := range []string{"data", "event", "id", "retry"} {
		if string(name) == known || cut && strings.HasPrefix(known, string(name)) {
			return true
		}
	}
	return false
}
