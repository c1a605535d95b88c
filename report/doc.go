// Package report writes a result for a reader: a probe session (Formats), a run
// of a load (RunFormats), a comparison of runs (ComparisonFormats). Text is for a
// person at a terminal, JSON for a program, JUnit and Markdown for a CI server,
// the html page for whoever the result is sent to.
//
// It refuses to measure and to judge: every number comes from package metric,
// every summary from package stat, every finding from package diagnose. It
// refuses to make a number up: what is missing reads "n/a" or null, never 0.
// It refuses to pass on what a server sends to whoever would obey it, be that a
// terminal, a spreadsheet, a Markdown renderer or a browser: foreign text is
// shown, not obeyed. Its page asks nothing of the network and holds neither
// prompts nor answers.
package report
