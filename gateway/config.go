package gateway

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"weir/config"
)

// Config is what a gateway does, as its YAML file states it. Load fills in the
// defaults; a Config made in Go needs them from Defaults and DefaultRoute.
type Config struct {
	Listen    string              `yaml:"listen"` // host:port
	Admin     string              `yaml:"admin"`  // host:port of health and metrics; "" = none
	TLS       TLS                 `yaml:"tls"`
	Upstreams map[string]Upstream `yaml:"upstreams"`
	Routes    []Route             `yaml:"routes"`
	Limits    Limits              `yaml:"limits"`
	Keys      Keys                `yaml:"keys"`
	Origins   []string            `yaml:"origins"` // of pages that may ask, as in https://chat.example.com
	Log       LogFiles            `yaml:"log"`
	Relay     RelayConfig         `yaml:"relay"`
	Workers   Workers             `yaml:"workers"`
	WS        WebSocket           `yaml:"ws"`
}

// TLS is the certificate shown to clients; without one the gateway speaks
// HTTP/1.1 and h2c in the clear.
type TLS struct {
	Cert string `yaml:"cert"` // PEM file
	Key  string `yaml:"key"`  // PEM file
}

// Upstream is a service by name, at one or several addresses that are tried in
// turn.
type Upstream struct {
	URLs    []URL    `yaml:"urls"`
	KeyEnv  string   `yaml:"key_env"`  // environment variable with the service's key; "" = the client's is passed on
	KeyFile string   `yaml:"key_file"` // or a file that holds it
	Allow   []CIDR   `yaml:"allow"`    // the dialled address must be in one of them; empty = any
	Forward []string `yaml:"forward"`  // further request headers to pass on
	CACert  string   `yaml:"cacert"`   // PEM file to trust instead of the system's
	HTTP    Protocol `yaml:"http"`     // "" = HTTP/1.1, or HTTP/2 where TLS agrees on it; h2c
	Warm    int      `yaml:"warm"`     // connections per address opened at the start
}

// Route says which requests go to which upstream, and how.
type Route struct {
	Path      string        `yaml:"path"` // exact, or a prefix that ends in *
	Upstream  Ref           `yaml:"upstream"`
	Dialect   DialectName   `yaml:"dialect"`
	Open      Opening       `yaml:"open"`
	Heartbeat time.Duration `yaml:"heartbeat"` // idle time before one is sent; 0 = off
	Retry     Retry         `yaml:"retry"`
	Silence   Silence       `yaml:"silence"`
	OnSilence OnSilence     `yaml:"on_silence"`
	Floor     Floor         `yaml:"floor"`
	Resume    Resume        `yaml:"resume"`
	Slow      SlowClient    `yaml:"slow_client"`
	Pacing    Pacing        `yaml:"pacing"`
	MetaEvent bool          `yaml:"meta_event"`
}

// Opening says when a stream's status and first frames go to the client.
type Opening struct {
	Mode OpenMode      `yaml:"mode"` // "" = early where there is one address and no retry, else hold
	Hold time.Duration `yaml:"hold"` // the most that frames before the first output wait
}

// Retry says what is tried again before the first output. FirstOutput cuts an
// attempt that has none by then, the last attempt excepted; unset it is 30 s
// where the upstream has several addresses, and off where it has one.
type Retry struct {
	Attempts    int            `yaml:"attempts"` // in all; 1 = no retry
	Backoff     time.Duration  `yaml:"backoff"`
	FirstOutput *time.Duration `yaml:"first_output"`
}

// Silence is after how long without semantic progress what happens; 0 = never.
type Silence struct {
	Log  time.Duration `yaml:"log"`  // a line in the log and a count
	Act  time.Duration `yaml:"act"`  // what on_silence says
	Tell time.Duration `yaml:"tell"` // the client is told
}

// Floor is the least speed of a stream that has begun to speak.
type Floor struct {
	TokensPerSecond float64       `yaml:"tokens_per_second"` // 0 = off
	Window          time.Duration `yaml:"window"`
}

// Resume says whether a client that lost its connection may go on.
type Resume struct {
	Enabled bool          `yaml:"enabled"`
	Grace   time.Duration `yaml:"grace"` // how long a stream without clients goes on
}

// SlowClient says what happens to a client that does not read.
type SlowClient struct {
	Policy       SlowPolicy    `yaml:"policy"`
	Bytes        Bytes         `yaml:"bytes"`         // the most that waits for it
	WriteTimeout time.Duration `yaml:"write_timeout"` // the most one write may take
}

