package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/spf13/cobra"

	"weir/gateway"
	"weir/relay/redis"
	"weir/relay/redis/jobs"
	"weir/telemetry"
)

// workerFlags are the flags of weir worker.
type workerFlags struct {
	admin    string
	drain    time.Duration
	logJSON  bool
	keepText bool
}

func newWorkerCmd() *cobra.Command {
	var f workerFlags
	cmd := &cobra.Command{
		Use:   "worker CONFIG.yaml",
		Short: "Ask the model services for gateways of role edge",
		Long: `Takes the requests that gateways of role edge put into Redis, asks the services
as the routes say, and writes the answers into the relay log, where the edges
read them. It has no listener for clients. Edges and workers share one file; any
number of each may run, and come and go.
A changed file, or SIGHUP, is taken up while it runs: requests in flight keep
their configuration, and a file with a mistake is refused and the old one stays.
A request is renewed once a second. When a worker dies, another takes over what
no client has seen yet; a stream that has begun ends with an error that says so.
SIGTERM or Ctrl-C drains: no new requests, those it has may end; a second one
ends them at once.
How it works, and what to set: docs/workers.md.`,
		Example: `  weir gateway gateway.yaml --role edge
  weir worker gateway.yaml
  weir worker gateway.yaml --admin 127.0.0.1:9091     health and metrics of a second one`,
		Args: exactArgs(1, "one configuration file"),
		RunE: func(cmd *cobra.Command, args []string) error { return runWorker(cmd, args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.admin, "admin", "", "address of health and metrics (default: the file's admin)")
	fl.DurationVar(&f.drain, "drain", 30*time.Second, "how long requests may take to end at a stop")
	fl.BoolVar(&f.logJSON, "log-json", false, "log lines as JSON")
	fl.BoolVar(&f.keepText, "keep-text", false, "keep the answers' text in the event log")
	return cmd
}

// errNoRedis is the mistake of a file that does not say where edges and workers
// meet.
func errNoRedis(who string) error {
	return usagef("%s needs relay.redis, where edges and workers meet, as in relay: {redis: \"redis://127.0.0.1:6379/0\"}", who)
}

// openEdge opens the relay of an edge and the queue to its workers.
func openEdge(c gateway.Config, o *gateway.Options, counts *telemetry.Gateway) (io.Closer, error) {
	if c.Relay.Redis == "" {
		return nil, errNoRedis("role edge")
	}
	log, frames, err := openRelay(c.Relay, counts, o.Logger)
	if err != nil {
		return nil, err
	}
	far := log.(*redis.Spread).Far()
	o.Log, o.Queue = log, jobs.New(far, jobs.Options{Waiting: c.Workers.Queue})
	return frames, nil
}

// workerMemory is how long a worker keeps what Redis has.
const workerMemory = 10 * time.Second

// openWorker opens the relay of a worker, which waits for Redis.
func openWorker(c gateway.Config, o *gateway.Options, counts *telemetry.Gateway) (*redis.Spread, error) {
	if c.Relay.Redis == "" {
		return nil, errNoRedis("a worker")
	}
	far, err := openRedis(c.Relay, counts, o.Logger)
	if err != nil {
		return nil, err
	}
	return redis.NewWaiting(openMemory(c.Relay, workerMemory), far), nil
}

func runWorker(cmd *cobra.Command, file string, f workerFlags) (err error) {
	c, err := gateway.ReadConfig(file)
	if err != nil {
		return usagef("%w", err)
	}
	if f.admin != "" {
		if _, _, err := net.SplitHostPort(f.admin); err != nil {
			return usagef("--admin: %q is no address to listen on; write host:port", f.admin)
		}
		c.Admin = f.admin
	}
	counts := telemetry.NewGateway(telemetry.Options{Version: version, Role: "worker"})
	counts.Limit(c.Workers.Jobs)
	o := gateway.Options{Observer: counts, Logger: gatewayLogger(cmd.ErrOrStderr(), f.logJSON), Version: version}
	keep, err := openGatewayKeep(cmd.Context(), c, f.keepText)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keep.close(err == nil)) }()
	o.Sink = keep
	log, err := openWorker(c, &o, counts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	o.Log = log
	w, err := gateway.NewWorker(c, o)
	if err != nil {
		return usagef("%s: %w", file, err)
	}
	counts.Configured(time.Now())
	put := func(c gateway.Config) error {
		if f.admin != "" { // it stands above the file's
			c.Admin = f.admin
		}
		return w.Reload(c)
	}
	r := &reloader{file: file, put: put, counts: counts, log: o.Logger, files: c.Files()}
	return serveWorker(cmd, c, w, r, log, f.drain)
}

// serveWorker takes requests until the command's context ends, then drains.
func serveWorker(cmd *cobra.Command, c gateway.Config, w *gateway.Worker, r *reloader, log *redis.Spread, drain time.Duration) error {
	defer w.Close()
	side, err := serveAdmin(cmd.Context(), c.Admin, telemetry.Admin(r.counts, func() bool { return w.Ready() && log.Up() }))
	if err != nil {
		return err
	}
	taking := jobs.New(log.Far(), jobs.Options{Places: c.Workers.Jobs, Observer: r.counts.Jobs()}).Work(w)
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "worker %s takes requests from %s, %d at a time\n", log.Far().Instance(), log.Far(), c.Workers.Jobs)
	printServed(out, c, side)
	printKept(out, c.Log)
	stopReloads := r.start(cmd.Context())
	defer stopReloads()
	<-cmd.Context().Done()
	stopWorker(cmd.ErrOrStderr(), w, taking, drain)
	return side.close()
}

// stopWorker lets what it has end, as long as it may, then ends it.
func stopWorker(errs io.Writer, w *gateway.Worker, taking *jobs.Worker, drain time.Duration) {
	w.StopTaking()
	if n := taking.Running(); n > 0 {
		fmt.Fprintf(errs, "weir: draining: %s may end within %s; a second signal ends them at once\n", plural(n, "request"), drain)
	}
	drainWithin(errs, drain, taking.Drain, taking.Running)
	w.Close()
	taking.Close()
}
