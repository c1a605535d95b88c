package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// The table stands between these in its file.
const (
	tableBegin = "<!-- written by make chaos -->\n"
	tableEnd   = "<!-- end -->\n"
)

// writeTable puts what came of all runs into a file that has the two marks.
func writeTable(file string, all []*result, seeds int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(tableBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(tableEnd))
	if !ok || !ok2 {
		return errors.New(file + " has no place for the table")
	}
	out := string(before) + tableBegin + tableOf(all, seeds) + tableEnd + string(after)
	return os.WriteFile(file, []byte(out), 0o644) //nolint:gosec // a document
}

// tableOf is one row for each scenario, and what was said to clients.
func tableOf(all []*result, seeds int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- date: %s\n- commit: %s\n- machine: %s\n- seeds: 1 to %d\n\n", time.Now().Format(time.DateOnly), commit(), machine(), seeds)
	b.WriteString("| scenario | role | seeds | streams | whole | of them resumed | error said | gap said | refused | broken, no resume | lost | doubled | hung | asked again | left behind |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	why := map[string]int{}
	for _, s := range scenarios {
		var sum result
		sum.counts = map[outcome]int{}
		var of []string
		n, wrong := 0, 0
		for _, r := range all {
			if r.name != s.name || r.role != s.role {
				continue
			}
			of = append(of, fmt.Sprint(r.seed))
			n += len(r.streams)
			sum.resumed += r.resumed
			sum.again = append(sum.again, r.again...)
			wrong += len(r.left)
			for o, c := range r.counts {
				sum.counts[o] += c
			}
			for reason, c := range r.why[failed] {
				why[reason] += c
			}
		}
		if n == 0 {
			continue
		}
		slices.Sort(of)
		role := map[string]string{"all": "all", "edge": "edges, workers"}[s.role]
		c := sum.counts
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", s.name, role, len(of), n, c[whole], sum.resumed,
			c[failed], c[gapped], c[refused], c[broken], c[lost], c[doubled], c[hung], len(sum.again), wrong)
	}
	fmt.Fprintf(&b, "\nThe errors that were said: %s.\n", reasons(why))
	return b.String()
}

func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func machine() string {
	model := runtime.GOARCH
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return model
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s, %d cores, %s", model, runtime.NumCPU(), runtime.Version())
}
