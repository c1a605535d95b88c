package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/eventlog"
	"weir/report"
	"weir/rig"
	"weir/store"
	"weir/stream"
	"weir/table"
)

// runRefs says in help how a run is named.
const runRefs = `A run is named by its id, the beginning of its id, a tag, "last" (the newest),
or by its run directory (bench -o DIR).`

// keptRuns reads the runs that refs name, in their order. all takes every run
// of a tag and of a beginning, for a side of a comparison; else a tag is its
// newest run, and a beginning must be that of one id.
func keptRuns(cmd *cobra.Command, db string, refs []string, all bool) ([]rig.Part, error) {
	if !slices.ContainsFunc(refs, func(ref string) bool { return !isDir(ref) }) {
		return readRuns(cmd, nil, refs, all)
	}
	var parts []rig.Part
	err := withRuns(cmd, db, false, func(s store.Store) (err error) {
		parts, err = readRuns(cmd, s, refs, all)
		return err
	})
	return parts, err
}

func readRuns(cmd *cobra.Command, s store.Store, refs []string, all bool) ([]rig.Part, error) {
	var parts []rig.Part
	for _, ref := range refs {
		if isDir(ref) {
			p, err := rig.PartIn(ref)
			if err != nil {
				return nil, usagef("%w", err)
			}
			parts = append(parts, p)
			continue
		}
		runs, err := runsNamed(cmd, s, ref, all)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			if slices.ContainsFunc(parts, func(p rig.Part) bool { return all && p.ID == r.ID }) {
				continue // the refs of a side may overlap
			}
			rows, err := store.Rows(cmd.Context(), s, table.Query{Run: r.ID})
			if err != nil {
				return nil, err
			}
			p, err := rig.PartOf(r, rows)
			if err != nil {
				return nil, err
			}
			parts = append(parts, p)
		}
	}
	return parts, nil
}

func runsNamed(cmd *cobra.Command, s store.Store, ref string, all bool) ([]table.Run, error) {
	if !all || ref == store.Last {
		r, err := findRun(cmd, s, ref)
		if err != nil && strings.ContainsAny(ref, "/.") {
			err = usagef("%w; nor is there a directory %s", err, ref)
		}
		return []table.Run{r}, err
	}
	var byID, byTag, begins []table.Run
	for r, err := range s.Runs(cmd.Context()) {
		switch {
		case err != nil:
			return nil, err
		case r.ID == ref:
			byID = append(byID, r)
		case slices.Contains(r.Tags, ref):
			byTag = append(byTag, r)
		case ref != "" && strings.HasPrefix(r.ID, ref):
			begins = append(begins, r)
		}
	}
	for _, found := range [][]table.Run{byID, byTag, begins} {
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, usagef("%q is no id, no beginning of one, no tag, not %q and no run directory; see: weir runs list", clip(ref, 80), store.Last)
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// seriesIn gathers what the pictures of a report need from the event logs of
// run directories; nil where there are none. What is missing is said.
func seriesIn(dirs []string, parts []rig.Part) (*report.Series, []string) {
	seen, logs := report.NewCollector(0), 0
	var notes []string
	for i, p := range parts {
		for _, log := range p.Logs {
			if i >= len(dirs) || !isDir(dirs[i]) || !filepath.IsLocal(filepath.FromSlash(log)) {
				continue
			}
			said, err := scanLog(filepath.Join(dirs[i], filepath.FromSlash(log)), seen)
			notes = append(notes, said...)
			if err != nil {
				notes = append(notes, fmt.Sprintf("the pictures lack an event log: %v", err))
				continue
			}
			logs++
		}
	}
	if logs == 0 {
		return nil, notes
	}
	return seen.Series(), notes
}

func scanLog(name string, seen *report.Collector) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	log, err := eventlog.Scan(f, name, func(r *stream.Record) error { seen.Add(r); return nil })
	err = errors.Join(err, f.Close())
	if log == nil {
		return nil, err
	}
	return log.Warnings, err
}
