package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"weir/metric"
)

func newVersionCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of weir and of the definitions it measures by",
		Example: "  weir version",
		Args:    exactArgs(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "weir %s, definitions %d, %s %s/%s\n",
				version, metric.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
