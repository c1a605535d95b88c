package gateway

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// RelayConfig says where the frames of resumable streams are kept: in this
// process, and in Redis where several instances share them.
type RelayConfig struct {
	Redis               RedisURL      `yaml:"redis"`                 // "" = this process alone
	PasswordEnv         string        `yaml:"password_env"`          // environment variable with the password, instead of the URL's
	SentinelPasswordEnv string        `yaml:"sentinel_password_env"` // of the sentinels
	Prefix              string        `yaml:"prefix"`                // of every key
	TTL                 time.Duration `yaml:"ttl"`                   // how long Redis keeps an ended stream
	MaxLen              int           `yaml:"max_len"`               // most entries of a stream in Redis
	Outage              time.Duration `yaml:"outage"`                // how long a reader bears that Redis is away
	Memory              RelayMemory   `yaml:"memory"`
}

// RelayMemory bounds what this process keeps.
type RelayMemory struct {
	Bytes   Bytes         `yaml:"bytes"`   // of one stream
	Events  int           `yaml:"events"`  // of one stream
	Total   Bytes         `yaml:"total"`   // of all streams
	Streams int           `yaml:"streams"` // how many
	TTL     time.Duration `yaml:"ttl"`     // of an ended stream
}

func defaultRelay() RelayConfig {
	return RelayConfig{Prefix: "weir", TTL: 10 * time.Minute, MaxLen: 20_000, Outage: 10 * time.Second,
		Memory: RelayMemory{Bytes: 4 << 20, Events: 20_000, Total: 256 << 20, Streams: 10_000, TTL: 2 * time.Minute}}
}

// RedisURL is the address of a Redis. It may hold a password, so it prints
// without what stands before the last @.
type RedisURL string

// UnmarshalText reads the address. What is wrong with it is not repeated.
func (u *RedisURL) UnmarshalText(b []byte) error {
	s := string(b)
	scheme, rest, ok := strings.Cut(s, "://")
	switch scheme {
	case "redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster":
	default:
		ok = s == ""
	}
	if !ok || s != "" && rest == "" {
		return errors.New("this must be redis://host:6379/0, redis+sentinel://host:26379,host/master/0 or redis+cluster://host:6379,host (rediss for TLS)")
	}
	*u = RedisURL(s)
	return nil
}

// String is the address without user and password.
func (u RedisURL) String() string {
	scheme, rest, ok := strings.Cut(string(u), "://")
	if !ok {
		return ""
	}
	return scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
}

// GoString keeps %#v from the secrets too.
func (u RedisURL) GoString() string { return u.String() }

// Validate implements config.Validator.
func (c *RelayConfig) Validate() error {
	m := c.Memory
	switch {
	case c.TTL < time.Second || m.TTL < time.Second:
		return errors.New("ttl must be at least 1s: a client needs time to come back")
	case c.MaxLen < 1 || m.Events < 1:
		return errors.New("max_len and memory.events must be at least 1")
	case c.Outage < 0:
		return fmt.Errorf("outage is %s; it must not be negative", c.Outage)
	case m.Bytes < 4<<10 || m.Total < m.Bytes:
		return errors.New("memory.bytes must be at least 4KiB, and memory.total at least memory.bytes")
	case m.Streams < 1:
		return errors.New("memory.streams must be at least 1; without resume nothing is kept anyway")
	case c.Prefix == "" || strings.ContainsAny(c.Prefix, "{} \t\r\n"):
		return errors.New("prefix must not be empty, and without braces and blanks")
	case c.Redis == "" && (c.PasswordEnv != "" || c.SentinelPasswordEnv != ""):
		return errors.New("a password needs redis, the address it is for")
	}
	return nil
}