// Limits bound what the gateway takes on; 0 = no limit for streams, per_route
// and per_key.
type Limits struct {
	Streams   int           `yaml:"streams"`
	PerRoute  int           `yaml:"per_route"`
	PerKey    int           `yaml:"per_key"`
	Queue     int           `yaml:"queue"`      // requests that may wait for a place
	QueueWait time.Duration `yaml:"queue_wait"` // and how long
	Body      Bytes         `yaml:"body"`       // of a request
	BodyWait  time.Duration `yaml:"body_wait"`  // for each 16 KiB of it, or its end
	Event     Bytes         `yaml:"event"`      // of one event of a stream

	OutputPerKey OutputRate `yaml:"output_per_key"`
}

// Keys says who may use the gateway.
type Keys struct {
	Mode KeyMode `yaml:"mode"`
	File string  `yaml:"file"`
}

// LogFiles says where the command keeps records, by default in events/ and
// weir.db of its working directory; "" = not there. A Gateway in itself keeps
// none: they go to its Sink.
type LogFiles struct {
	Dir   string `yaml:"dir"`   // event log
	Store string `yaml:"store"` // SQLite file
}

// Defaults is a Config with every default and nothing to serve.
func Defaults() Config {
	return Config{
		Listen: "127.0.0.1:8080",
		Limits: Limits{Streams: 5000, Queue: 100, QueueWait: 5 * time.Second, Body: 8 << 20, BodyWait: 10 * time.Second, Event: 16 << 20},
		Keys:   Keys{Mode: PassThrough},
		Log:    LogFiles{Dir: "events", Store: "weir.db"},
		Relay:  defaultRelay(),
		WS:     defaultWebSocket(),

		Workers: defaultWorkers(),
	}
}

// DefaultRoute is a Route with every default and neither path nor upstream.
func DefaultRoute() Route {
	return Route{
		Dialect:   "auto",
		Open:      Opening{Hold: 10 * time.Second},
		Heartbeat: 15 * time.Second,
		Retry:     Retry{Attempts: 2, Backoff: 200 * time.Millisecond},
		Silence:   Silence{Log: 3 * time.Second, Act: 10 * time.Second, Tell: 30 * time.Second},
		OnSilence: MarkSilence,
		Floor:     Floor{Window: 20 * time.Second},
		Resume:    Resume{Grace: 30 * time.Second},
		Slow:      SlowClient{Policy: Detach, Bytes: 1 << 20, WriteTimeout: 10 * time.Second},
		Pacing:    defaultPacing(),
	}
}

// ReadConfig loads a configuration file.
func ReadConfig(file string) (Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Config{}, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	return Load(file, data)
}

// Load reads a configuration; every mistake is told with file, line and column.
func Load(file string, data []byte) (Config, error) {
	c := Defaults()
	if err := config.Decode(file, data, &c); err != nil {
		return Config{}, err
	}
	if err := c.Validate(); err != nil { // an empty file has nothing that was validated
		return Config{}, fmt.Errorf("%s:1:1: %w", file, err)
	}
	return c, nil
}

// UnmarshalConfig implements config.Unmarshaler: a route begins with its defaults.
func (r *Route) UnmarshalConfig(n config.Node) error {
	*r = DefaultRoute()
	type plain Route
	return n.Decode((*plain)(r))
}

// Validate implements config.Validator.
func (c *Config) Validate() error {
	switch {
	case len(c.Upstreams) == 0:
		return errors.New("upstreams is missing: name at least one, as in {main: {urls: [http://127.0.0.1:9000]}}")
	case len(c.Routes) == 0:
		return errors.New("routes is missing: give at least one, as in [{path: \"/v1/*\", upstream: main}]")
	case c.Keys.Mode == KeyFile && c.Keys.File == "":
		return errors.New("keys: mode file needs file, the name of a file of keys")
	case (c.TLS.Cert == "") != (c.TLS.Key == ""):
		return errors.New("tls: give both cert and key, or neither")
	}
	if err := c.checkAddresses(); err != nil {
		return err
	}
	if err := checkOrigins("origins", c.Origins); err != nil {
		return err
	}
	return c.checkRoutes()
}

func (c *Config) checkAddresses() error {
	for key, addr := range map[string]string{"listen": c.Listen, "admin": c.Admin} {
		if addr == "" && key == "admin" {
			continue
		}
		if _, err := netip.ParseAddrPort(addr); err != nil && !hostPort(addr) {
			return fmt.Errorf("%s: %q is no address to listen on; write host:port, as in 127.0.0.1:8080", key, addr)
		}
	}
	return nil
}

func (c *Config) checkRoutes() error {
	seen := map[string]bool{}
	for i := range c.Routes {
		r := &c.Routes[i]
		if seen[r.Path] {
			return r.Upstream.errorf("another route has the path %s already", r.Path)
		}
		seen[r.Path] = true
		if _, ok := c.Upstreams[r.Upstream.Name]; !ok {
			return r.Upstream.errorf("no upstream is called %q; there are %s", r.Upstream.Name, sortedNames(c.Upstreams))
		}
	}
	return nil
}
