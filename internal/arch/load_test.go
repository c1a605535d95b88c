package arch

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pkg is one package of the main module as go list tells it. Modules of their
// own (tools, bench) are not listed and so not held to these rules.
type pkg struct {
	Dir          string
	ImportPath   string
	Name         string
	GoFiles      []string
	CgoFiles     []string
	IgnoredFiles []string `json:"IgnoredGoFiles"`
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string

	fset  *token.FileSet
	files map[string]*ast.File // by name, tests and other systems' files included
}

// path is the package's path inside the module.
func (p *pkg) path() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, "weir"), "/")
}

// rel is a file's name as the tables write it: from the root of the module.
func (p *pkg) rel(file string) string { return filepath.ToSlash(filepath.Join(p.path(), file)) }

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

// load lists and parses the whole module. A package that does not compile is
// for the compiler to report (-e).
func load(t *testing.T) []*pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json", "weir/...")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []*pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := &pkg{fset: token.NewFileSet(), files: map[string]*ast.File{}}
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		p.parse(t)
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 3 {
		t.Fatalf("go list named %d packages: these rules would hold of nothing", len(pkgs))
	}
	return pkgs
}

func (p *pkg) parse(t *testing.T) {
	t.Helper()
	for _, list := range [][]string{p.GoFiles, p.CgoFiles, p.IgnoredFiles, p.TestGoFiles, p.XTestGoFiles} {
		for _, name := range list {
			f, err := parser.ParseFile(p.fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			p.files[name] = f
		}
	}
}

// eachFile calls do for every file of every package.
func eachFile(pkgs []*pkg, do func(p *pkg, name string, f *ast.File)) {
	for _, p := range pkgs {
		for name, f := range p.files {
			do(p, name, f)
		}
	}
}
