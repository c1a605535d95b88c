package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// benchmark is one benchmark of one package with all its runs.
type benchmark struct {
	pkg, name string
	figures   []figure // in the order in which go test prints them
}

type figure struct {
	unit string
	runs []float64
}

// median of the runs of a unit; not ok where the benchmark does not report it.
func (b *benchmark) median(unit string) (float64, bool) {
	for _, f := range b.figures {
		if f.unit == unit && len(f.runs) > 0 {
			s := slices.Sorted(slices.Values(f.runs))
			return s[(len(s)-1)/2], true
		}
	}
	return 0, false
}

// benchmarks runs all benchmarks of the module under the current directory.
func benchmarks(ctx context.Context, o options) ([]benchmark, error) {
	pkgs, err := withBenchmarks(".")
	if err != nil {
		return nil, err
	}
	if len(pkgs) == 0 {
		return nil, fmt.Errorf("no benchmarks here; run it in the root of the repository")
	}
	args := []string{"test", "-run", "^$", "-bench", ".", "-benchmem",
		"-count", strconv.Itoa(o.count), "-benchtime", o.time.String()}
	cmd := exec.CommandContext(ctx, "go", append(args, pkgs...)...)
	var out bytes.Buffer
	cmd.Stdout = io.MultiWriter(&out, os.Stderr)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go test -bench: %w", err)
	}
	return parse(&out), nil
}

var declaration = regexp.MustCompile(`(?m)^func Benchmark`)

// withBenchmarks lists the package directories that hold benchmarks. Folders
// with a go.mod of their own are other modules.
func withBenchmarks(root string) (dirs []string, err error) {
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			_, other := os.Stat(filepath.Join(file, "go.mod"))
			if file != root && (other == nil || strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(file)
		dir := "./" + filepath.ToSlash(filepath.Dir(file))
		if err == nil && declaration.Match(b) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		return err
	})
	return dirs, err
}

var procs = regexp.MustCompile(`-\d+$`)

// parse reads the output of go test -bench: the runs of a benchmark in one.
func parse(r io.Reader) (all []benchmark) {
	pkg := ""
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if p, ok := strings.CutPrefix(lines.Text(), "pkg: "); ok {
			pkg = p
			continue
		}
		f := strings.Fields(lines.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := procs.ReplaceAllString(strings.TrimPrefix(f[0], "Benchmark"), "")
		i := slices.IndexFunc(all, func(b benchmark) bool { return b.pkg == pkg && b.name == name })
		if i < 0 {
			i, all = len(all), append(all, benchmark{pkg: pkg, name: name})
		}
		for j := 2; j+1 < len(f); j += 2 {
			if v, err := strconv.ParseFloat(f[j], 64); err == nil {
				all[i].add(f[j+1], v)
			}
		}
	}
	return all
}

func (b *benchmark) add(unit string, v float64) {
	for i := range b.figures {
		if b.figures[i].unit == unit {
			b.figures[i].runs = append(b.figures[i].runs, v)
			return
		}
	}
	b.figures = append(b.figures, figure{unit, []float64{v}})
}
