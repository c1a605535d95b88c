package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"weir/stream"
)

// expectations: what the user said the answer should have.
func expectations(p *path) []Finding {
	var out []Finding
	for _, c := range []struct {
		code, metric, unit, noun string
		want                     func(stream.Expect) int
	}{
		{"too_few_events", "business_events", "events", "output events", func(e stream.Expect) int { return e.Events }},
		{"too_short", "chars", "chars", "characters", func(e stream.Expect) int { return e.Chars }},
	} {
		want := 0
		found := p.pick(func(a *answer) bool {
			n := c.want(a.r.Expect)
			x, ok := a.get(c.metric)
			want = max(want, n)
			return n > 0 && ok && x < float64(n)
		})
		if len(found) == 0 {
			continue
		}
		x, _ := medianOf(found, c.metric)
		out = append(out, Finding{
			Code: c.code, Severity: Problem, RequestIDs: ids(found),
			Evidence: []Figure{{c.metric + "_p50", x, c.unit}, {"expected", float64(want), c.unit}, seen(found)},
			Means:    []string{"the answer is cut short", "the model answers more briefly than expected"},
			Check:    "look at the finish reason: length means a token limit",
			Text:     fmt.Sprintf("%.0f %s came, %d were expected (%s)", x, c.noun, want, p.of(found)),
		})
	}
	return append(out, unfinishedSentence(p)...)
}

// sentenceEnds are the characters a finished answer may end with.
const sentenceEnds = ".!?…。！？”\"'’)]}）】」』》`*~:：|>"

// unfinishedSentence needs the text, and a user who expects something of it.
func unfinishedSentence(p *path) []Finding {
	found := p.pick(func(a *answer) bool {
		if a.r.Expect == (stream.Expect{}) || !a.r.TextKept || !a.r.Outcome.Ended() {
			return false
		}
		last := ""
		for i := range a.r.Events {
			e := &a.r.Events[i]
			if t := strings.TrimSpace(e.Text); e.Kind == stream.KindText && t != "" {
				last = t
			}
		}
		end, _ := utf8.DecodeLastRuneInString(last)
		return last != "" && !strings.ContainsRune(sentenceEnds, end)
	})
	if len(found) == 0 {
		return nil
	}
	means := []string{"the answer is cut short", "an answer that ends without punctuation by its nature"}
	if found[0].r.Finish == "length" {
		means = []string{"the token limit cut it (finish reason length)"}
	}
	return []Finding{{
		Code: "unfinished_sentence", Severity: Warning, RequestIDs: ids(found), Evidence: []Figure{seen(found)},
		Means: means, Check: "read the end of the text",
		Text: fmt.Sprintf("the text ends in the middle of a sentence (%s)", p.of(found)),
	}}
}

// replacementCharacters: a character was broken on the way.
func replacementCharacters(p *path) []Finding {
	n := 0
	found := p.pick(func(a *answer) bool {
		k := a.count(func(e *stream.Event) bool {
			return strings.Contains(e.Note, "U+FFFD") || strings.ContainsRune(e.Text, utf8.RuneError)
		})
		n += k
		return k > 0
	})
	if len(found) == 0 {
		return nil
	}
	return []Finding{{
		Code: "replacement_character", Severity: Problem, RequestIDs: ids(found),
		Evidence: []Figure{{"events", float64(n), "events"}, seen(found)},
		Means:    []string{"a character was cut in two before it was decoded, by the service or a relay", "the model itself wrote U+FFFD"},
		Check:    "look at the raw bytes with weir decode: U+FFFD already on the wire was made before us",
		Text:     fmt.Sprintf("the text holds U+FFFD, a broken character, in %s (%s)", plural(n, "event"), p.of(found)),
	}}
}

