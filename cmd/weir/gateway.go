package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"weir/gateway"
	"weir/relay/redis"
	"weir/telemetry"
)

// gatewayFlags are the flags of weir gateway.
type gatewayFlags struct {
	check    bool
	schema   bool
	drain    time.Duration
	logJSON  bool
	keepText bool
	semconv  string
	role     string
}

func newGatewayCmd() *cobra.Command {
	var f gatewayFlags
	cmd := &cobra.Command{
		Use:   "gateway CONFIG.yaml",
		Short: "Stand between chat clients and model services, and measure every stream",
		Long: `Passes every stream through with its data unchanged, flushed as it comes, and
ends each exactly once: with the service's own end, or with an error that the
client's SDK raises. Cancels upstream when a client leaves, retries what nobody
has seen, holds its limits, and keeps the record of every stream.
A changed file, or SIGHUP, is taken up while it runs: streams in flight keep
their configuration, and a file with a mistake is refused and the old one stays.
SIGTERM or Ctrl-C drains: no new requests, those in flight may end; a second
one ends them at once.
Every key of the configuration: docs/gateway.md.`,
		Example: `  weir gateway gateway.yaml
  weir gateway gateway.yaml --check      only say whether the file is good
  curl -N http://127.0.0.1:8080/v1/chat/completions -d '{"stream":true,"messages":[]}'
  curl http://127.0.0.1:8080/weir/records/REQUEST-ID`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.schema {
				return nil
			}
			return exactArgs(1, "one configuration file")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.schema {
				return printGatewaySchema(cmd.OutOrStdout())
			}
			return runGateway(cmd, args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.check, "check", false, "read the configuration, its keys and dialects, and end")
	fl.StringVar(&f.role, "role", "all", "all: ask the services; edge: hold connections, workers ask (weir worker)")
	fl.BoolVar(&f.schema, "schema", false, "the JSON Schema of a configuration")
	fl.DurationVar(&f.drain, "drain", 30*time.Second, "how long requests in flight may take to end at a stop")
	fl.BoolVar(&f.logJSON, "log-json", false, "log lines as JSON")
	fl.BoolVar(&f.keepText, "keep-text", false, "keep the answers' text in the event log")
	fl.StringVar(&f.semconv, "semconv", "", "names of the OpenTelemetry metrics of model clients 0.1, 1.41 or both (default 0.1)")
	return cmd
}

func runGateway(cmd *cobra.Command, file string, f gatewayFlags) (err error) {
	c, err := gateway.ReadConfig(file)
	if err != nil {
		return usagef("%w", err)
	}
	if f.role != "all" && f.role != "edge" {
		return usagef("--role: %q is neither all nor edge", f.role)
	}
	semconv, err := telemetry.ParseSemconv(f.semconv)
	if f.semconv != "" && err != nil {
		return usagef("--semconv: %w", err)
	}
	counts := telemetry.NewGateway(telemetry.Options{Version: version, Semconv: semconv, Role: f.role})
	counts.Limit(c.Limits.Streams)
	o := gateway.Options{Observer: counts, Logger: gatewayLogger(cmd.ErrOrStderr(), f.logJSON), Version: version}
	if f.check {
		return checkGateway(cmd.OutOrStdout(), file, f.role, c, o)
	}
	keep, err := openGatewayKeep(cmd.Context(), c, f.keepText)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keep.close(err == nil)) }()
	o.Sink = keep
	var frames io.Closer
	if f.role == "edge" {
		frames, err = openEdge(c, &o, counts)
	} else {
		o.Log, frames, err = openRelay(c.Relay, counts, o.Logger)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, frames.Close()) }()
	front, err := gateway.NewFront(c, o)
	if err != nil {
		return usagef("%s: %w", file, err)
	}
	counts.Configured(time.Now())
	put := func(c gateway.Config) error {
		err := front.Reload(c)
		if err == nil {
			counts.Limit(c.Limits.Streams)
		}
		return err
	}
	r := &reloader{file: file, put: put, counts: counts, log: o.Logger, files: c.Files()}
	return serveGateway(cmd, c, front, r, f.drain, metIn(f.role, frames))
}

// metIn says in which Redis processes meet, and for what; "" where in none.
func metIn(role string, frames io.Closer) string {
	s, ok := frames.(*redis.Spread)
	switch {
	case !ok:
		return ""
	case role == "edge":
		return fmt.Sprintf("edge: the services are asked by workers (weir worker FILE) over %s\n", s.Far())
	}
	return fmt.Sprintf("streams are shared with other instances over %s\n", s.Far())
}

