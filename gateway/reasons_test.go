package gateway

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// place is one place of the code that makes a failure; status and retryable are
// "" where they are not written there.
type place struct{ reason, status, retryable, where string }

// reasonsOfCode finds them in the sources: calls of fail, failures, and the
// texts of those reasons that are chosen elsewhere.
func reasonsOfCode(t *testing.T) []place {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	consts := map[string]string{}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
				consts[v.Names[0].Name] = literal(v.Values[0], nil)
			}
			return true
		})
	}
	var all []place
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			s := place{where: ""}
			switch n := n.(type) {
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "fail" {
					s = place{literal(n.Args[0], consts), status(n.Args[1]), truth(n.Args[2]), ""}
				}
			case *ast.CompositeLit:
				if id, ok := n.Type.(*ast.Ident); ok && id.Name == "failure" {
					s = ofFields(n, consts)
				}
			case *ast.ValueSpec:
				if n.Names[0].Name == "texts" {
					for _, e := range n.Values[0].(*ast.CompositeLit).Elts {
						all = append(all, place{reason: literal(e.(*ast.KeyValueExpr).Key, consts), where: "texts"})
					}
				}
			}
			if s.reason != "" {
				s.where = fset.Position(n.Pos()).String()
				all = append(all, s)
			}
			return true
		})
	}
	return all
}

func ofFields(n *ast.CompositeLit, consts map[string]string) (s place) {
	s.retryable = "false"
	for _, e := range n.Elts {
		kv := e.(*ast.KeyValueExpr)
		switch identName(kv.Key) {
		case "reason":
			s.reason = literal(kv.Value, consts)
		case "status":
			s.status = status(kv.Value)
		case "retryable":
			s.retryable = truth(kv.Value)
		}
	}
	return s
}

// literal is a string's value, "" where it is made at run time.
func literal(e ast.Expr, consts map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.Ident:
		return consts[e.Name]
	}
	return ""
}

func identName(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// truth is true or false, "" where that is decided at run time.
func truth(e ast.Expr) string {
	if name := identName(e); name == "true" || name == "false" {
		return name
	}
	return ""
}

// differs compares what both know.
func differs(a, b string) bool { return a != "" && b != "" && a != b }

var statuses = map[string]string{"StatusBadRequest": "400", "StatusUnauthorized": "401", "StatusForbidden": "403", "StatusNotFound": "404",
	"StatusRequestTimeout": "408", "StatusConflict": "409", "StatusRequestEntityTooLarge": "413", "StatusTooManyRequests": "429",
	"StatusInternalServerError": "500", "StatusBadGateway": "502", "StatusServiceUnavailable": "503", "StatusGatewayTimeout": "504"}

func status(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return statuses[e.Sel.Name]
	case *ast.BasicLit:
		return e.Value
	}
	return ""
}

// Every reason the gateway can give is in docs/gateway.md, with the status and
// whether to ask again, and nothing else is.
func TestReasonsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "\n## Reasons\n")
	text, _, _ = strings.Cut(text, "\n## ")
	docs := map[string]place{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]+) \\| [^|]+ \\| ([^|]+) \\|$").FindAllStringSubmatch(text, -1) {
		docs[row[1]] = place{row[1], row[2], map[string]string{"yes": "true", "no": "false"}[row[3]], ""}
	}
	code := reasonsOfCode(t)
	for _, limit := range []string{"full", "wait", "per_route"} {
		code = append(code, place{"overloaded_" + limit, "503", "true", "admit.go"})
	}
	code = append(code, place{"overloaded_per_key", "429", "true", "admit.go"}, place{reason: "http_NNN"},
		place{reason: "overloaded_workers"})
	if len(code) < 50 || len(docs) < 40 {
		t.Fatalf("%d reasons in the code, %d in the docs: the test reads neither", len(code), len(docs))
	}
	made := map[string]bool{"upstream_error": true} // the text of what a service stated, no reason
	for _, s := range code {
		made[s.reason] = true
		d, ok := docs[s.reason]
		switch {
		case s.reason == "upstream_error":
		case !ok:
			t.Errorf("%s: %q is not in docs/gateway.md", s.where, s.reason)
		case differs(s.status, d.status), differs(s.retryable, d.retryable):
			t.Errorf("%s: %q is %s, retryable %s; docs/gateway.md says %s, %s", s.where, s.reason, s.status, s.retryable, d.status, d.retryable)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		if !made[name] {
			t.Errorf("docs/gateway.md has %q, which nothing makes", name)
		}
	}
}
