// Command weir measures, load-tests, serves and watches LLM token streams.
//
// This package is flags, configuration and wiring, a file per subcommand; it
// refuses to measure, to decide and to format: those have packages.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is stamped by the build (-ldflags "-X main.version=…").
var version = "dev"

// commands lists every subcommand: adding one is a file and a line here.
var commands = []func() *cobra.Command{
	newDemoCmd,
	newProbeCmd,
	newBenchCmd,
	newCapacityCmd,
	newMockCmd,
	newGatewayCmd,
	newWorkerCmd,
	newFollowCmd,
	newTraceCmd,
	newCalibrateCmd,
	newAnalyzeCmd,
	newReportCmd,
	newCompareCmd,
	newRunsCmd,
	newQueryCmd,
	newDecodeCmd,
	newVersionCmd,
}

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is main without the process around it.
func run(args []string, in io.Reader, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err != nil && !silent(err) {
		fmt.Fprintln(errs, "weir:", err)
	}
	return exitCode(err)
}

const welcome = `weir measures, load-tests, serves and watches LLM token streams.

  weir demo                         five streams, what a naive client says and what is true
  weir probe http://127.0.0.1:8000  when did text begin, how evenly did it come, did it all come
  weir mock --listen 127.0.0.1:9000 a model service whose true behaviour is known

  weir help                         every command     weir COMMAND --help  its examples
`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "weir",
		Short:         "Measures, load-tests, serves and watches LLM token streams",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q; see: weir help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), welcome)
			return err
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see: %s --help", err, cmd.CommandPath())
	})
	for _, c := range commands {
		root.AddCommand(c())
	}
	return root
}

// exactArgs is cobra.ExactArgs with our exit code and a hint.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s takes %s, got %d arguments; see: %s --help", cmd.CommandPath(), what, len(args), cmd.CommandPath())
		}
		return nil
	}
}
