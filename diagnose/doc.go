// Package diagnose turns records into findings: statements with the figures
// they rest on, what they may mean, and what to look at next.
//
// It refuses bare verdicts. A finding names one cause only if its figures
// exclude the others, else it lists all that remain; the hop that causes
// something is named only where a header tells it. It looks at the records of
// one session together, because a pattern that repeats says more than one that
// does not, and it never looks at anything but the records.
package diagnose
