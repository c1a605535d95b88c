package dialect

import (
	"bytes"
	"fmt"
	"strings"
)

// reasoner is a dialect that can say what made it match.
type reasoner interface{ reason(Hint) string }

func reason(d Dialect, h Hint) string {
	if r, ok := d.(reasoner); ok {
		return r.reason(h)
	}
	if d.Match(h) {
		return "it matches " + d.Name()
	}
	return ""
}

// Detect chooses the dialect of a response and says what decided. What came
// speaks before what was asked: first the first frames, then the path, then the
// content type. An error does not: its forms are borrowed everywhere; nor does
// an event named meta, which a gateway may put before another's events. Where
// nothing decides, openai.chat is assumed, and why says so.
func Detect(h Hint) (d Dialect, why string) {
	came := Hint{First: h.First, Event: h.Event}
	asked := Hint{Method: h.Method, Path: h.Path, Query: h.Query}
	byPath, pathWhy := first(asked)
	if d, why := first(came); d != nil && !(byPath != nil && (h.says("error") || h.Event == "meta")) {
		if byPath != nil && byPath.Name() != d.Name() {
			why += fmt.Sprintf(", though %s is that of %s", pathWhy, byPath.Name())
		}
		return d, why
	}
	if byPath != nil {
		return byPath, pathWhy
	}
	if d, why := first(Hint{ContentType: h.ContentType}); d != nil {
		return d, why
	}
	return All[0], "assumed: neither path, content type nor first frames tell"
}

// Decides reports whether the hint's path or first frames say which dialect it
// is. A heartbeat or a bare error does not: whoever has no path to go by does
// well to hold such frames until one that tells.
func Decides(h Hint) bool {
	byPath, _ := first(Hint{Method: h.Method, Path: h.Path, Query: h.Query})
	byFrames, _ := first(Hint{First: h.First, Event: h.Event})
	return byPath != nil || byFrames != nil
}

func first(h Hint) (Dialect, string) {
	for _, d := range All {
		if why := reason(d, h); why != "" {
			return d, why
		}
	}
	return nil, ""
}

// pathEnds returns the hint's path where it ends in one of the given ends.
func (h Hint) pathEnds(ends ...string) string {
	p := strings.TrimSuffix(h.Path, "/")
	for _, end := range ends {
		if strings.HasSuffix(p, end) {
			return p
		}
	}
	return ""
}

// says reports whether the first bytes hold "word" as a whole JSON string: a
// key, or a value such as a type. Inside another string its quotes would be
// escaped, so no parsing is needed, which also reads a cut-off beginning.
func (h Hint) says(word string) bool {
	return bytes.Contains(h.First, []byte(`"`+word+`"`))
}

// saysPrefix is says for the beginning of a string.
func (h Hint) saysPrefix(begin string) bool {
	return bytes.Contains(h.First, []byte(`"`+begin))
}
