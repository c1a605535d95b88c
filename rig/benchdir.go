package rig

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"weir/judge"
	gen "weir/load"
	"weir/table"
)

// The files of a run directory, beside events/.
const (
	runFile  = "run.json"
	rowsFile = "rows.jsonl"
)

// RunFile is what run.json holds: the run, and what its load did.
type RunFile struct {
	table.Run
	Phases   []gen.PhaseResult `json:"phases,omitempty"`
	Warnings []string          `json:"warnings,omitempty"`
	Logs     []string          `json:"logs,omitempty"` // event logs, below the directory
	Deadline float64           `json:"deadline_ms"`    // the longest that a request might take

	// What judging again needs beside the verdict.
	AllowUndecided bool          `json:"allow_undecided"`
	Prices         *judge.Prices `json:"prices,omitempty"`
}

// rowFile is rows.jsonl while it is written: a row a line.
type rowFile struct {
	f *os.File
	w *bufio.Writer
}

// newRowFile makes the directory and begins the file. A directory that holds a
// run already is refused: two runs would be mixed.
func newRowFile(dir string) (*rowFile, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, rowsFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("run directory %s holds a run already: name another", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	return &rowFile{f, bufio.NewWriterSize(f, 64<<10)}, nil
}

// write appends a row. Lines are written out whole, so that a crash cuts at
// most the last.
func (r *rowFile) write(row table.Row) error {
	if r.w.Buffered() == 0 {
		r.w.Reset(r.f) // after an error: the disk may have room again
	}
	if err := table.WriteRows(r.w, []table.Row{row}); err != nil {
		r.w.Reset(r.f)
		return err
	}
	if err := r.w.Flush(); err != nil {
		r.w.Reset(r.f)
		return err
	}
	return nil
}

func (r *rowFile) close() error { return errors.Join(r.w.Flush(), r.f.Close()) }

// writeRunFile writes run.json anew, whole or not at all.
func writeRunFile(dir string, b *Bench, p *LoadPlan) error {
	content := RunFile{Run: b.Run, Warnings: b.Warnings, Deadline: p.deadline(), AllowUndecided: p.AllowUndecided, Prices: p.Prices}
	if b.Load != nil {
		content.Phases = b.Load.Phases
	}
	for _, p := range b.Logs {
		if rel, err := filepath.Rel(dir, p); err == nil {
			p = rel
		}
		content.Logs = append(content.Logs, filepath.ToSlash(p))
	}
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", runFile, err)
	}
	name := filepath.Join(dir, runFile)
	if err := os.WriteFile(name+".part", append(text, '\n'), 0o644); err != nil {
		_ = os.Remove(name + ".part") // the failed write says more
		return fmt.Errorf("write %s: %w", runFile, err)
	}
	if err := os.Rename(name+".part", name); err != nil {
		return fmt.Errorf("write %s: %w", runFile, err)
	}
	return nil
}
