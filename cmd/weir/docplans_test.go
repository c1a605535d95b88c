package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/config"
	"weir/rig"
)

// yamlBlocks are the fenced blocks of YAML in a document.
func yamlBlocks(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, closed := strings.Cut(part, "```")
		if !closed {
			t.Fatalf("%s: a block does not end", file)
		}
		out = append(out, block)
	}
	return out
}

// TestDocumentedPlansParse holds every plan in the documents to the program.
func TestDocumentedPlansParse(t *testing.T) {
	t.Setenv("TARGET_URL", "http://127.0.0.1:9000")
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	plans := 0
	for _, file := range append(files, "../../README.md", "../../README.zh-CN.md") {
		for _, block := range yamlBlocks(t, file) {
			if !strings.HasPrefix(block, "target:") {
				continue
			}
			if _, err := rig.ParsePlan(file, []byte(block)); err != nil {
				t.Error(err)
			}
			plans++
		}
	}
	if plans < 3 {
		t.Errorf("only %d plans were found", plans)
	}
}

// TestDocumentedPipelines holds the pipelines of docs/ci.md to YAML, to the
// keys of their servers that they use, and their commands to the program.
func TestDocumentedPipelines(t *testing.T) {
	blocks := yamlBlocks(t, "../../docs/ci.md")
	if len(blocks) != 3 {
		t.Fatalf("%d blocks, want the plan, GitHub's and GitLab's", len(blocks))
	}
	var github struct {
		Name        string
		On          []string
		Permissions map[string]string
		Jobs        map[string]struct {
			RunsOn  string            `yaml:"runs-on"`
			Timeout int               `yaml:"timeout-minutes"`
			Env     map[string]string `yaml:"env"`
			Steps   []struct {
				Name, Uses, Run, If string
				With                map[string]any
			}
		}
	}
	decodePipeline(t, "github", blocks[1], &github)
	ran := 0
	for _, step := range github.Jobs["gate"].Steps {
		if (step.Uses == "") == (step.Run == "") {
			t.Errorf("a step has to use or to run: %+v", step)
		}
		ran += checkCommands(t, "github", strings.Split(step.Run, "\n"))
	}
	var gitlab map[string]struct {
		Image     string
		Variables map[string]string
		Before    []string `yaml:"before_script"`
		Script    []string
		After     []string `yaml:"after_script"`
		Artifacts struct {
			When    string
			Paths   []string
			Reports map[string]string
		}
	}
	decodePipeline(t, "gitlab", blocks[2], &gitlab)
	job := gitlab["stream gate"]
	if n := checkCommands(t, "gitlab", append(job.Script, job.After...)); n != ran || n != 4 {
		t.Errorf("GitHub's calls weir %d times and GitLab's %d, want 4", ran, n)
	}
}

// decodePipeline reads a pipeline; ${…} in it is its server's.
func decodePipeline(t *testing.T, name, text string, into any) {
	t.Helper()
	if err := config.Decode(name, []byte(strings.ReplaceAll(text, "${", "$${")), into); err != nil {
		t.Fatal(err)
	}
}

func checkCommands(t *testing.T, where string, lines []string) (n int) {
	t.Helper()
	for _, line := range lines {
		if command, ok := call(line); ok {
			checkExample(t, where, command)
			n++
		}
	}
	return n
}
