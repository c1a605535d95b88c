package gateway

import (
	"errors"
	"fmt"
	"net/url"
	"time"
)

// WebSocket is what /weir/ws allows.
type WebSocket struct {
	Enabled      bool          `yaml:"enabled"`
	Origins      []string      `yaml:"origins"`       // of pages that may connect, as in https://chat.example.com
	Message      Bytes         `yaml:"message"`       // the most bytes of a client's message
	Streams      int           `yaml:"streams"`       // the most at a time on one socket
	Sockets      int           `yaml:"sockets"`       // the most at a time; 0 = no limit
	Ping         time.Duration `yaml:"ping"`          // between pings, and the most that a pong may take; 0 = off
	AuthWait     time.Duration `yaml:"auth_wait"`     // how long a socket may take to show its key
	WriteTimeout time.Duration `yaml:"write_timeout"` // the most that one write may take
}

func defaultWebSocket() WebSocket {
	return WebSocket{Enabled: true, Message: 64 << 10, Streams: 16, Sockets: 10_000, Ping: 30 * time.Second,
		AuthWait: 10 * time.Second, WriteTimeout: 10 * time.Second}
}

// Validate implements config.Validator.
func (c *WebSocket) Validate() error {
	switch {
	case !c.Enabled:
		return nil
	case c.Message < 1<<10 || c.Message > 64<<20:
		return fmt.Errorf("ws.message is %d bytes; it must be from 1KiB to 64MiB", c.Message)
	case c.Streams < 1 || c.Streams > 1000:
		return fmt.Errorf("ws.streams is %d; it must be from 1 to 1000", c.Streams)
	case c.Sockets < 0:
		return errors.New("ws.sockets is negative; 0 means no limit")
	case c.Ping != 0 && c.Ping < time.Second:
		return fmt.Errorf("ws.ping is %s; it must be 0 (off) or at least 1s", c.Ping)
	case c.AuthWait <= 0 || c.WriteTimeout <= 0:
		return errors.New("ws.auth_wait and ws.write_timeout must be above 0: a client that does nothing would hold its place for ever")
	}
	return checkOrigins("ws.origins", c.Origins)
}

func checkOrigins(key string, origins []string) error {
	for _, o := range origins {
		if !goodOrigin(o) {
			return fmt.Errorf("%s: %q is no origin; write scheme://host or scheme://host:port, as in https://chat.example.com", key, o)
		}
	}
	return nil
}

// goodOrigin reports whether a browser could send it. There is no * for all:
// with keys that a page holds, any page could then use them.
func goodOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.Hostname() != "*" &&
		s == u.Scheme+"://"+u.Host
}
