package judge_test

import (
	"strings"
	"testing"
	"time"

	"weir/judge"
)

func TestRuleValidate(t *testing.T) {
	for _, ok := range []judge.Rule{
		{When: "a", Then: "b"}, {When: "a", Then: "b", Within: time.Second},
		{Never: "a", Before: "b"}, {Of: "a"}, {AtMost: 3, Of: "a"},
	} {
		if err := ok.Validate(); err != nil {
			t.Errorf("%v: %v", ok, err)
		}
	}
	for _, c := range []struct {
		r    judge.Rule
		want string
	}{
		{judge.Rule{Name: "tell"}, `rule "tell": it asks for nothing; a rule is one of {when: A, then: B, within: 1s}, {never: A, before: B}, {at_most: N, of: A}`},
		{judge.Rule{}, "it asks for nothing"},
		{judge.Rule{When: "a", Then: "b", Never: "c"}, "it mixes forms; a rule is one of"},
		{judge.Rule{Never: "a", Before: "b", AtMost: 1}, "it mixes forms"},
		{judge.Rule{Never: "a", Before: "b", Within: 1}, "it mixes forms"},
		{judge.Rule{When: "a"}, "it has no then; write {when: A, then: B, within: 1s}"},
		{judge.Rule{Then: "a"}, "it has no when"},
		{judge.Rule{Within: time.Second}, "it has no when"},
		{judge.Rule{When: "a", Then: "a"}, `when and then are both "a"`},
		{judge.Rule{When: "a", Then: "b", Within: -time.Second}, "within is -1s; give a duration above 0, or leave it out"},
		{judge.Rule{Never: "a"}, "it has no before; write {never: A, before: B}, or {at_most: 0, of: A} to forbid it altogether"},
		{judge.Rule{Before: "a"}, "it has a before and no never"},
		{judge.Rule{Never: "a", Before: "a"}, `never and before are both "a"`},
		{judge.Rule{AtMost: 2}, "it has no of; write {at_most: N, of: A}"},
		{judge.Rule{AtMost: -1, Of: "a"}, "at_most is -1; give a number from 0"},
	} {
		err := c.r.Validate()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.r, err, c.want)
		}
	}
}

func TestRuleString(t *testing.T) {
	for want, r := range map[string]judge.Rule{
		"when a then b within 1s": {When: "a", Then: "b", Within: time.Second},
		"when a then b":           {When: "a", Then: "b"},
		"never a before b":        {Never: "a", Before: "b"},
		"at most 0 of a":          {Of: "a"},
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNewWatchErrors(t *testing.T) {
	for want, rules := range map[string][]judge.Rule{
		`rules of scenario plain: it has no then`:                         {{When: "a"}},
		`rules of scenario plain: two are called "x"`:                     {{Name: "x", Of: "a"}, {Name: "x", Of: "b"}},
		`rules of scenario plain: two are called "at most 0 of a"; names`: {{Of: "a"}, {Of: "a"}},
	} {
		_, err := judge.NewWatch("plain", rules, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
