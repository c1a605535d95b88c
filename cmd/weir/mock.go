package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"weir/mock"
)

func newMockCmd() *cobra.Command {
	var o mock.Options
	var truth string
	var untilEOF bool
	cmd := &cobra.Command{
		Use:   "mock",
		Short: "Serve streams whose true behaviour is known",
		Long: `Serves LLM streams in the dialects weir reads, with the timing and the faults
that each request names. Nothing is installed, nothing leaves this machine.

A behaviour is said in the query (?ttft=1s&n=10), in the header
x-weir-mock: ttft=1s&n=10, in the model "mock,ttft=1s,n=10", or for all
requests by --set; the first of these wins. An unknown name or a bad value is
HTTP 400 naming it. K counts output events from 1; DUR is such as 200ms or 1.5s.

Behaviours:
` + mock.Help() + `
Paths:
  ` + strings.Join(mock.Paths(), "\n  ") + `
  /v1/models, and /mock/stats for {"active","started","completed","cancelled"}.`,
		Example: `  weir mock --listen 127.0.0.1:8080
  curl -N 'http://127.0.0.1:8080/v1/chat/completions?ttft=1s&n=10' -d '{"stream":true}'
  weir mock --tls --set lang=zh,gap=exp:30ms --truth truth.jsonl`,
		Args: exactArgs(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return usagef("mock: %w", err)
			}
			ctx := cmd.Context()
			if untilEOF {
				ctx = endOf(ctx, cmd.InOrStdin())
			}
			return serveMock(ctx, cmd.OutOrStdout(), o, truth)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Listen, "listen", "127.0.0.1:8080", "address to listen on (port 0: a free one)")
	f.BoolVar(&o.TLS, "tls", false, "HTTPS with a certificate made now; prints its CA file")
	f.StringVar(&o.Set, "set", "", "behaviour where the request says nothing, such as ttft=200ms,n=10")
	f.StringVar(&truth, "truth", "", "write a JSON line per event with the times around its write to this file")
	f.DurationVar(&o.FreezeEvery, "freeze-every", 0, "stop the whole server once in this time")
	f.DurationVar(&o.FreezeFor, "freeze-for", 0, "for this long")
	f.BoolVar(&untilEOF, "until-eof", false, "end when standard input ends, so that a parent's death ends it too")
	return cmd
}

// endOf is ctx, ending also when in ends.
func endOf(ctx context.Context, in io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in) // an error is an end as well
		cancel()
	}()
	return ctx
}

// serveMock serves until ctx ends.
func serveMock(ctx context.Context, w io.Writer, o mock.Options, truth string) (err error) {
	if truth != "" {
		f, err := os.Create(truth)
		if err != nil {
			return fmt.Errorf("the truth log cannot be written: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		o.Truth = f
	}
	s, err := mock.Start(o)
	if err != nil {
		return err
	}
	printMock(w, s)
	<-ctx.Done()
	return s.Close()
}

func printMock(w io.Writer, s *mock.Server) {
	url, ca := s.URL(), ""
	if s.CAFile() != "" {
		ca = " --cacert " + s.CAFile()
		fmt.Fprintln(w, "CA file:", s.CAFile())
	}
	fmt.Fprintf(w, `listening on %s
try:  curl -N%s '%s/v1/chat/completions?n=10' -d '{"stream":true}'
      weir probe%s '%s/v1/chat/completions?ttft=1s&stall_after=20'
Ctrl-C ends it; weir mock --help lists every behaviour
`, url, ca, url, ca, url)
}
