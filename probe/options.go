package probe

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"weir/dialect"
	"weir/stream"
	"weir/tap"
	"weir/wire"
)

// Options say how requests are made. The zero value works.
type Options struct {
	Dialect    dialect.Dialect // nil: chosen by the URL's path, then by the answer
	Format     string          // wire format; "": by content type and first byte
	HTTP       string          // "" or "1.1", "2" (by ALPN), "h2c"; "ws": over the WebSocket of a weir gateway, /weir/ws at the URL's host
	Fresh      bool            // a new connection for every request
	CACert     []byte          // PEM certificates trusted beside the system's
	Insecure   bool            // do not verify the server's certificate
	Compressed bool            // ask for gzip instead of identity
	AppStamps  bool            // never the kernel's stamps

	Timeout       time.Duration // of a whole request; 0 = 5 min
	DialTimeout   time.Duration // name lookup and connect; 0 = 15 s
	TLSTimeout    time.Duration // handshake; 0 = 15 s
	HeaderTimeout time.Duration // from request written to the response's head; 0 = only Timeout
	EndGrace      time.Duration // wait for EOF after the dialect's last event; 0 = 10 s

	BodyLimit   int64 // bytes of one answer's body, decoded; 0 = 256 MiB
	HeaderLimit int   // bytes of a response's head, informational ones included; 0 = 1 MiB
	FrameLimit  int   // bytes of one frame; 0 = the default of wire
	EventLimit  int   // events × answers of a response; 0 = the default of tap

	KeepText  bool
	NewMarker func() tap.Marker
	OnEvent   func(*stream.Event) // sees every event as it is made; called from the goroutine of Do
	OnFrame   func(wire.Frame)    // sees every frame; its bytes are valid until it returns
}

// Meta is what the caller knows of a request; it goes into its record as it is.
type Meta struct {
	Index    int
	Run      string
	Hop      string
	Labels   map[string]string
	Lateness stream.Maybe[time.Duration]
	InFlight stream.Maybe[int]
	Expect   stream.Expect
}

// The defaults of Options.
const (
	defaultTimeout     = 5 * time.Minute
	defaultDial        = 15 * time.Second
	defaultEndGrace    = 10 * time.Second
	defaultBodyLimit   = 256 << 20
	defaultHeaderLimit = 1 << 20
)

// Validate says what is wrong with the options, and what would be right.
func (o Options) Validate() error {
	switch o.HTTP {
	case "", "1.1", "2", "h2c", "ws":
	default:
		return fmt.Errorf("http version %q is not known: use 1.1, 2, h2c or ws", o.HTTP)
	}
	if o.Timeout < 0 || o.DialTimeout < 0 || o.TLSTimeout < 0 || o.HeaderTimeout < 0 || o.EndGrace < 0 {
		return errors.New("a timeout is negative: use a duration above 0, or 0 for the default")
	}
	if o.BodyLimit < 0 || o.HeaderLimit < 0 || o.FrameLimit < 0 || o.EventLimit < 0 {
		return errors.New("a size limit is negative: use a number above 0, or 0 for the default")
	}
	if len(o.CACert) > 0 && !x509.NewCertPool().AppendCertsFromPEM(o.CACert) {
		return errors.New("the CA file holds no PEM certificate")
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.Timeout = or(o.Timeout, defaultTimeout)
	o.DialTimeout = or(o.DialTimeout, defaultDial)
	o.TLSTimeout = or(o.TLSTimeout, defaultDial)
	o.EndGrace = or(o.EndGrace, defaultEndGrace)
	o.BodyLimit = or(o.BodyLimit, defaultBodyLimit)
	o.HeaderLimit = or(o.HeaderLimit, defaultHeaderLimit)
	return o
}

func or[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}
