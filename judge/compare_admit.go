package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// UnlikeError says in what the runs of a comparison differ that must not.
type UnlikeError struct{ Differences []Difference }

// Difference is one key that two runs disagree in.
type Difference struct {
	Key        string
	RunA, RunB string // two runs that disagree, as "run ID of SIDE"
	A, B       string // their values, "" where a run does not say
	SameSide   bool   // both runs are of one side, where nothing may differ
}

// Error names every key with the two values.
func (e *UnlikeError) Error() string {
	var parts []string
	for _, d := range e.Differences {
		hint := ", which vary does not list"
		if d.SameSide {
			hint = ", though within a side all must match"
		}
		parts = append(parts, fmt.Sprintf("%s is %s in %s and %s in %s%s", d.Key, said(d.A), d.RunA, said(d.B), d.RunB, hint))
	}
	return "the runs cannot be compared: " + strings.Join(parts, "; ")
}

// said quotes a value, cut to what a line of text bears.
func said(s string) string {
	const most = 60
	switch r := []rune(s); {
	case s == "":
		return "not given"
	case len(r) > most:
		return fmt.Sprintf("%q…", string(r[:most]))
	}
	return fmt.Sprintf("%q", s)
}

// admit refuses what must not be compared.
func admit(a, b Side, vary []string) error {
	if err := admitSide(a, "A"); err != nil {
		return err
	}
	if err := admitSide(b, "B"); err != nil {
		return err
	}
	if id, twice := given(a, b); twice {
		return fmt.Errorf("compare: run %s is given twice; a run counts once", id)
	}
	if err := knownKeys(a, b, vary); err != nil {
		return err
	}
	var e UnlikeError
	for _, key := range configKeys(a, b) {
		if d, differs := difference(a, b, key, slices.Contains(vary, key)); differs {
			e.Differences = append(e.Differences, d)
		}
	}
	if len(e.Differences) > 0 {
		return &e
	}
	return nil
}

func admitSide(s Side, letter string) error {
	if len(s.Runs) == 0 {
		return fmt.Errorf("compare: side %s has no runs", s.label(letter))
	}
	for _, r := range s.Runs {
		switch {
		case r.Partial:
			return fmt.Errorf("compare: run %s of side %s was cut short and is not like the others; leave it out or run it again", r.ID, s.label(letter))
		case r.Valid == "invalid":
			return fmt.Errorf("compare: run %s of side %s is invalid: the instrument was not fit, so its figures are not the service's; run it again", r.ID, s.label(letter))
		case r.Valid != "valid" && r.Valid != "suspect" && r.Valid != "":
			return fmt.Errorf("compare: run %s of side %s has the health %q, not one of valid, suspect, invalid", r.ID, s.label(letter), r.Valid)
		}
	}
	return nil
}

func (s Side) label(letter string) string {
	if s.Name == "" || s.Name == letter {
		return letter
	}
	return letter + " (" + s.Name + ")"
}

// given finds a run that is there twice. Runs without an id cannot be told.
func given(a, b Side) (string, bool) {
	seen := map[string]bool{}
	for _, r := range slices.Concat(a.Runs, b.Runs) {
		if r.ID != "" && seen[r.ID] {
			return r.ID, true
		}
		seen[r.ID] = true
	}
	return "", false
}

func configKeys(a, b Side) []string {
	keys := map[string]bool{}
	for _, r := range slices.Concat(a.Runs, b.Runs) {
		for key := range r.Config {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// knownKeys refuses a varied key that no run has: a misspelt one would be no
// declaration at all.
func knownKeys(a, b Side, vary []string) error {
	keys := configKeys(a, b)
	for _, key := range vary {
		if !slices.Contains(keys, key) {
			return fmt.Errorf("compare: vary %q: the runs have no such key; they have %s", key, strings.Join(keys, ", "))
		}
	}
	return nil
}

// difference finds the first two runs that disagree in a key: of one side, or
// of both unless the key is varied.
func difference(a, b Side, key string, varied bool) (Difference, bool) {
	for i, s := range []Side{a, b} {
		letter := [...]string{"A", "B"}[i]
		for _, r := range s.Runs[1:] {
			if first := s.Runs[0]; r.Config[key] != first.Config[key] {
				return Difference{key, first.of(letter), r.of(letter), first.Config[key], r.Config[key], true}, true
			}
		}
	}
	x, y := a.Runs[0], b.Runs[0]
	if varied || x.Config[key] == y.Config[key] {
		return Difference{}, false
	}
	return Difference{key, x.of("A"), y.of("B"), x.Config[key], y.Config[key], false}, true
}

func (r RunFigures) of(letter string) string { return "run " + r.ID + " of " + letter }

// warnings are what a reader must know beside the verdicts.
func warnings(a, b Side, vary []string, m int) []string {
	out := []string{}
	na, nb := len(a.Runs), len(b.Runs)
	if !canConvict(na, nb, m) {
		out = append(out, underpowered(na, nb, m))
	}
	for i, s := range []Side{a, b} {
		out = append(out, s.doubts([...]string{"A", "B"}[i])...)
	}
	if !slices.ContainsFunc(vary, func(key string) bool { return a.Runs[0].Config[key] != b.Runs[0].Config[key] }) {
		out = append(out, "nothing that was recorded differs between the sides: a difference found is a false alarm or something that was not recorded")
	}
	if apart(a, b) {
		out = append(out, "the runs are not interleaved: all of one side came before all of the other, so whatever changed in the meantime counts as a difference between them")
	}
	if a.Runs[0].Config["cache"] == "warm" || b.Runs[0].Config["cache"] == "warm" {
		out = append(out, "the prompt cache was allowed to be warm: a side may profit from the other's prompts")
	}
	return out
}

// doubts are the runs whose instrument was not plainly fit.
func (s Side) doubts(letter string) []string {
	var suspect, unknown []string
	for _, r := range s.Runs {
		switch r.Valid {
		case "suspect":
			suspect = append(suspect, r.ID)
		case "":
			unknown = append(unknown, r.ID)
		}
	}
	var out []string
	if len(suspect) > 0 {
		out = append(out, fmt.Sprintf("the instrument was suspect in %s of side %s: %s", counted(len(suspect), "run"), s.label(letter), strings.Join(suspect, ", ")))
	}
	if len(unknown) > 0 {
		out = append(out, fmt.Sprintf("nothing says whether the instrument was fit in %s of side %s", counted(len(unknown), "run"), s.label(letter)))
	}
	return out
}

// apart reports whether all runs of one side began before all of the other,
// where a side has more than one run and all say when they began.
func apart(a, b Side) bool {
	if len(a.Runs)+len(b.Runs) < 3 {
		return false
	}
	for _, r := range slices.Concat(a.Runs, b.Runs) {
		if r.Start.IsZero() {
			return false
		}
	}
	byStart := func(x, y RunFigures) int { return x.Start.Compare(y.Start) }
	firstA, lastA := slices.MinFunc(a.Runs, byStart).Start, slices.MaxFunc(a.Runs, byStart).Start
	firstB, lastB := slices.MinFunc(b.Runs, byStart).Start, slices.MaxFunc(b.Runs, byStart).Start
	return lastA.Before(firstB) || lastB.Before(firstA)
}
