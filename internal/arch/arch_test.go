package arch

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestArch(t *testing.T) {
	pkgs := load(t)
	t.Run("imports", func(t *testing.T) { testImports(t, pkgs) })
	t.Run("stance", func(t *testing.T) { testStance(t, pkgs) })
	t.Run("names", func(t *testing.T) { testNames(t, pkgs) })
	t.Run("sizes", func(t *testing.T) { testSizes(t, pkgs) })
	t.Run("no init", func(t *testing.T) { testNoInit(t, pkgs) })
	t.Run("pure", func(t *testing.T) { testPure(t, pkgs) })
}

func testImports(t *testing.T, pkgs []*pkg) {
	seen := map[string]bool{}
	for _, p := range pkgs {
		seen[p.path()] = true
		r, ok := table[p.path()]
		if !ok {
			t.Errorf("%s: not in the import table; add its row in internal/arch/table.go", p.path())
			continue
		}
		for _, imp := range p.Imports {
			if !r.allows(imp) {
				t.Errorf("%s imports %s, which its row in internal/arch/table.go does not allow", p.path(), imp)
			}
		}
	}
	for name, r := range table {
		if !seen[name] && !r.next {
			t.Errorf("%s: in the import table, but there is no such package", name)
		}
	}
}

// allows reports whether the row lets the package import imp.
func (r row) allows(imp string) bool {
	if name, ok := strings.CutPrefix(imp, "weir/"); ok {
		return slices.Contains(r.weir, name) ||
			slices.Contains(r.weir, "*") && !strings.HasPrefix(name, "cmd/")
	}
	host, _, _ := strings.Cut(imp, "/")
	if !strings.Contains(host, ".") {
		return true // standard library
	}
	return slices.ContainsFunc(r.libs, func(lib string) bool {
		return imp == lib || strings.HasPrefix(imp, lib+"/")
	})
}

func TestRowAllows(t *testing.T) {
	r := row{weir: []string{"stream"}, libs: []string{"example.org/lib"}}
	for imp, want := range map[string]bool{
		"weir/stream": true, "weir/wire": false, "weir/streams": false, "fmt": true, "net/http": true,
		"example.org/lib": true, "example.org/lib/sub": true, "example.org/library": false,
	} {
		if got := r.allows(imp); got != want {
			t.Errorf("allows(%q) = %v, want %v", imp, got, want)
		}
	}
	if all := (row{weir: []string{"*"}}); !all.allows("weir/wire") || all.allows("weir/cmd/weir") {
		t.Error(`"*" must allow every package but cmd`)
	}
}

// refuses is how a stance says what the package does not do.
var refuses = regexp.MustCompile(`(?i)\brefuses?\b`)

func testStance(t *testing.T, pkgs []*pkg) {
	for _, p := range pkgs {
		var docs []string
		for name, f := range p.files {
			if !isTest(name) && f.Doc != nil {
				docs = append(docs, f.Doc.Text())
			}
		}
		switch {
		case len(docs) != 1:
			t.Errorf("%s: %d package comments, want one (doc.go): what the package is, then what it refuses", p.path(), len(docs))
		case p.Name != "main" && !strings.HasPrefix(docs[0], "Package "+p.Name+" "):
			t.Errorf("%s: the package comment must begin with %q", p.path(), "Package "+p.Name)
		case !refuses.MatchString(docs[0]):
			t.Errorf("%s: the package comment says what the package is, but not what it refuses", p.path())
		}
	}
}

func testNames(t *testing.T, pkgs []*pkg) {
	for _, p := range pkgs {
		if slices.Contains(vague, p.Name) {
			t.Errorf("%s: %q says nothing of what is inside; name the package after what it does", p.path(), p.Name)
		}
		if last := path.Base(p.path()); p.Name != "main" && p.Name != last {
			t.Errorf("%s: package %s does not carry its folder's name", p.path(), p.Name)
		}
	}
}

func testSizes(t *testing.T, pkgs []*pkg) {
	used := map[string]bool{}
	check := func(what string, lines, budget int) {
		if lines <= budget {
			return
		}
		if _, ok := oversize[what]; ok {
			used[what] = true
			return
		}
		t.Errorf("%s: %d lines, over the budget of %d: split it, or name the reason in internal/arch/table.go", what, lines, budget)
	}
	eachFile(pkgs, func(p *pkg, name string, f *ast.File) {
		budget := fileLines
		if isTest(name) {
			budget = testFileLines
		}
		check(p.rel(name), p.fset.File(f.FileStart).LineCount(), budget)
		if isTest(name) {
			return // a table of cases is data; the file's budget holds it
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				lines := p.fset.Position(fn.End()).Line - p.fset.Position(fn.Pos()).Line + 1
				check(p.rel(name)+":"+fn.Name.Name, lines, funcLines)
			}
		}
	})
	for what, why := range oversize {
		if !used[what] {
			t.Errorf("%s: is listed as oversize, but is not", what)
		}
		if strings.TrimSpace(why) == "" {
			t.Errorf("%s: is listed as oversize without a reason", what)
		}
	}
}

func testNoInit(t *testing.T, pkgs []*pkg) {
	eachFile(pkgs, func(p *pkg, name string, f *ast.File) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil {
				t.Errorf("%s: func init: importing a package must do nothing; register in an explicit slice", p.rel(name))
			}
		}
	})
}

func testPure(t *testing.T, pkgs []*pkg) {
	eachFile(pkgs, func(p *pkg, name string, f *ast.File) {
		if isTest(name) || !slices.Contains(pure, p.path()) {
			return
		}
		for _, use := range uses(f) {
			t.Errorf("%s: uses %s, but this package measures: it is handed times and bytes, it does not look", p.rel(name), use)
		}
	})
}

// uses returns the banned names that a file uses, dot imports included.
func uses(f *ast.File) []string {
	paths := map[string]string{} // name in the file → import path
	var found []string
	for _, imp := range f.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil || banned[p] == nil {
			continue
		}
		name := path.Base(p)
		if name == "v2" {
			name = path.Base(path.Dir(p))
		}
		if imp.Name != nil {
			name = imp.Name.Name
		}
		if name == "." {
			found = append(found, p+" (dot import)")
		}
		paths[name] = p
	}
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok || id.Obj != nil { // Obj: a local name that hides the package's
			return true
		}
		names := banned[paths[id.Name]]
		if slices.Contains(names, "*") || slices.Contains(names, sel.Sel.Name) {
			found = append(found, paths[id.Name]+"."+sel.Sel.Name)
		}
		return true
	})
	return found
}
