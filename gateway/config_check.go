package gateway

import (
	"errors"
	"fmt"
	"net/textproto"
	"strings"
	"time"
)

// Validate implements config.Validator.
func (c *Upstream) Validate() error {
	switch {
	case len(c.URLs) == 0:
		return errors.New("urls is missing: give at least one address")
	case c.KeyEnv != "" && c.KeyFile != "":
		return errors.New("give key_env or key_file, not both")
	case c.Warm < 0 || c.Warm > 1000:
		return fmt.Errorf("warm is %d; it must be from 0 to 1000", c.Warm)
	}
	for _, name := range c.Forward {
		if key := textproto.CanonicalMIMEHeaderKey(name); !validHeaderName(name) || neverForwarded(key) {
			return fmt.Errorf("forward: %q cannot be passed on", name)
		}
	}
	return nil
}

// Validate implements config.Validator.
func (r *Route) Validate() error {
	star := strings.IndexByte(r.Path, '*')
	switch {
	case !strings.HasPrefix(r.Path, "/"):
		return fmt.Errorf("path is %q; it must begin with /", r.Path)
	case star >= 0 && star != len(r.Path)-1:
		return fmt.Errorf("path is %q; a * may stand only at its end", r.Path)
	case strings.HasPrefix(r.Path, ownPrefix):
		return fmt.Errorf("path %q: paths below %s are the gateway's own", r.Path, ownPrefix)
	case r.Upstream.Name == "":
		return errors.New("upstream is missing: name the upstream that serves it")
	case r.Retry.Attempts < 1 || r.Retry.Attempts > 10:
		return fmt.Errorf("retry.attempts is %d; it must be from 1 (no retry) to 10", r.Retry.Attempts)
	case r.Floor.TokensPerSecond < 0:
		return errors.New("floor.tokens_per_second is negative; 0 switches it off")
	case r.Floor.TokensPerSecond > 0 && r.Floor.Window < time.Second:
		return errors.New("floor.window must be at least 1s")
	case r.Slow.Bytes < 4<<10:
		return fmt.Errorf("slow_client.bytes is %d; it must be at least 4KiB", r.Slow.Bytes)
	case r.Slow.WriteTimeout <= 0:
		return errors.New("slow_client.write_timeout must be above 0: a client that never reads would hold its place for ever")
	case r.Heartbeat != 0 && r.Heartbeat < 10*time.Millisecond:
		return fmt.Errorf("heartbeat is %s; it must be 0 (off) or at least 10ms", r.Heartbeat)
	}
	return r.checkDurations()
}

func (r *Route) checkDurations() error {
	for _, d := range []struct {
		name string
		v    time.Duration
	}{
		{"open.hold", r.Open.Hold}, {"retry.backoff", r.Retry.Backoff},
		{"silence.log", r.Silence.Log}, {"silence.act", r.Silence.Act}, {"silence.tell", r.Silence.Tell},
		{"resume.grace", r.Resume.Grace}, {"retry.first_output", orZero(r.Retry.FirstOutput)},
	} {
		if d.v < 0 {
			return fmt.Errorf("%s is %s; it must not be negative", d.name, d.v)
		}
	}
	return r.Silence.check()
}

// Validate implements config.Validator.
func (l *Limits) Validate() error {
	switch {
	case l.Streams < 0 || l.PerRoute < 0 || l.PerKey < 0 || l.Queue < 0 || l.QueueWait < 0:
		return errors.New("a limit is negative; 0 means none")
	case l.Body < 1<<10:
		return fmt.Errorf("body is %d bytes; it must be at least 1KiB", l.Body)
	case l.BodyWait <= 0:
		return fmt.Errorf("body_wait is %s; it must be above 0: a client that never ends its body would hold its place for ever", l.BodyWait)
	case l.Event < 1<<10:
		return fmt.Errorf("event is %d bytes; it must be at least 1KiB", l.Event)
	}
	return nil
}

func orZero(d *time.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return *d
}

// early reports whether the route opens as soon as the upstream answered.
func (r *Route) early(addresses int) bool {
	if r.Open.Mode == "" {
		return addresses == 1 && r.Retry.Attempts == 1
	}
	return r.Open.Mode == Early
}

// firstOutput is the limit on an attempt's first output; 0 = none.
func (r *Route) firstOutput(addresses int) time.Duration {
	if r.Retry.FirstOutput != nil {
		return *r.Retry.FirstOutput
	}
	if addresses > 1 {
		return 30 * time.Second
	}
	return 0
}
