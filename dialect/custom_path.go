package dialect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"
)

// jsonPath finds a value in an event: keys joined by dots, [0] for an element,
// [*] for every element, "." for the whole value; "a | b" takes the first that
// is there and not null.
type jsonPath struct {
	ways [][]step
}

// step is a key, or an element of a list.
type step struct {
	key   string
	index int // -1: a key; -2: every element
}

const (
	isKey    = -1
	everyone = -2
)

// UnmarshalText reads a path.
func (p *jsonPath) UnmarshalText(b []byte) error {
	p.ways = nil
	for way := range strings.SplitSeq(string(b), "|") {
		steps, err := parseWay(strings.TrimSpace(way))
		if err != nil {
			return fmt.Errorf("the path %q %w", way, err)
		}
		p.ways = append(p.ways, steps)
	}
	return nil
}

func parseWay(s string) ([]step, error) {
	if s == "." {
		return []step{}, nil
	}
	var steps []step
	for part := range strings.SplitSeq(s, ".") {
		key, indexes, _ := strings.Cut(part, "[")
		if key == "" && (indexes == "" || len(steps) > 0) {
			return nil, fmt.Errorf("has an empty key: write keys joined by dots, such as choices[0].text")
		}
		if key != "" {
			steps = append(steps, step{key, isKey})
		}
		for indexes != "" {
			index, rest, ok := strings.Cut(indexes, "]")
			n, err := strconv.Atoi(index)
			if index == "*" {
				n, err = everyone, nil
			}
			if !ok || err != nil || n < everyone || n == isKey || rest != "" && rest[0] != '[' {
				return nil, fmt.Errorf("has a bad index: write [0] or [*]")
			}
			steps = append(steps, step{index: n})
			indexes = strings.TrimPrefix(rest, "[")
		}
	}
	return steps, nil
}

func (p *jsonPath) set() bool { return p != nil && len(p.ways) > 0 }

// get is the first value at the path, or nil.
func (p *jsonPath) get(v *fastjson.Value) *fastjson.Value {
	if p == nil {
		return nil
	}
	for _, way := range p.ways {
		if found := follow(v, way); found != nil {
			return found
		}
	}
	return nil
}

// follow is the first value at the end of a way, or nil.
func follow(v *fastjson.Value, way []step) *fastjson.Value {
	for i, s := range way {
		switch {
		case s.index == isKey:
			v = v.Get(s.key)
		case s.index == everyone:
			for _, x := range array(v) {
				if found := follow(x, way[i+1:]); found != nil {
					return found
				}
			}
			return nil
		case s.index < len(array(v)):
			v = array(v)[s.index]
		default:
			return nil
		}
	}
	if v == nil || v.Type() == fastjson.TypeNull {
		return nil
	}
	return v
}

// text is what stands at the path as text: strings as they are, those of every
// element joined, anything else as JSON.
func (p *jsonPath) text(v *fastjson.Value) string {
	if p == nil {
		return ""
	}
	for _, way := range p.ways {
		if s := join(v, way); s != "" {
			return s
		}
	}
	return ""
}

func join(v *fastjson.Value, way []step) string {
	for i, s := range way {
		if s.index != everyone {
			continue
		}
		all := ""
		for _, x := range array(follow(v, way[:i])) {
			all += join(x, way[i+1:])
		}
		return all
	}
	return jsonText(follow(v, way))
}
