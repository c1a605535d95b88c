package dialect

import (
	_ "embed"
	"fmt"
	"slices"

	"weir/config"
)

//go:embed article.yaml
var articleYAML []byte

// custom is a dialect that a YAML file describes.
type custom struct{ spec spec }

// Load reads a custom dialect; docs/custom-dialect.md describes the file. Its
// errors name file, line and column.
func Load(file string, yaml []byte) (Dialect, error) {
	d := &custom{}
	if err := config.Decode(file, yaml, &d.spec); err != nil {
		return nil, err
	}
	if err := d.spec.Validate(); err != nil { // an empty file has nothing that was validated
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}

// article is the embedded custom dialect. A file that does not load is a fault
// of the build, which every test meets.
func article() Dialect {
	d, err := Load("article.yaml", articleYAML)
	if err != nil {
		panic(err)
	}
	return d
}

func (d *custom) Name() string { return d.spec.Name }

// Match implements Dialect.
func (d *custom) Match(h Hint) bool { return d.reason(h) != "" }

func (d *custom) reason(h Hint) string {
	s := d.spec.Detect
	if h.pathEnds(s.Paths...) != "" {
		return "path " + h.Path
	}
	if slices.Contains(s.Events, h.Event) {
		return "first event is " + h.Event
	}
	for _, word := range s.Words {
		if h.says(word) {
			return "first frame has " + word
		}
	}
	return ""
}

// NewClassifier implements Dialect.
func (d *custom) NewClassifier() Classifier {
	c := &customStream{spec: &d.spec}
	c.p = c
	c.own = func(name string) bool { return name != "" && d.spec.Events[name] != nil }
	c.star = d.spec.Events["*"] != nil
	if d.spec.Data == "text" {
		c.plain = c.plainText
	}
	c.end.ByEOF = d.spec.EndsAtEOF
	return c
}
