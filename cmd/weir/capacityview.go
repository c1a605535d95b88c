package main

import (
	"fmt"
	"io"
	"strings"

	"weir/rig"
)

// writeCapacity writes what a search found for a person.
func writeCapacity(w io.Writer, c *rig.Capacity) error {
	var b strings.Builder
	switch {
	case c.Rate != nil:
		fmt.Fprintf(&b, "holds at %.4g requests/s", *c.Rate)
	case c.Verdict == "invalid":
		b.WriteString("unknown: the instrument was not fit at any rate")
	default:
		b.WriteString("no rate holds")
	}
	if c.Below != nil {
		fmt.Fprintf(&b, ", fails at %.4g/s", *c.Below)
	}
	if c.Partial {
		b.WriteString(" (interrupted: the search did not end)")
	}
	fmt.Fprintf(&b, "\n%s\n", c.Target)
	if c.Why != "" {
		fmt.Fprintf(&b, "bounded by: %s\n", c.Why)
	}
	if c.Goodput != nil {
		fmt.Fprintf(&b, "goodput, at most: %.4g requests/s that met every limit\n", *c.Goodput)
	}
	b.WriteString("\n  rate/s  achieved  goodput      n  verdict     ttft p50    ttft p95  useful p95  gap_p95 p95  complete  in flight  instrument\n")
	for _, p := range c.Curve {
		fmt.Fprintf(&b, "%8.4g  %8.4g  %7.4g  %5d  %-9s  %9s  %10s  %10s  %11s  %7.4g%%  %9d  %s\n", p.Rate, p.Achieved, p.Goodput, p.N, p.Verdict,
			figure(p, "ttft", "p50"), figure(p, "ttft", "p95"), figure(p, "useful", "p95"), figure(p, "gap_p95", "p95"),
			100*(p.Outcomes["complete"]+p.Outcomes["gapped"]), p.InFlight, p.Health)
	}
	b.WriteString("\nms from when a request was due; goodput: requests a second that met every limit, each by itself\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// figure is a quantile of a point: its number, > what it exceeds, never or n/a.
func figure(p rig.CapacityPoint, metric, quantile string) string {
	for _, f := range p.Figures {
		if f["metric"] != metric {
			continue
		}
		switch f[quantile+"_is"] {
		case "exact":
			return fmt.Sprintf("%.4g", f[quantile])
		case "over":
			return fmt.Sprintf("> %.4g", f[quantile+"_over"])
		case "never":
			return "never"
		}
	}
	return "n/a"
}
