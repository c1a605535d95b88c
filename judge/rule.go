package judge

import (
	"fmt"
	"time"
)

// Rule is a temporal rule that every stream must keep. It is one of
//
//	when: A, then: B, within: 1s   after each A the first B comes in time (no
//	                               within: before the stream ends)
//	never: A, before: B            no A until B has come
//	at_most: N, of: A              A comes N times at most; 0 forbids it
//
// A and B are marks of the scenario; any other name is an event whose SSE name,
// data.type, stage or kind equals it, or the call of a tool of that name. What
// holds at one and the same event holds at the same time: a B at the event of
// its A comes in time, and a B at the event of an A comes before it.
type Rule struct {
	Name   string        `yaml:"name"` // "" = the rule itself, in words
	When   string        `yaml:"when"`
	Then   string        `yaml:"then"`
	Within time.Duration `yaml:"within"`
	Never  string        `yaml:"never"`
	Before string        `yaml:"before"`
	AtMost int           `yaml:"at_most"`
	Of     string        `yaml:"of"`
}

// ruleForms shows the forms, for errors.
const ruleForms = "a rule is one of {when: A, then: B, within: 1s}, {never: A, before: B}, {at_most: N, of: A}"

// Validate says what is wrong with a rule.
func (r Rule) Validate() error {
	when := r.When != "" || r.Then != "" || r.Within != 0
	never := r.Never != "" || r.Before != ""
	most := r.Of != "" || r.AtMost != 0
	switch forms := count(when, never, most); {
	case forms == 0:
		return fmt.Errorf("%sit asks for nothing; %s", r.named(), ruleForms)
	case forms > 1:
		return fmt.Errorf("%sit mixes forms; %s", r.named(), ruleForms)
	}
	if problem := r.problem(when, never); problem != "" {
		return fmt.Errorf("%s%s", r.named(), problem)
	}
	return nil
}

func (r Rule) problem(when, never bool) string {
	switch {
	case when && r.When == "":
		return "it has no when; write {when: A, then: B, within: 1s}"
	case when && r.Then == "":
		return "it has no then; write {when: A, then: B, within: 1s}"
	case when && r.When == r.Then:
		return fmt.Sprintf("when and then are both %q; a rule is about two things", clip(r.When))
	case r.Within < 0:
		return fmt.Sprintf("within is %s; give a duration above 0, or leave it out to ask for it before the stream ends", r.Within)
	case never && r.Never == "":
		return "it has a before and no never; write {never: A, before: B}"
	case never && r.Before == "":
		return "it has no before; write {never: A, before: B}, or {at_most: 0, of: A} to forbid it altogether"
	case never && r.Never == r.Before:
		return fmt.Sprintf("never and before are both %q; a rule is about two things", clip(r.Never))
	case !when && !never && r.Of == "":
		return "it has no of; write {at_most: N, of: A}"
	case r.AtMost < 0:
		return fmt.Sprintf("at_most is %d; give a number from 0", r.AtMost)
	}
	return ""
}

func count(is ...bool) int {
	n := 0
	for _, x := range is {
		if x {
			n++
		}
	}
	return n
}

func (r Rule) named() string {
	if r.Name == "" {
		return ""
	}
	return fmt.Sprintf("rule %q: ", clip(r.Name))
}

// String is the rule in words.
func (r Rule) String() string {
	switch {
	case r.When != "" && r.Within > 0:
		return fmt.Sprintf("when %s then %s within %s", r.When, r.Then, r.Within)
	case r.When != "":
		return fmt.Sprintf("when %s then %s", r.When, r.Then)
	case r.Never != "":
		return fmt.Sprintf("never %s before %s", r.Never, r.Before)
	}
	return fmt.Sprintf("at most %d of %s", r.AtMost, r.Of)
}

// label is the rule's name, or the rule in words where it has none.
func (r Rule) label() string {
	if r.Name == "" {
		return r.String()
	}
	return r.Name
}

// about lists the names the rule is about.
func (r Rule) about() []string {
	switch {
	case r.When != "":
		return []string{r.When, r.Then}
	case r.Never != "":
		return []string{r.Never, r.Before}
	}
	return []string{r.Of}
}
