// Command bench runs the repository's benchmarks, `weir calibrate`, and
// `weir gateway` beside other relays, and writes what they say, with machine, date and commit, to bench/RESULTS.md.
//
// Ratios are measured by the benchmarks themselves, both sides in one run. The
// program only takes medians and holds them against the project's targets; it
// refuses to hide a missed one, and to call it a failure: a shared machine
// misses targets that the code meets.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// options are the command line.
type options struct {
	out      string
	count    int           // runs of each benchmark
	time     time.Duration // of one run
	duration time.Duration // of one calibration; 0 leaves them out
	relays   time.Duration // of one stream through the relays; 0 leaves them out
	load     bool          // measure the load generator
	extent
	parts string // of what is measured of the relays, by name, with commas
}

// extent is how much is measured of each relay.
type extent struct {
	rounds int // in which each relay takes its turn; medians are written
	idle   int // streams, and sockets, that wait at once
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "bench/RESULTS.md", "`FILE` to write")
	flag.IntVar(&o.count, "count", 5, "runs of each benchmark, of which the median is written (0: none)")
	flag.DurationVar(&o.time, "benchtime", 500*time.Millisecond, "length of one run")
	flag.DurationVar(&o.duration, "calibrate", 10*time.Second, "length of each calibration (0: none)")
	flag.DurationVar(&o.relays, "relays", 5*time.Second, "length of the streams through the gateway and other relays (0: none)")
	flag.BoolVar(&o.load, "load", true, "measure the load generator: its rate, and 10,000 streams for a minute")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds in which each relay takes its turn, of which the median is written")
	flag.IntVar(&o.idle, "idle", 8000, "idle streams, and idle WebSockets, at once; two descriptors each")
	flag.StringVar(&o.parts, "parts", strings.Join(relayParts, ","), "what of the relays is measured")
	proxy := flag.String("reverse-proxy", "", "only serve as Go's reverse proxy before this `URL`: one of the relays")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	work := func() error { return run(ctx, o) }
	if *proxy != "" {
		work = func() error { return reverseProxy(*proxy) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	before := loadAverage()
	r := results{machine: machine(ctx)}
	var err error
	if o.count > 0 {
		if r.benchmarks, err = benchmarks(ctx, o); err != nil {
			return err
		}
	}
	if err = r.measure(ctx, o); err != nil {
		return err
	}
	r.machine = append(r.machine, fact{"load average", before + " before, " + loadAverage() + " after: other work on the machine slows and delays all but ratios"})
	if err := os.MkdirAll(filepath.Dir(o.out), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(o.out, []byte(r.markdown()), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "wrote", o.out)
	return nil
}

// measure builds weir and runs what needs it as a program.
func (r *results) measure(ctx context.Context, o options) (err error) {
	if o.duration == 0 && o.relays == 0 && !o.load {
		return nil
	}
	dir, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	weir := filepath.Join(dir, "weir")
	if out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", weir, "./cmd/weir").CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/weir: %w\n%s", err, out)
	}
	if o.duration > 0 {
		if r.calibrations, err = calibrations(ctx, weir, o.duration); err != nil {
			return err
		}
	}
	if o.load {
		if r.generator, err = measureGenerator(ctx, weir); err != nil {
			return err
		}
	}
	if o.relays > 0 {
		err = r.measureRelays(ctx, weir, o)
	}
	return err
}

// relayParts are what is measured of the relays, in this order.
var relayParts = []string{"delays", "saturation", "turnover", "pacing", "sockets", "idle"}

func (r *results) measureRelays(ctx context.Context, weir string, o options) error {
	r.extent = o.extent
	asked := strings.Split(o.parts, ",")
	for _, part := range asked {
		if !slices.Contains(relayParts, part) {
			return fmt.Errorf("-parts: no part %q; there are %s", part, strings.Join(relayParts, ", "))
		}
	}
	for _, part := range relayParts {
		if !slices.Contains(asked, part) {
			continue
		}
		var err error
		start := time.Now()
		switch part {
		case "delays":
			r.gateways, err = gateways(ctx, weir, o.relays, o.rounds)
		case "saturation":
			r.saturations, err = saturations(ctx, weir, saturating, o.rounds)
		case "turnover":
			r.turnovers, err = turnovers(ctx, weir, o.rounds)
		case "pacing":
			r.pacings, err = pacings(ctx)
		case "sockets":
			r.sockets, err = idleSockets(ctx, o.idle)
		case "idle":
			r.idles, err = idles(ctx, weir, o.idle)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "relays: %s took %s\n", part, time.Since(start).Round(time.Second))
	}
	return nil
}

// fact is a line of what is known of the machine.
type fact struct{ name, value string }

func machine(ctx context.Context) []fact {
	cpu, _, _ := strings.Cut(after(read("/proc/cpuinfo"), "model name"), "\n")
	memory, _, _ := strings.Cut(after(read("/proc/meminfo"), "MemTotal"), "\n")
	return []fact{
		{"date", time.Now().UTC().Format(time.DateOnly)},
		{"commit", said(ctx, "git", "describe", "--tags", "--always", "--dirty")},
		{"go", said(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH")},
		{"cpu", strings.Trim(cpu, "\t :") + ", " + said(ctx, "getconf", "_NPROCESSORS_ONLN") + " cores"},
		{"memory", strings.Trim(memory, "\t :")},
		{"kernel", release(said(ctx, "uname", "-sr"))},
	}
}

// loadAverage is that of the last minute, "unknown" where there is none.
func loadAverage() string {
	if f := strings.Fields(read("/proc/loadavg")); len(f) > 0 {
		return f[0]
	}
	return "unknown"
}

// said is what a command prints, on one line; "unknown" where it fails.
func said(ctx context.Context, name string, args ...string) string {
	b, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

// read is a file's text, "" where there is none: not every system has /proc.
func read(file string) string {
	b, _ := os.ReadFile(file)
	return string(b)
}

func after(s, key string) string {
	_, rest, _ := strings.Cut(s, key)
	return rest
}

// release is a kernel's version without what its builder added to it.
func release(uname string) string {
	version, _, _ := strings.Cut(uname, "-")
	return version
}
