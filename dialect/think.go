package dialect

import (
	"strings"

	"weir/stream"
)

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinker separates <think>…</think> inside text from the answer; the tags may
// be cut over deltas, so the beginning of one is held until it is decided. A
// tag behind a backtick is text about tags, not a tag.
type thinker struct {
	inside bool
	held   string // a possible beginning of the next tag
	before byte   // last byte before held
}

// feed calls emit for each piece of text or reasoning in s.
func (t *thinker) feed(s string, emit func(stream.Kind, string)) {
	if t.held == "" && strings.IndexByte(s, '<') < 0 { // nearly every delta
		t.emit(s, emit)
		return
	}
	s = t.held + s
	t.held = ""
	for s != "" {
		at, state := t.find(s)
		switch state {
		case tagWhole:
			t.emit(s[:at], emit)
			s = s[at+len(t.tag()):]
			t.inside = !t.inside
		case tagBegun:
			t.emit(s[:at], emit)
			t.held, s = s[at:], ""
		default:
			t.emit(s, emit)
			s = ""
		}
	}
}

// flush gives out what was held for a tag that never came.
func (t *thinker) flush(emit func(stream.Kind, string)) {
	s := t.held
	t.held = ""
	t.emit(s, emit)
}

func (t *thinker) emit(s string, emit func(stream.Kind, string)) {
	if s == "" {
		return
	}
	t.before = s[len(s)-1]
	if t.inside {
		emit(stream.KindReasoning, s)
	} else {
		emit(stream.KindText, s)
	}
}

func (t *thinker) tag() string {
	if t.inside {
		return thinkClose
	}
	return thinkOpen
}

type tagState int

const (
	tagNone tagState = iota
	tagBegun
	tagWhole
)

// find looks for the next tag that would change the state, whole or begun at
// the end of s.
func (t *thinker) find(s string) (at int, state tagState) {
	tag := t.tag()
	for at = strings.IndexByte(s, '<'); at >= 0; {
		rest := s[at:]
		quoted := at > 0 && s[at-1] == '`' || at == 0 && t.before == '`'
		switch {
		case quoted:
		case strings.HasPrefix(rest, tag):
			return at, tagWhole
		case strings.HasPrefix(tag, rest):
			return at, tagBegun
		}
		next := strings.IndexByte(rest[1:], '<')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return 0, tagNone
}
