package diagnose

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxIDs bounds the requests a finding names.
const maxIDs = 10

func ids(answers []*answer) []string {
	var out []string
	for _, a := range answers {
		if len(out) == maxIDs {
			break
		}
		if a.r.RequestID != "" {
			out = append(out, a.r.RequestID)
		}
	}
	return out
}

// of says in how many of a path's answers something was seen.
func (p *path) of(answers []*answer) string {
	if len(p.answers) == 1 {
		return "in the one answer"
	}
	return fmt.Sprintf("in %d of %d answers", len(answers), len(p.answers))
}

// seen is the figure behind of.
func seen(answers []*answer) Figure { return Figure{"answers", float64(len(answers)), "count"} }

// span is a duration in ms as a reader wants it: 41 ms, 3.04 s.
func span(ms float64) string {
	switch a := math.Abs(ms); {
	case a < 10:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	case a < 1000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	}
	return strconv.FormatFloat(ms/1000, 'f', 2, 64) + " s"
}

// bytes is a number of bytes with its thousands apart: 4,096 bytes.
func bytes(n float64) string {
	s := strconv.FormatFloat(n, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s + " bytes"
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 0, 64) + " %" }

// plural is a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// were is a count with its noun and verb: 1 event was, 2 events were.
func were(n int, noun string) string {
	if n == 1 {
		return plural(n, noun) + " was"
	}
	return plural(n, noun) + " were"
}

// either joins causes for a sentence: "a", "a or b", "a, b or c".
func either(xs []string) string {
	if len(xs) < 2 {
		return strings.Join(xs, "")
	}
	return strings.Join(xs[:len(xs)-1], ", ") + " or " + xs[len(xs)-1]
}

// quoted is a text from outside, cut to a length that keeps a report readable.
func quoted(s string) string {
	const most = 80
	r := []rune(s)
	if len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}
