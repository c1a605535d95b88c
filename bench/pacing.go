package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// pacing is a row of what weir's probe saw of a bursty service, straight and
// through a gateway that paces, in markdown.
type pacing string

// pacings lets the test that shows pacing to a client print its table.
func pacings(ctx context.Context) (all []pacing, err error) {
	fmt.Fprintln(os.Stderr, "relays: pacing of bursts")
	cmd := exec.CommandContext(ctx, "go", "test", "./test/gateway", "-count=1", "-v", "-run", "^TestPacingAsAClientSeesIt$")
	cmd.Env = append(os.Environ(), "WEIR_PACING_TABLE=60")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("pacing: %w\n%s", err, out)
	}
	return pacingRows(string(out)), nil
}

func pacingRows(out string) (all []pacing) {
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "| ") && strings.HasSuffix(line, "|") {
			all = append(all, pacing(strings.Join(strings.Fields(line), " ")))
		}
	}
	return all
}

// paced writes them.
func (r results) paced(b *strings.Builder) {
	if len(r.pacings) == 0 {
		return
	}
	b.WriteString("\nPacing: a service that sends 5 events evenly over 5 ms, then nothing for 200 ms, 60 times, and a steady one; `max_delay: 150ms`.\n\n" +
		"| service | gap_stddev before | after | fell by | added, mean over bytes | most | pieces of events |\n|---|---|---|---|---|---|---|\n")
	for _, p := range r.pacings {
		fmt.Fprintln(b, p)
	}
}