// checkGateway says whether a configuration could be served.
func checkGateway(w io.Writer, file, role string, c gateway.Config, o gateway.Options) error {
	if err := checkRelay(c.Relay); err != nil {
		return err
	}
	c = cold(c)
	if role == "edge" {
		if c.Relay.Redis == "" {
			return errNoRedis("role edge")
		}
		for name, u := range c.Upstreams { // their keys are the workers'
			u.KeyEnv, u.KeyFile, u.CACert = "", "", ""
			c.Upstreams[name] = u
		}
	}
	g, err := gateway.New(c, o)
	if err != nil {
		return usagef("%s: %w", file, err)
	}
	g.Close()
	_, err = fmt.Fprintf(w, "%s is good: %s, %s\n", file, plural(len(c.Routes), "route"), plural(len(c.Upstreams), "upstream"))
	return err
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func printGatewaySchema(w io.Writer) error {
	b, err := gateway.Schema()
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// cold is the configuration without connections opened ahead.
func cold(c gateway.Config) gateway.Config {
	ups := map[string]gateway.Upstream{}
	for name, u := range c.Upstreams {
		u.Warm = 0
		ups[name] = u
	}
	c.Upstreams = ups
	return c
}

func gatewayLogger(w io.Writer, asJSON bool) *slog.Logger {
	if asJSON {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// serveGateway serves until the command's context ends, then drains.
func serveGateway(cmd *cobra.Command, c gateway.Config, g *gateway.Front, r *reloader, drain time.Duration, met string) error {
	defer g.Close()
	if err := g.SelfCheck(cmd.Context(), func(h http.Handler) *http.Server { return gatewayServer(h, false) }); err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(cmd.Context(), "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("the gateway cannot listen: %w", err)
	}
	main := gatewayServer(g, c.TLS.Cert != "")
	ended := make(chan error, 1)
	go func() {
		if c.TLS.Cert != "" {
			main.TLSConfig = &tls.Config{GetCertificate: g.Certificate}
			ended <- main.ServeTLS(gateway.Listener(l), "", "")
			return
		}
		ended <- main.Serve(gateway.Listener(l))
	}()
	side, err := serveAdmin(cmd.Context(), c.Admin, telemetry.Admin(r.counts, g.Ready))
	if err != nil {
		return errors.Join(err, main.Close())
	}
	stopReloads := r.start(cmd.Context())
	defer stopReloads()
	printGateway(cmd.OutOrStdout(), c, l.Addr(), side, met)
	select {
	case err := <-ended:
		return errors.Join(err, side.close())
	case <-cmd.Context().Done():
	}
	return errors.Join(stopGateway(cmd.ErrOrStderr(), g, main, drain), side.close())
}

// stopGateway lets requests in flight end, as long as they may, then ends them
// in their own protocols.
func stopGateway(errs io.Writer, g *gateway.Front, main *http.Server, drain time.Duration) error {
	switch n := g.InFlight(); n {
	case 0:
		fmt.Fprintln(errs, "weir: draining: no request is in flight")
	default:
		fmt.Fprintf(errs, "weir: draining: %s in flight may end within %s; a second signal ends them at once\n", plural(n, "request"), drain)
	}
	drainWithin(errs, drain, g.Drain, g.InFlight)
	g.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if main.Shutdown(ctx) != nil {
		return main.Close()
	}
	return nil
}

// drainWithin waits for requests in flight, at most so long and until a second
// signal, and says how many are left then.
func drainWithin(errs io.Writer, most time.Duration, wait func(context.Context) error, left func() int) {
	again, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(again, most)
	defer cancel()
	if wait(ctx) != nil {
		fmt.Fprintf(errs, "weir: %s did not end in time; each stream gets an error frame that says when to ask again\n", plural(left(), "request"))
	}
}

func gatewayServer(h http.Handler, tls bool) *http.Server {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnContext:       gateway.ConnContext,
		ErrorLog:          log.New(io.Discard, "", 0), // clients that leave in mid-handshake are no news
		Protocols:         new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(tls)
	s.Protocols.SetUnencryptedHTTP2(!tls)
	return s
}

// adminServer is the listener of health and metrics; nil where there is none.
type adminServer struct {
	http *http.Server
	addr net.Addr
}

func serveAdmin(ctx context.Context, addr string, h http.Handler) (*adminServer, error) {
	if addr == "" {
		return nil, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("the admin listener: %w; each process needs an address of its own (admin in its file, or --admin of weir worker)", err)
	case err != nil:
		return nil, fmt.Errorf("the admin listener: %w", err)
	}
	s := &adminServer{http: &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}, addr: l.Addr()}
	go func() { _ = s.http.Serve(l) }() // always ErrServerClosed after close
	return s, nil
}

func (s *adminServer) close() error {
	if s == nil {
		return nil
	}
	return s.http.Close()
}

// addressesOf is an upstream's addresses, as many as fit on a line.
func addressesOf(u gateway.Upstream) string {
	if len(u.URLs) == 1 {
		return u.URLs[0].String()
	}
	return fmt.Sprintf("%s and %d more", u.URLs[0], len(u.URLs)-1)
}

func printGateway(w io.Writer, c gateway.Config, addr net.Addr, side *adminServer, met string) {
	scheme := "http"
	if c.TLS.Cert != "" {
		scheme = "https"
	}
	fmt.Fprintf(w, "listening on %s://%s\n%s", scheme, addr, met)
	printServed(w, c, side)
	printKept(w, c.Log)
	limit, streams, ok := gateway.Descriptors()
	if !ok {
		return
	}
	fmt.Fprintf(w, "the limit of %d open files allows about %d streams", limit, streams)
	switch n := c.Limits.Streams; {
	case n == 0:
		fmt.Fprint(w, "; limits.streams sets no other")
	case uint64(n) > streams:
		fmt.Fprintf(w, ": below limits.streams of %d; raise it (ulimit -n)", n)
	}
	fmt.Fprintln(w)
}

// printKept says where records go, and how they are read.
func printKept(w io.Writer, c gateway.LogFiles) {
	if c.Dir != "" {
		fmt.Fprintf(w, "records to %s (weir analyze, weir trace)\n", filepath.Join(logRoot(c.Dir), "events", "DAY", "gateway-START-PID.jsonl"))
	}
	if c.Store != "" {
		fmt.Fprintf(w, "records to %s (weir runs list --db %[1]s)\n", c.Store)
	}
}

// printServed says where health is, and which routes there are.
func printServed(w io.Writer, c gateway.Config, side *adminServer) {
	if side != nil {
		fmt.Fprintf(w, "admin on http://%s: /healthz /readyz /metrics\n", side.addr)
	}
	for _, r := range c.Routes {
		fmt.Fprintf(w, "route %s to %s (%s)\n", r.Path, r.Upstream.Name, addressesOf(c.Upstreams[r.Upstream.Name]))
	}
}
