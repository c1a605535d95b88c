package store

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"weir/table"
)

// Last is the name by which the newest run is found.
const Last = "last"

// Find gives the run that a person means by ref: its id; Last; a tag, of
// several runs the newest; or the beginning of one id only. The error of an
// unknown one wraps ErrNoRun.
func Find(ctx context.Context, s Store, ref string) (table.Run, error) {
	runs, err := collect(ctx, s)
	if err != nil {
		return table.Run{}, err
	}
	if i := slices.IndexFunc(runs, func(r table.Run) bool { return r.ID == ref }); i >= 0 {
		return runs[i], nil
	}
	if ref == Last && len(runs) > 0 {
		return runs[len(runs)-1], nil
	}
	for _, r := range slices.Backward(runs) {
		if slices.Contains(r.Tags, ref) {
			return r, nil
		}
	}
	runs = slices.DeleteFunc(runs, func(r table.Run) bool { return ref == "" || !strings.HasPrefix(r.ID, ref) })
	switch len(runs) {
	case 0:
		return table.Run{}, fmt.Errorf("%w: %q is no id, no beginning of one, no tag and not %q", ErrNoRun, ref, Last)
	case 1:
		return runs[0], nil
	}
	return table.Run{}, fmt.Errorf("%q begins the ids of %d runs (%s): give more of it", ref, len(runs), some(runs))
}

// some names a few runs.
func some(runs []table.Run) string {
	var ids []string
	for _, r := range runs[:min(len(runs), 5)] {
		ids = append(ids, r.ID)
	}
	if len(runs) > len(ids) {
		ids = append(ids, "…")
	}
	return strings.Join(ids, ", ")
}

// Tagged gives the runs that carry a tag, oldest first: a baseline. No run is
// an error that wraps ErrNoRun.
func Tagged(ctx context.Context, s Store, tag string) ([]table.Run, error) {
	runs, err := collect(ctx, s)
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r table.Run) bool { return !slices.Contains(r.Tags, tag) })
	if len(runs) == 0 {
		return nil, fmt.Errorf("%w: none carries the tag %q", ErrNoRun, tag)
	}
	return runs, nil
}

// Rows collects the rows that a query wants.
func Rows(ctx context.Context, s Store, q table.Query) ([]table.Row, error) {
	var rows []table.Row
	for r, err := range s.Rows(ctx, q) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func collect(ctx context.Context, s Store) ([]table.Run, error) {
	var runs []table.Run
	for r, err := range s.Runs(ctx) {
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// tagRule keeps a tag usable on a command line and apart from Last.
var tagRule = regexp.MustCompile(`^[\pL\pN_][\pL\pN_.:/-]{0,63}$`)

// CheckTag says what is wrong with a tag, if anything is.
func CheckTag(tag string) error {
	if tag == Last || !tagRule.MatchString(tag) {
		return fmt.Errorf("the tag %q: a tag is a letter, digit or _, then at most 63 of those and . : / - and not %q", tag, Last)
	}
	return nil
}

// Tag gives the run of an id further tags and takes others from it, and
// returns the run as it then is.
func Tag(ctx context.Context, s Store, id string, add, remove []string) (table.Run, error) {
	for _, t := range add {
		if err := CheckTag(t); err != nil {
			return table.Run{}, err
		}
	}
	runs, err := collect(ctx, s)
	if err != nil {
		return table.Run{}, err
	}
	i := slices.IndexFunc(runs, func(r table.Run) bool { return r.ID == id })
	if i < 0 {
		return table.Run{}, fmt.Errorf("%w: %q", ErrNoRun, id)
	}
	r := runs[i]
	tags := slices.DeleteFunc(append(slices.Clone(r.Tags), add...), func(t string) bool { return slices.Contains(remove, t) })
	slices.Sort(tags)
	r.Tags = append([]string{}, slices.Compact(tags)...) // not nil: none left means none
	return r, s.PutRun(ctx, r)
}
