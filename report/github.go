package report

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"weir/judge"
)

// What GitHub takes of one step: ten annotations of a kind, and 1 MiB of
// summary, above which the upload is refused whole.
const (
	maxAnnotations = 10
	maxSummary     = 1<<20 - 4096
)

// GitHub tells a run to GitHub Actions: a step summary in the file that env
// GITHUB_STEP_SUMMARY names, and annotations on w, which must be the standard
// output of the step. Elsewhere it does nothing. getenv is os.Getenv.
func GitHub(w io.Writer, getenv func(string) string, r Run) error {
	text, err := r.markdown()
	if err != nil {
		return err
	}
	return github(w, getenv, text, r.annotations())
}

// GitHubComparison tells a comparison to GitHub Actions, as GitHub does a run.
func GitHubComparison(w io.Writer, getenv func(string) string, c judge.Comparison) error {
	var b strings.Builder
	if err := writeComparisonMarkdown(&b, c); err != nil {
		return err
	}
	var list []annotation
	for _, f := range c.Figures {
		if f.Family && f.Verdict == judge.Slower {
			list = append(list, annotation{"weir: " + f.Figure.String() + " is slower", comparisonFinding(f)})
		}
	}
	return github(w, getenv, b.String(), list)
}

func github(w io.Writer, getenv func(string) string, summary string, list []annotation) error {
	if path := getenv("GITHUB_STEP_SUMMARY"); path != "" {
		if err := appendSummary(path, summary); err != nil {
			return err
		}
	}
	if getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	return writeAnnotations(w, list)
}

func appendSummary(path, text string) error {
	if len(text) > maxSummary {
		at := maxSummary
		for !utf8.RuneStart(text[at]) {
			at--
		}
		text = text[:at] + "\n\n(cut: GitHub takes 1 MiB)\n"
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("step summary: %w", err)
	}
	if _, err := f.WriteString(text); err != nil {
		_ = f.Close() // the failed write says more
		return fmt.Errorf("step summary: %w", err)
	}
	return f.Close()
}

// annotation is one ::error of a step.
type annotation struct{ title, text string }

// annotations are what failed, worst first.
func (r Run) annotations() []annotation {
	var out []annotation
	if r.Judged.Verdict == judge.Invalid {
		_, why := r.verdictLine()
		out = append(out, annotation{"weir: invalid run", why})
	}
	for _, g := range r.failing() {
		if g.Verdict == judge.Fail || r.Judged.Verdict != judge.Pass {
			text := gateFinding(g) + fmt.Sprintf("; n %d, 95 %% interval %s", g.N, gateInterval(g))
			out = append(out, annotation{"weir: gate " + g.Verdict + ": " + gateText(g), text})
		}
	}
	for _, x := range r.brokenRules() {
		text := fmt.Sprintf("%s: %s", ruleCount(x), someOf(x.RequestIDs, 5))
		out = append(out, annotation{"weir: rule broken: " + x.Name, text})
	}
	return out
}

// writeAnnotations writes at most ten; the last then counts those left out.
func writeAnnotations(w io.Writer, list []annotation) error {
	if more := len(list) - maxAnnotations; more > 0 {
		list = append(list[:maxAnnotations-1:maxAnnotations-1],
			annotation{"weir: and more", fmt.Sprintf("and %d more; the step summary has them all", more+1)})
	}
	for _, a := range list {
		if _, err := fmt.Fprintf(w, "::error title=%s::%s\n", escapeProperty(Clean(a.title)), escapeData(Clean(a.text))); err != nil {
			return fmt.Errorf("annotations: %w", err)
		}
	}
	return nil
}

// escapeData escapes the message of a workflow command, escapeProperty a
// property of it.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
