package gateway

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir/config"
	"weir/dialect"
)

// OpenMode says when a stream opens.
type OpenMode string

// The modes.
const (
	Hold  OpenMode = "hold"  // with its first output, or when the hold ends
	Early OpenMode = "early" // as soon as the upstream has answered
)

// OnSilence says what silence does.
type OnSilence string

// What silence does.
const (
	MarkSilence OnSilence = "mark"  // nothing but a note
	RetrySilent OnSilence = "retry" // before the first output the next attempt; after it nothing
	EndSilence  OnSilence = "end"   // the stream ends with an error
)

// SlowPolicy says what happens to a client that does not read.
type SlowPolicy string

// The policies.
const (
	Block  SlowPolicy = "block"  // the upstream waits for it
	Detach SlowPolicy = "detach" // to the relay log where the stream is resumable, else drop
	Drop   SlowPolicy = "drop"   // its connection ends
)

// KeyMode says how clients prove who they are.
type KeyMode string

// The modes.
const (
	PassThrough KeyMode = "pass_through" // the upstream decides
	KeyFile     KeyMode = "file"         // a file of keys decides
)

// Protocol is the HTTP version towards an upstream.
type Protocol string

func oneOf[T ~string](into *T, b []byte, allowed ...T) error {
	if v := T(b); slices.Contains(allowed, v) {
		*into = v
		return nil
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	return fmt.Errorf("%q is not one of %s", b, strings.Join(names, ", "))
}

// UnmarshalText reads the mode.
func (m *OpenMode) UnmarshalText(b []byte) error { return oneOf(m, b, Hold, Early) }

// UnmarshalText reads the choice.
func (o *OnSilence) UnmarshalText(b []byte) error {
	return oneOf(o, b, MarkSilence, RetrySilent, EndSilence)
}

// UnmarshalText reads the policy.
func (p *SlowPolicy) UnmarshalText(b []byte) error { return oneOf(p, b, Block, Detach, Drop) }

// UnmarshalText reads the mode.
func (m *KeyMode) UnmarshalText(b []byte) error { return oneOf(m, b, PassThrough, KeyFile) }

// UnmarshalText reads the version.
func (p *Protocol) UnmarshalText(b []byte) error { return oneOf(p, b, "1.1", "2", "h2c") }

// DialectName is auto, the name of a built-in dialect, or a custom one's file.
type DialectName string

// UnmarshalText reads the name; a file is read when the gateway is made.
func (d *DialectName) UnmarshalText(b []byte) error {
	s := string(b)
	if s != "auto" && !isFile(s) {
		if _, err := dialect.Lookup(s); err != nil {
			return err
		}
	}
	*d = DialectName(s)
	return nil
}

func isFile(s string) bool { return strings.HasSuffix(s, ".yaml") || strings.HasSuffix(s, ".yml") }

// Bytes is a size, written as 64KiB, 8MiB, 1GiB or a number of bytes.
type Bytes int64

// UnmarshalText reads the size.
func (s *Bytes) UnmarshalText(b []byte) error {
	text, unit := string(b), int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB"} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = strings.TrimSpace(rest), 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > (1<<40)/unit {
		return fmt.Errorf("%q is no size; write a whole number of bytes, or 64KiB, 8MiB, 1GiB", b)
	}
	*s = Bytes(n * unit)
	return nil
}

// URL is the address of a service.
type URL struct{ *url.URL }

// ParseURL reads an address: scheme, host, and perhaps a path that goes before
// the request's.
func ParseURL(s string) (URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil: // its text would quote what may hold a password
		return URL{}, errors.New("it is no URL; write http://host:port or https://host")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return URL{}, errors.New("a URL begins with http:// or https:// and a host")
	case u.User != nil:
		return URL{}, errors.New("a URL here holds no user or password; give a key by key_env")
	case u.RawQuery != "" || u.Fragment != "":
		return URL{}, errors.New("a URL here has no query and no fragment")
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawPath = ""
	return URL{u}, nil
}

// UnmarshalText reads the address.
func (u *URL) UnmarshalText(b []byte) (err error) {
	*u, err = ParseURL(string(b))
	return err
}

// CIDR is a range of addresses; one address is a range of its own.
type CIDR struct{ netip.Prefix }

// UnmarshalText reads the range.
func (c *CIDR) UnmarshalText(b []byte) error {
	if a, err := netip.ParseAddr(string(b)); err == nil {
		c.Prefix = netip.PrefixFrom(a, a.BitLen())
		return nil
	}
	p, err := netip.ParsePrefix(string(b))
	if err != nil {
		return fmt.Errorf("%q is no range of addresses; write 10.0.0.0/8 or fd00::/8", b)
	}
	c.Prefix = p.Masked()
	return nil
}

// Ref is the name of something defined elsewhere in the file; it remembers its
// place, for the error when there is no such thing.
type Ref struct {
	Name  string
	place func(format string, args ...any) error
}

// UnmarshalConfig implements config.Unmarshaler.
func (r *Ref) UnmarshalConfig(n config.Node) error {
	r.place = n.Errorf
	return n.Decode(&r.Name)
}

func (r *Ref) errorf(format string, args ...any) error {
	if r.place == nil {
		return fmt.Errorf(format, args...)
	}
	return r.place(format, args...)
}

func hostPort(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n <= 65535
}

func sortedNames[V any](m map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
