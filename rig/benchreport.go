package rig

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weir/judge"
	gen "weir/load"
	"weir/report"
	"weir/table"
)

// Report is the run for package report.
func (b *Bench) Report(p *LoadPlan) (report.Run, error) {
	var phases []gen.PhaseResult
	if b.Load != nil {
		phases = b.Load.Phases
	}
	f := RunFile{Run: b.Run, Phases: phases, Warnings: b.Warnings, Logs: b.Logs, Deadline: p.deadline()}
	return f.Report(b.Rows)
}

// deadline is the longest that a request may take, in ms.
func (p *LoadPlan) deadline() float64 {
	d := p.Target.Timeout
	if d == 0 {
		d = defaultTimeout
	}
	return float64(d) / float64(time.Millisecond)
}

// defaultTimeout is the one of package probe.
const defaultTimeout = 5 * time.Minute

// Report is a run that was read back, with its rows, for package report.
func (f RunFile) Report(rows []table.Row) (report.Run, error) {
	r := report.Run{Info: f.Run, Rows: rows, Warnings: f.Warnings, Logs: strings.Join(f.Logs, " "),
		Deadline: time.Duration(f.Deadline * float64(time.Millisecond))}
	for _, p := range f.Phases {
		r.Phases = append(r.Phases, report.Phase{
			Name: p.Name, Arrivals: p.Arrivals, Start: p.Start, Seconds: p.Seconds, Planned: p.Planned, Sent: p.Sent,
			Dropped: p.Dropped, Queued: p.Queued, PlannedRate: p.PlannedRate, AchievedRate: p.AchievedRate,
		})
	}
	var err error
	if r.Health, err = report.ParseHealth(f.Health); err != nil {
		return r, fmt.Errorf("run %s: %w", f.ID, err)
	}
	r.Judged, err = judged(f.Verdict)
	if err != nil {
		return r, fmt.Errorf("run %s: %w", f.ID, err)
	}
	return r, nil
}

func judged(raw json.RawMessage) (v judge.Verdict, err error) {
	if len(raw) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("verdict: %w", err)
	}
	return v, nil
}

// ReadRunDir reads a run directory back: run.json and rows.jsonl. Warnings say
// what a crash or another version of weir left unreadable.
func ReadRunDir(dir string) (f RunFile, rows []table.Row, warnings []string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, runFile))
	if errors.Is(err, os.ErrNotExist) {
		return f, nil, nil, fmt.Errorf("%s is no run directory: it has no %s", dir, runFile)
	}
	if err != nil {
		return f, nil, nil, err
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, nil, nil, fmt.Errorf("%s: %w", filepath.Join(dir, runFile), err)
	}
	name := filepath.Join(dir, rowsFile)
	file, err := os.Open(name)
	if err != nil {
		return f, nil, nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	rows, warnings, err = table.ReadRows(file, name)
	return f, rows, warnings, err
}
