package rig

import (
	"context"
	"fmt"
	"os"
	"time"

	"weir/diagnose"
	"weir/dialect"
	"weir/mark"
	"weir/probe"
	"weir/stream"
	"weir/tap"
)

// Hop is one path to the service.
type Hop struct {
	Name string // "" is the main path
	URL  string
}

// Mode says how answers are asked for.
type Mode string

// The modes: streamed, whole, or each prompt both ways in turn.
const (
	Streamed Mode = "on"
	Whole    Mode = "off"
	Both     Mode = "both"
)

// Plan is what a probe session does. N requests go down every hop, one at a
// time, hops and modes in turn, so that what is compared is measured side by
// side.
type Plan struct {
	Hops   []Hop // the first is the main path
	N      int   // requests a hop and mode; 0 = 5
	Mode   Mode  // "" = Streamed
	Ask    dialect.Ask
	Probe  probe.Options
	Marks  *mark.Set // nil = none
	Labels map[string]string
	Expect stream.Expect
	Run    string
	Sink   stream.Sink // nil = records are only returned

	// Progress is told before each request how many are done; nil = nobody.
	Progress func(done, total int)
}

// Observation is what a probe session saw.
type Observation struct {
	Requests [][]*stream.Record // one group a request, in the order sent
	Findings []diagnose.Finding
	Partial  bool     // it was interrupted: not all of Requests were sent
	Unseen   []string // marks that were never seen in the whole session
}

// Observe runs a probe session. The error says that weir could not do its job;
// a request that failed is a record.
func Observe(ctx context.Context, p Plan) (*Observation, error) {
	if p.N == 0 {
		p.N = 5
	}
	if p.Marks != nil {
		p.Probe.NewMarker = func() tap.Marker { return p.Marks.New() }
	}
	clients, err := dialHops(p)
	defer func() {
		for _, c := range clients {
			c.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	o := &Observation{}
	if err := p.run(ctx, clients, o); err != nil {
		return o, err
	}
	o.conclude(p)
	return o, nil
}

// dialHops gives every hop a client of its own, so that none warms another's
// connection.
func dialHops(p Plan) ([]*probe.Client, error) {
	var clients []*probe.Client
	for _, h := range p.Hops {
		c, err := probe.New(p.Probe)
		if err != nil {
			return clients, fmt.Errorf("path %s: %w", h.URL, err)
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func (p Plan) run(ctx context.Context, clients []*probe.Client, o *Observation) error {
	wholes := p.modes()
	total := p.N * len(p.Hops) * len(wholes)
	for n := range total {
		if ctx.Err() != nil {
			o.Partial = true
			return nil //nolint:nilerr // Ctrl-C is no failure: what was measured is reported as partial
		}
		if p.Progress != nil {
			p.Progress(n, total)
		}
		hop := n / len(wholes) % len(p.Hops)
		records, err := p.one(ctx, clients[hop], p.Hops[hop], wholes[n%len(wholes)], n)
		if err != nil {
			return err
		}
		o.Requests = append(o.Requests, records)
	}
	o.Partial = ctx.Err() != nil
	return nil
}

func (p Plan) modes() []bool {
	switch p.Mode {
	case Whole:
		return []bool{true}
	case Both:
		return []bool{false, true}
	}
	return []bool{false}
}

func (p Plan) one(ctx context.Context, c *probe.Client, h Hop, whole bool, n int) ([]*stream.Record, error) {
	ask := p.Ask
	ask.URL, ask.Whole = h.URL, whole
	records, err := c.Do(ctx, ask, probe.Meta{
		Index: n, Run: p.Run, Hop: h.Name, Labels: p.Labels, Expect: p.Expect,
	})
	if err != nil {
		return nil, fmt.Errorf("request %d to %s: %w", n+1, probe.SafeURL(h.URL), err)
	}
	if p.Marks != nil {
		for _, r := range records {
			r.Marks = p.Marks.Names()
		}
	}
	if p.Sink == nil {
		return records, nil
	}
	for _, r := range records {
		// The log is written even where the session was interrupted.
		if err := p.Sink.Put(context.WithoutCancel(ctx), r); err != nil {
			return records, fmt.Errorf("log request %d: %w", n+1, err)
		}
	}
	return records, nil
}

func (o *Observation) conclude(p Plan) {
	var all []*stream.Record
	for _, g := range o.Requests {
		all = append(all, g...)
	}
	o.Findings = diagnose.Diagnose(all)
	if p.Marks != nil {
		o.Unseen = p.Marks.Unseen()
	}
}

// Main returns the requests that went down the main path.
func (o *Observation) Main() [][]*stream.Record {
	var main [][]*stream.Record
	for _, g := range o.Requests {
		if len(g) > 0 && g[0].Hop == "" {
			main = append(main, g)
		}
	}
	return main
}

// AllComplete reports whether every request of the main path was answered to
// its proven end.
func (o *Observation) AllComplete() bool {
	for _, g := range o.Main() {
		for _, r := range g {
			if !r.Outcome.Ended() {
				return false
			}
		}
	}
	return true
}

// NoStream reports whether the main path gave no stream at all: unreachable,
// TLS failure, refused, a page or nothing instead of a stream, or not even a
// response before the connection or our patience ended.
func (o *Observation) NoStream() bool {
	main := o.Main()
	for _, g := range main {
		for _, r := range g {
			if !noStream(r) {
				return false
			}
		}
	}
	return len(main) > 0
}

func noStream(r *stream.Record) bool {
	switch r.Outcome {
	case stream.ErrorEarly:
		return r.Reason != "in_band" || r.Whole
	case stream.Truncated:
		return r.Reason == "empty"
	case stream.Reset, stream.Hung:
		return r.Facts.Status == 0
	}
	return false
}

// RunName names a run after its moment and process, so that two runs that
// start in one second do not share a log.
func RunName(kind string, now time.Time) string {
	return fmt.Sprintf("%s-%s-%d", kind, now.UTC().Format("20060102-150405"), os.Getpid())
}
