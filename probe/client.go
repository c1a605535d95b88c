package probe

import (
	"context"
	"sync"

	"weir/dialect"
	"weir/http1"
	"weir/stream"
)

// Client makes observed requests; it is safe for concurrent use and keeps warm
// connections between them. Close it.
type Client struct {
	o      Options
	dialer *dialer
	pool   http1.Pool[carrier]

	mu      sync.Mutex
	refused map[string]bool // targets that refuse to be asked for usage
}

// New returns a client, or what is wrong with the options.
func New(o Options) (*Client, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	return &Client{o: o, dialer: newDialer(o), refused: map[string]bool{}}, nil
}

// Close closes idle connections; those in use close with their request.
func (c *Client) Close() {
	c.pool.Close()
	c.dialer.Close()
}

const (
	noteRefused = "usage was refused (HTTP %d) and the request repeated without asking for it"
	noteKnown   = "usage was not asked for: this target has refused it"
)

// Do makes one request and returns a record per answer, at least one, however
// it ended. An error means that nothing could be asked (a malformed URL, a
// dialect that failed); records that come with an error are whole as far as
// they go. Cancelling ctx ends the request with what was measured.
func (c *Client) Do(ctx context.Context, a dialect.Ask, m Meta) ([]*stream.Record, error) {
	known := !a.NoUsage && c.refuses(a.URL)
	if known {
		a.NoUsage = true
	}
	x, err := c.perform(ctx, &a, &m)
	if err == nil && x.refusedUsage() && ctx.Err() == nil {
		status := x.rec.Facts.Status
		c.remember(a.URL)
		a.NoUsage = true
		if x, err = c.perform(ctx, &a, &m); err == nil {
			x.notef(noteRefused, status)
		}
	}
	if x == nil {
		return nil, err
	}
	if known {
		x.notef(noteKnown)
	}
	return x.records, err
}

func (c *Client) refuses(target string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused[target]
}

func (c *Client) remember(target string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[target] = true
}
