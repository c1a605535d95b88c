package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/store"
	"weir/store/sqlite"
)

// dbFlag defines --db.
func dbFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "db", sqlite.DefaultFile, "SQLite `FILE` that keeps the runs")
}

// withRuns opens the store of runs, which must be there, and closes it.
func withRuns(cmd *cobra.Command, path string, write bool, do func(store.Store) error) (err error) {
	s, err := sqlite.Open(cmd.Context(), sqlite.Options{Path: path, ReadOnly: !write, Existing: true})
	if err != nil {
		return usagef("%w", err)
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	return do(s)
}

// oneOf finds what -o names in a table of formats.
func oneOf[T any](formats []T, name string, nameOf func(T) string) (T, error) {
	i := slices.IndexFunc(formats, func(f T) bool { return nameOf(f) == name })
	if i < 0 {
		var names []string
		for _, f := range formats {
			names = append(names, nameOf(f))
		}
		var none T
		return none, usagef("--output: there is no format %q; there are %s", clip(name, 40), strings.Join(names, ", "))
	}
	return formats[i], nil
}

// minArgs asks for arguments, with our exit code and a hint.
func minArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("%s takes %s; see: %s --help", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

// commaList splits a list that a flag took, without blanks and empty parts.
func commaList(list string) []string {
	var out []string
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
