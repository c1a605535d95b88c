package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"weir/gateway"
	"weir/telemetry"
)

// lookEvery is how often the configuration's files are looked at.
const lookEvery = time.Second

// reloader takes up the configuration's file when it changes.
type reloader struct {
	file   string
	put    func(gateway.Config) error // puts a configuration in force
	counts *telemetry.Gateway
	log    *slog.Logger

	files []string // that the newest configuration names, also one that was refused for what they hold
}

// start reloads on SIGHUP and on a change of a file, until ctx ends or stop is
// called.
func (r *reloader) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	var all sync.WaitGroup
	all.Go(func() {
		gateway.Watch(ctx, lookEvery, hup, r.watched, func(signalled bool) {
			r.reload(map[bool]string{true: "SIGHUP", false: "a file changed"}[signalled])
		})
	})
	return func() {
		signal.Stop(hup)
		cancel()
		all.Wait()
	}
}

func (r *reloader) watched() []string {
	return append([]string{r.file}, r.files...)
}

// reload reads the file and puts it in force, or says why not.
func (r *reloader) reload(why string) {
	c, err := gateway.ReadConfig(r.file)
	if err == nil {
		r.files = c.Files()
		err = r.put(c)
	}
	r.counts.Reloaded(time.Now(), err)
	if err != nil {
		r.log.Error("the configuration was refused; the one before stays", "file", r.file, "because", why, "error", err.Error())
		return
	}
	r.log.Info("the configuration was taken up; requests in flight keep theirs", "file", r.file, "because", why,
		"routes", len(c.Routes), "upstreams", len(c.Upstreams))
}
