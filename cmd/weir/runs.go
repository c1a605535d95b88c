package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/report"
	"weir/store"
	"weir/table"
)

const runsExamples = `  weir runs list
  weir runs show last
  weir runs tag last baseline
  weir runs rm bench-20260301-100000-7`

func newRunsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List, show, tag and remove the runs that are kept",
		Long: `Runs are kept in weir.db, or where --db says. A run is named by its id, the
beginning of its id, a tag (of several runs the newest), or "last".`,
		Example: runsExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("weir runs has no %q; there are list, show, tag, rm", clip(args[0], 40))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRunsListCmd(), newRunsShowCmd(), newRunsTagCmd(), newRunsRmCmd())
	return cmd
}

func newRunsListCmd() *cobra.Command {
	var db, output, tag string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the runs, oldest first",
		Example: "  weir runs list --tag baseline -o json",
		Args:    exactArgs(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := oneOf(report.RunListFormats, output, func(f report.RunListFormat) string { return f.Name })
			if err != nil {
				return err
			}
			return withRuns(cmd, db, false, func(s store.Store) error {
				runs, err := runsTagged(cmd, s, tag)
				if err != nil {
					return err
				}
				return format.Write(cmd.OutOrStdout(), runs, viewOf(cmd))
			})
		},
	}
	dbFlag(cmd, &db)
	cmd.Flags().StringVar(&tag, "tag", "", "only runs that carry this `TAG`")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`text|json|csv`")
	return cmd
}

func runsTagged(cmd *cobra.Command, s store.Store, tag string) ([]table.Run, error) {
	var runs []table.Run
	for r, err := range s.Runs(cmd.Context()) {
		if err != nil {
			return nil, err
		}
		if tag == "" || slices.Contains(r.Tags, tag) {
			runs = append(runs, r)
		}
	}
	return runs, nil
}

func viewOf(cmd *cobra.Command) report.View {
	out := cmd.OutOrStdout()
	return report.View{Color: useColor(out), Width: columns(out)}
}

// findRun finds a run; one that is not there is the user's mistake.
func findRun(cmd *cobra.Command, s store.Store, ref string) (table.Run, error) {
	r, err := store.Find(cmd.Context(), s, ref)
	if errors.Is(err, store.ErrNoRun) {
		return r, usagef("%w; see: weir runs list", err)
	}
	return r, err
}

func newRunsShowCmd() *cobra.Command {
	var db, output string
	cmd := &cobra.Command{
		Use:     "show RUN",
		Short:   "Show what is known of a run, and the plan as it was run",
		Example: "  weir runs show last",
		Args:    exactArgs(1, "a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return usagef("--output: there is no format %q; there are text, json", clip(output, 40))
			}
			return withRuns(cmd, db, false, func(s store.Store) error {
				r, err := findRun(cmd, s, args[0])
				if err != nil {
					return err
				}
				if output == "json" {
					return report.WriteRunFactsJSON(cmd.OutOrStdout(), r)
				}
				return report.WriteRunFacts(cmd.OutOrStdout(), r, viewOf(cmd))
			})
		},
	}
	dbFlag(cmd, &db)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`text|json`")
	return cmd
}

func newRunsTagCmd() *cobra.Command {
	var db string
	var remove []string
	cmd := &cobra.Command{
		Use:     "tag RUN [TAG...]",
		Short:   "Give a run tags, or take them away",
		Example: "  weir runs tag last baseline\n  weir runs tag last v2 --remove v1",
		Args:    minArgs(1, "a run and its tags"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 && len(remove) == 0 {
				return usagef("weir runs tag takes tags after the run, or --remove TAG")
			}
			for _, tag := range args[1:] {
				if err := store.CheckTag(tag); err != nil {
					return usagef("%w", err)
				}
			}
			return withRuns(cmd, db, true, func(s store.Store) error {
				r, err := findRun(cmd, s, args[0])
				if err == nil {
					r, err = store.Tag(cmd.Context(), s, r.ID, args[1:], remove)
				}
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", report.Clean(r.ID), tagsOf(r))
				return nil
			})
		},
	}
	dbFlag(cmd, &db)
	cmd.Flags().StringArrayVar(&remove, "remove", nil, "take this `TAG` away, repeatable")
	return cmd
}

func tagsOf(r table.Run) string {
	if len(r.Tags) == 0 {
		return "no tags"
	}
	return report.Clean(strings.Join(r.Tags, " "))
}

func newRunsRmCmd() *cobra.Command {
	var db string
	cmd := &cobra.Command{
		Use:     "rm RUN...",
		Short:   "Remove runs and their rows; event logs stay",
		Example: "  weir runs rm bench-20260301-100000-7",
		Args:    minArgs(1, "the runs to remove"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRuns(cmd, db, true, func(s store.Store) error {
				doomed, err := runsToRemove(cmd, s, args)
				if err != nil {
					return err
				}
				for _, r := range doomed {
					if err := s.DeleteRun(cmd.Context(), r.ID); err != nil {
						return err
					}
					fmt.Fprintf(cmd.OutOrStdout(), "removed %s (%s)\n", report.Clean(r.ID), counted(r.Rows, "row"))
				}
				return nil
			})
		},
	}
	dbFlag(cmd, &db)
	return cmd
}

// runsToRemove finds all of them before the first is removed. A tag of several
// runs names one when it is read; what cannot be undone must be named.
func runsToRemove(cmd *cobra.Command, s store.Store, refs []string) ([]table.Run, error) {
	var out []table.Run
	for _, ref := range refs {
		r, err := findRun(cmd, s, ref)
		if err != nil {
			return nil, err
		}
		if ref != store.Last && !strings.HasPrefix(r.ID, ref) {
			if tagged, err := store.Tagged(cmd.Context(), s, ref); err != nil || len(tagged) > 1 {
				return nil, usagef("%d runs carry the tag %q: name the ids of those to remove; see: weir runs list --tag %s", len(tagged), ref, ref)
			}
		}
		if !slices.ContainsFunc(out, func(o table.Run) bool { return o.ID == r.ID }) {
			out = append(out, r)
		}
	}
	return out, nil
}
