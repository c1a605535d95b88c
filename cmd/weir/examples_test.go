package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestDocumentedCommandsExist holds the documents to the program: every line of
// a fenced block that calls weir must name a subcommand and flags that exist.
func TestDocumentedCommandsExist(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, "../../README.md", "../../README.zh-CN.md")
	seen := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range fenced(string(text)) {
			checkExample(t, file, line)
			seen++
		}
	}
	if seen < 5 {
		t.Fatalf("only %d documented commands found: does the README still show them?", seen)
	}
}

// TestHelpExamplesExist holds every --help to the same.
func TestHelpExamplesExist(t *testing.T) {
	for _, c := range newRoot().Commands() {
		if c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		if c.Example == "" {
			t.Errorf("weir %s --help shows no example", c.Name())
		}
		for _, line := range strings.Split(c.Example, "\n") {
			if command, ok := call(line); ok {
				checkExample(t, "weir "+c.Name()+" --help", command)
			}
		}
	}
}

func fenced(text string) []string {
	var lines []string
	for i, block := range strings.Split(text, "```") {
		if i%2 == 0 {
			continue
		}
		for _, line := range strings.Split(block, "\n") {
			if command, ok := call(line); ok {
				lines = append(lines, command)
			}
		}
	}
	return lines
}

var envThenWeir = regexp.MustCompile(`^\s*(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\./)?weir ([a-z][^#|]*)`)

// call is the command of a line that begins with weir, without comment and pipe.
func call(line string) (string, bool) {
	m := envThenWeir.FindStringSubmatch(line)
	if m == nil {
		return "", false
	}
	command, _, _ := strings.Cut(m[1], "   ") // what follows in a table of examples is a remark
	return command, true
}

func checkExample(t *testing.T, where, command string) {
	t.Helper()
	words := strings.Fields(command)
	cmd, _, err := newRoot().Find(words) // the deepest: weir runs list
	if err != nil || cmd.CommandPath() == "weir" && words[0] != "help" {
		t.Errorf("%s: weir %s: no such command", where, words[0])
		return
	}
	for _, w := range words[1:] {
		if w == "--" { // the end of the flags
			break
		}
		if !strings.HasPrefix(w, "-") || w == "-" || w == "--help" {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
		var f *pflag.Flag
		if strings.HasPrefix(w, "--") {
			f = cmd.Flags().Lookup(name)
		} else {
			f = cmd.Flags().ShorthandLookup(name[:1])
		}
		if f == nil {
			t.Errorf("%s: weir %s: no flag %s", where, command, w)
		}
	}
}
