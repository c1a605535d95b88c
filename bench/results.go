package main

import (
	"fmt"
	"strings"
)

// results are all that one run of the program found.
type results struct {
	machine      []fact
	benchmarks   []benchmark
	calibrations []calibration
	gateways     []*passages
	generator    *generator // nil: not measured
	idles        []idle
	saturations  []*saturation
	turnovers    []*saturation
	sockets      []benchmark
	pacings      []pacing
	extent
}

// target is a figure the project promises.
type target struct {
	what    string
	promise string
	got     string
	met     bool
}

// targets holds the figures against what the project promises. A figure that
// is missing of what was run is a promise not met.
func (r results) targets() (all []target) {
	for _, size := range []string{"event", "4KiB"} {
		if len(r.benchmarks) == 0 {
			break
		}
		ratio, ok := r.median("weir/wire", "Ratio/"+size, "of-IndexByte")
		all = append(all, target{"speed of SSE decoding ÷ bytes.IndexByte, a piece = " + size, "≥ 0.5", number(ratio, ok, "%.2f"), ok && ratio >= 0.5})
		allocs, ok := r.median("weir/wire", "SSE/"+size, "allocs/op")
		all = append(all, target{"allocations of it", "0", number(allocs, ok, "%g"), ok && allocs == 0})
	}
	for _, c := range r.calibrations {
		all = append(all, c.targets()...)
	}
	all = append(all, r.generator.targets()...)
	return append(all, r.relayTargets()...)
}

func (c calibration) targets() (all []target) {
	if c.procs > 0 {
		return nil
	}
	limit := 100.0
	if c.streams > 100 {
		limit = 200
	}
	at := fmt.Sprintf(" at %d × %d/s", c.streams, c.rate)
	add := func(what, promise, got string, met bool) {
		all = append(all, target{what + at, promise, got, met})
	}
	p99, ok := c.worst()
	add("greatest p99 error of kernel stamps", fmt.Sprintf("≤ %.0f µs", limit), number(p99, ok, "%.0f µs"), ok && p99 <= limit)
	add("events lost, misclassified", "0, 0", fmt.Sprintf("%d, %d", c.Lost, c.Misclassified), c.Lost+c.Misclassified == 0)
	if c.streams > 100 {
		ratio, ok := c.cpuRatio()
		add("CPU per event ÷ a bare epoll loop", "≤ 1.5", number(ratio, ok, "%.2f"), ok && ratio <= 1.5)
	}
	return all
}

// worst is the greater p99 of the kernel stamps' errors, in µs.
func (c calibration) worst() (us float64, ok bool) {
	if c.Kernel == nil {
		return 0, false
	}
	for _, q := range []*quantiles{c.Kernel.TTFT, c.Kernel.Gap, c.Kernel.Stamp} {
		if q != nil {
			us, ok = max(us, q.P99), true
		}
	}
	return us, ok
}

func (c calibration) cpuRatio() (ratio float64, ok bool) {
	if c.Baseline == nil || c.Baseline.Ratio == nil {
		return 0, false
	}
	return *c.Baseline.Ratio, true
}

func (r results) median(pkg, name, unit string) (float64, bool) {
	for _, b := range r.benchmarks {
		if b.pkg == pkg && b.name == name {
			return b.median(unit)
		}
	}
	return 0, false
}

func number(v float64, ok bool, format string) string {
	if !ok {
		return "n/a"
	}
	return fmt.Sprintf(format, v)
}

// markdown is the whole of RESULTS.md.
func (r results) markdown() string {
	var b strings.Builder
	b.WriteString("# Benchmark results\n\nWritten by `make bench`; do not edit. Figures of different machines compare as ratios only.\n\n")
	for _, f := range r.machine {
		fmt.Fprintf(&b, "- %s: %s\n", f.name, f.value)
	}
	b.WriteString("\n## Targets\n\n| what | promised | measured | |\n|---|---|---|---|\n")
	for _, t := range r.targets() {
		verdict := "met"
		if !t.met {
			verdict = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", t.what, t.promise, t.got, verdict)
	}
	r.accuracy(&b)
	r.generator.write(&b)
	r.relays(&b)
	r.saturated(&b)
	r.turned(&b)
	r.redis(&b)
	r.paced(&b)
	r.waiting(&b)
	r.table(&b)
	return b.String()
}

// accuracy writes a row a calibration and stamp.
func (r results) accuracy(b *strings.Builder) {
	if len(r.calibrations) == 0 {
		return
	}
	b.WriteString("\n## Accuracy\n\n`weir calibrate --baseline`, on loopback; errors in µs as p50 / p99 / max.\n\n" +
		"| load | stamps | ttft | gaps | every event | CPU µs/event | ÷ bare loop | MB/stream |\n|---|---|---|---|---|---|---|---|\n")
	for _, c := range r.calibrations {
		ratio, ok := c.cpuRatio()
		cost := fmt.Sprintf("%s | %s | %s", maybe(c.CPUPerEvent, "%.1f"), number(ratio, ok, "%.2f"), maybe(c.MBPerStream, "%.3f"))
		kernel := fmt.Sprintf("kernel (%d of %d streams)", c.KernelStreams, c.streams)
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", c.name(), kernel, c.Kernel.cells(), cost)
		fmt.Fprintf(b, "| | application | %s | | | |\n", c.App.cells())
	}
}

func (c calibration) name() string {
	s := fmt.Sprintf("%d × %d/s", c.streams, c.rate)
	if c.procs > 0 {
		s += fmt.Sprintf(", GOMAXPROCS=%d", c.procs)
	}
	if c.unfit {
		s += " (not fit)"
	}
	return s
}

func (e *errorsOf) cells() string {
	if e == nil {
		return "n/a | n/a | n/a"
	}
	return e.TTFT.cell() + " | " + e.Gap.cell() + " | " + e.Stamp.cell()
}

func (q *quantiles) cell() string {
	if q == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.0f / %.0f / %.0f", q.P50, q.P99, q.Max)
}

func maybe(v *float64, format string) string {
	if v == nil {
		return "n/a"
	}
	return fmt.Sprintf(format, *v)
}

// table writes every benchmark with the medians of all it reports.
func (r results) table(b *strings.Builder) {
	b.WriteString("\n## Benchmarks\n\nMedians of all runs.\n\n| package | benchmark | figures |\n|---|---|---|\n")
	for _, bm := range r.benchmarks {
		var cells []string
		for _, f := range bm.figures {
			v, _ := bm.median(f.unit)
			cells = append(cells, fmt.Sprintf("%.4g %s", v, f.unit))
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", strings.TrimPrefix(bm.pkg, "weir/"), bm.name, strings.Join(cells, ", "))
	}
}
