package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// clocks watch an attempt: its first output, its semantic progress and its
// speed. Comments and pings move none of them. One timer serves them all: it
// looks, acts, and sleeps until the next moment that could matter, so that an
// event costs no timer.
//
// An answer that is no stream says nothing until it is whole: its headers are
// its first output, every read is progress, and of its silence only what the
// route acts on is noted.
type clocks struct {
	mu       sync.Mutex
	progress time.Time
	tier     int // tiers reached since the last progress
	output   bool
	plain    bool // no stream was asked for, and none came
	blocked  bool // it is the client that is waited for
	lastTry  bool
	tokens   int // in the window

	s       *session
	tiers   [3]time.Duration // log, act, tell; 0 = off
	timer   *time.Timer
	cancel  context.CancelCauseFunc // of the attempt; nil = none is watched
	began   time.Time
	limit   time.Duration // on the first output; 0 = none
	ends    time.Time     // when an answer that is whole is no longer waited for; zero = not
	window  time.Time     // of the floor
	sayings []string      // notes for the record
}

// begin watches an attempt from now on.
func (c *clocks) begin(cancel context.CancelCauseFunc, lastTry bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.cancel, c.lastTry, c.began, c.progress = cancel, lastTry, now, now
	c.output, c.tier, c.ends, c.window, c.tokens = false, 0, time.Time{}, time.Time{}, 0
	c.plain, c.blocked = !c.s.x.ask.streamed, false
	c.set()
	c.sleep(now)
}

// set takes the limits of the route. What is not asked for as a stream may
// rightly be silent until its answer is whole: it is cut where the route states
// a limit, not by the default one, and where it may be asked again.
func (c *clocks) set() {
	route := c.s.x.route
	w := route.Silence
	c.tiers = [3]time.Duration{w.Log, w.Act, w.Tell}
	c.limit = route.firstOutput(len(route.upstream.URLs))
	if c.plain {
		c.tiers = [3]time.Duration{1: w.Act}
		if route.OnSilence == MarkSilence {
			c.tiers = [3]time.Duration{}
		}
		c.limit = orZero(route.Retry.FirstOutput)
	}
	if c.lastTry || !c.s.harmless() {
		c.limit = 0 // the last attempt is never cut
	}
}

// answered says that the headers came: of what is no stream, the first output.
func (c *clocks) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plain {
		c.output, c.progress = true, time.Now()
	}
}

// streams says that a stream came, asked for or not.
func (c *clocks) streams() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.plain {
		return
	}
	c.plain, c.output, c.tier = false, false, 0
	c.set()
	if c.cancel != nil {
		c.sleep(time.Now())
	}
}

// wait says whether it is the client that is waited for: a service that may not
// speak is not silent.
func (c *clocks) wait(blocked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocked, c.progress = blocked, time.Now()
}

// pause stops watching, between two attempts.
func (c *clocks) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel = nil
}

func (c *clocks) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel = nil
	if c.timer != nil {
		c.timer.Stop()
	}
}

// moved notes semantic progress; output says that it is something the user
// asked for, of so many tokens.
func (c *clocks) moved(at time.Time, output bool, tokens int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = at
	if c.tier > 0 { // else the timer stands early enough
		c.tier = 0
		c.sleep(at)
	}
	if output {
		if !c.output {
			c.output, c.window = true, at
		}
		c.tokens += tokens
	}
}

// finishBy stops waiting, after a while, for the end of an answer that is whole.
func (c *clocks) finishBy(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.ends = t
		c.sleep(time.Now())
	}
}

// look is the timer's: it acts on what is due.
func (c *clocks) look() {
	defer c.s.guard("clock")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel == nil {
		return
	}
	now := time.Now()
	if c.limit > 0 && now.Sub(c.began) >= c.limit && c.s.q.said() {
		c.limit = 0 // it cannot be made again, so it is the last
	}
	switch {
	case !c.ends.IsZero():
		if !now.Before(c.ends) {
			c.cancel(errFinished)
			return
		}
	case !c.output && c.limit > 0 && now.Sub(c.began) >= c.limit:
		c.cancel(errFirstOutput)
		return
	default:
		c.silence(now)
		c.floor(now)
	}
	c.sleep(now)
}

var tierNames = [3]string{"log", "act", "tell"}

func (c *clocks) silence(now time.Time) {
	if out := c.s.out.Load(); c.blocked || out != nil && out.busy.Load() != 0 {
		c.progress = now
	}
	silent := now.Sub(c.progress)
	for ; c.tier < len(c.tiers); c.tier++ {
		due := c.tiers[c.tier]
		if due == 0 {
			continue
		}
		if silent < due {
			return
		}
		c.reached(c.tier, silent)
	}
}

// reached acts on a tier of silence.
func (c *clocks) reached(tier int, silent time.Duration) {
	x := c.s.x
	x.g.see.Silent(x.route.Path, tierNames[tier])
	switch tierNames[tier] {
	case "log":
		x.g.log.LogAttrs(context.Background(), slog.LevelInfo, "silent", slog.String("request_id", x.id.request),
			slog.Duration("for", silent), slog.Bool("first_output", c.output))
	case "act":
		c.sayings = append(c.sayings, "silent for "+silent.Round(time.Millisecond).String())
		c.act(errSilence)
	case "tell":
		c.s.q.tell()
	}
}

// act does what the route says of an upstream that is silent or too slow.
func (c *clocks) act(cause error) {
	switch c.s.x.route.OnSilence {
	case RetrySilent:
		if !c.output && !c.lastTry && !c.s.q.said() && c.s.harmless() {
			c.cancel(cause)
		}
	case EndSilence:
		c.cancel(cause)
	}
}

// floor judges the speed of the window that ended. An event for which the
// protocol counts no tokens holds at least one: it was not empty.
func (c *clocks) floor(now time.Time) {
	f := c.s.x.route.Floor
	if f.TokensPerSecond <= 0 || c.plain || !c.output || now.Sub(c.window) < f.Window {
		return
	}
	rate := float64(c.tokens) / now.Sub(c.window).Seconds()
	c.window, c.tokens = now, 0
	if rate >= f.TokensPerSecond {
		return
	}
	x := c.s.x
	x.g.see.Silent(x.route.Path, "slow")
	x.g.log.LogAttrs(context.Background(), slog.LevelInfo, "slow", slog.String("request_id", x.id.request),
		slog.Float64("tokens_per_second", rate))
	c.sayings = append(c.sayings, "alive but below the floor")
	c.act(errTooSlow)
}

// sleep sets the timer to the next moment that could matter.
func (c *clocks) sleep(now time.Time) {
	var next time.Time
	sooner := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	if !c.ends.IsZero() {
		sooner(c.ends)
	} else {
		if !c.output && c.limit > 0 {
			sooner(c.began.Add(c.limit))
		}
		for _, due := range c.tiers[c.tier:] {
			if due > 0 {
				sooner(c.progress.Add(due))
			}
		}
		if f := c.s.x.route.Floor; f.TokensPerSecond > 0 && !c.plain {
			from := c.window
			if !c.output {
				from = now // looked at again: output may come without a word to the timer
			}
			sooner(from.Add(f.Window))
		}
	}
	if next.IsZero() {
		return
	}
	wait := max(next.Sub(now), 0)
	if c.timer == nil {
		c.timer = time.AfterFunc(wait, c.look)
	} else {
		c.timer.Reset(wait)
	}
}

// notes are what the clocks have to say in the record.
func (c *clocks) notes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.sayings...)
}