// lateSeparator: every event is readable only when the next one comes.
func lateSeparator(p *path) []Finding {
	late, events := 0, 0
	found := p.pick(func(a *answer) bool {
		k := a.count(func(e *stream.Event) bool { return e.Late })
		late, events = late+k, events+len(a.r.Events)
		return k > 0
	})
	if len(found) == 0 {
		return nil
	}
	share := float64(late) / float64(events)
	f := Finding{
		Code: "late_separator", Severity: Info, RequestIDs: ids(found),
		Evidence: []Figure{{"late_events", float64(late), "events"}, {"share", share, "share"}, seen(found)},
		Means:    []string{"a read ended between an event and its blank line"},
		Check:    "harmless where it is rare",
		Text:     fmt.Sprintf("the separator of %s came only with later bytes (%s)", plural(late, "event"), percent(share)),
	}
	if share >= 0.2 {
		f.Severity = Warning
		f.Means = []string{"the service writes the blank line with the next event, so that every event is seen one event late"}
		f.Check = "write and flush the blank line together with its event"
	}
	return []Finding{f}
}

// otherEvents: what nobody recognised.
func otherEvents(p *path) []Finding {
	names := map[string]int{}
	n := 0
	found := p.pick(func(a *answer) bool {
		k := a.count(func(e *stream.Event) bool {
			if e.Kind == stream.KindOther {
				names[strings.TrimSpace(e.Name+" "+e.Note)]++
			}
			return e.Kind == stream.KindOther
		})
		n += k
		return k > 0
	})
	if len(found) == 0 {
		return nil
	}
	list := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		if names[a] != names[b] {
			return names[b] - names[a]
		}
		return strings.Compare(a, b)
	})
	for i := range list {
		list[i] = quoted(list[i])
	}
	shown := strings.Join(list[:min(3, len(list))], ", ")
	return []Finding{{
		Code: "other_events", Severity: Warning, RequestIDs: ids(found),
		Evidence: []Figure{{"other_events", float64(n), "events"}, {"kinds", float64(len(list)), "count"}, seen(found)},
		Means:    []string{"the service speaks another dialect, or more than the one chosen knows"},
		Check:    "see them with weir decode; choose --dialect, or describe them in a custom dialect",
		Text:     fmt.Sprintf("%s not recognised (%s): %s", were(n, "event"), p.of(found), shown),
	}}
}

// stamps: why the finest stamps were not used.
func stamps(p *path) []Finding {
	found := p.pick(func(a *answer) bool { return a.r.Stamp == stream.StampSocket && a.r.StampWhy != "" })
	if len(found) == 0 {
		return nil
	}
	return []Finding{{
		Code: "no_kernel_stamps", Severity: Info, RequestIDs: ids(found), Evidence: []Figure{seen(found)},
		Means: []string{found[0].r.StampWhy},
		Check: "application stamps are good to about a millisecond on a quiet machine; weir calibrate says how good here",
		Text:  fmt.Sprintf("stamped by the application, not the kernel (%s): %s", p.of(found), found[0].r.StampWhy),
	}}
}

// bodyCut: the answer was larger than weir keeps.
func bodyCut(p *path) []Finding {
	found := p.pick(func(a *answer) bool { return a.r.Truncated })
	if len(found) == 0 {
		return nil
	}
	f := Finding{
		Code: "body_not_kept", Severity: Info, RequestIDs: ids(found), Evidence: []Figure{seen(found)},
		Means: []string{"the body is larger than weir keeps; the rest was counted, not kept"},
		Check: "figures that need every event are of the kept part",
		Text:  fmt.Sprintf("the body was too large to keep whole (%s)", p.of(found)),
	}
	if i := slices.IndexFunc(found, func(a *answer) bool { return overLimit(a.r) }); i >= 0 {
		f.Severity = Problem
		f.Means = []string{"the response never ends", "it is larger than any answer of a model"}
		f.Check = "look at the frames with weir decode; the figures are of the part that was read"
		f.Text = fmt.Sprintf("weir stopped reading at its limit (%s): %s", p.of(found), found[i].r.Detail)
	}
	return []Finding{f}
}

// overLimit reports whether weir itself stopped reading, at a limit of size.
func overLimit(r *stream.Record) bool { return r.Reason == "body_limit" || r.Reason == "event_limit" }
