package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Address is where a Redis is. It prints without its secrets.
type Address struct {
	hosts    []string
	user     string
	password string
	master   string // of sentinels
	db       int
	cluster  bool
	tls      bool
}

// ParseURL reads an address:
//
//	redis://[user[:password]@]host[:6379][/db]
//	redis+sentinel://[user[:password]@]host[:26379][,host…]/master[/db]
//	redis+cluster://[user[:password]@]host[:6379][,host…]
//
// With rediss in the place of redis the connections are TLS. No error repeats
// the URL, which may hold a password.
func ParseURL(s string) (Address, error) {
	var a Address
	scheme, rest, ok := strings.Cut(s, "://")
	kind, how, _ := strings.Cut(scheme, "+")
	a.tls = kind == "rediss"
	a.cluster = how == "cluster"
	if !ok || kind != "redis" && kind != "rediss" || how != "" && how != "sentinel" && how != "cluster" || strings.HasSuffix(scheme, "+") {
		return a, errors.New("the URL of Redis must begin with redis://, redis+sentinel:// or redis+cluster:// (rediss for TLS)")
	}
	if strings.ContainsAny(rest, "?#") {
		return a, errors.New("the URL of Redis has no query and no fragment")
	}
	rest, path, _ := strings.Cut(rest, "/")
	if err := a.readHosts(rest, how); err != nil {
		return a, err
	}
	return a, a.readPath(path, how)
}

func (a *Address) readHosts(s, how string) error {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		user, password, _ := strings.Cut(s[:i], ":")
		var err, err2 error
		a.user, err = url.PathUnescape(user)
		a.password, err2 = url.PathUnescape(password)
		if err != nil || err2 != nil {
			return errors.New("the URL of Redis: user or password has a % that is no escape; write %25")
		}
		s = s[i+1:]
	}
	port := "6379"
	if how == "sentinel" {
		port = "26379"
	}
	for host := range strings.SplitSeq(s, ",") {
		h, p, err := net.SplitHostPort(host)
		if err != nil {
			h, p = strings.Trim(host, "[]"), port
		}
		if n, err := strconv.ParseUint(p, 10, 16); h == "" || err != nil || n == 0 {
			return errors.New("the URL of Redis: an address must be host or host:port")
		}
		a.hosts = append(a.hosts, net.JoinHostPort(h, p))
	}
	if how == "" && len(a.hosts) > 1 {
		return errors.New("the URL of Redis names several hosts; begin it with redis+sentinel:// or redis+cluster://")
	}
	return nil
}

func (a *Address) readPath(path, how string) (err error) {
	db := path
	switch how {
	case "cluster":
		if path != "" {
			return errors.New("the URL of a Redis cluster has no path: a cluster has one database")
		}
	case "sentinel":
		if a.master, db, _ = strings.Cut(path, "/"); a.master == "" {
			return errors.New("the URL of Redis sentinels needs the master's name: redis+sentinel://host/master")
		}
	}
	if db == "" {
		return nil
	}
	if a.db, err = strconv.Atoi(db); err != nil || a.db < 0 {
		return errors.New("the URL of Redis: the database must be a number")
	}
	return nil
}

// String is the address without user and password.
func (a Address) String() string {
	kind := "redis"
	if a.tls {
		kind = "rediss"
	}
	switch {
	case a.cluster:
		return kind + "+cluster://" + strings.Join(a.hosts, ",")
	case a.master != "":
		return fmt.Sprintf("%s+sentinel://%s/%s/%d", kind, strings.Join(a.hosts, ","), a.master, a.db)
	}
	return fmt.Sprintf("%s://%s/%d", kind, strings.Join(a.hosts, ","), a.db)
}

// GoString keeps %#v from the secrets too.
func (a Address) GoString() string { return a.String() }

// Limits of one exchange: a Redis that hangs is away. Our own code sends again
// what may be sent again, so the client does not. A caller's deadline does not
// end an exchange on its way: its connection would be lost with it.
const (
	dialTimeout = time.Second
	ioTimeout   = 2 * time.Second
)

func (a Address) client(o Options) goredis.UniversalClient {
	goredis.SetLogger(silence{}) // it writes to the standard error what our errors say too
	u := &goredis.UniversalOptions{
		Addrs: a.hosts, DB: a.db, Username: a.user, Password: otherwise(o.Password, a.password),
		MasterName: a.master, SentinelPassword: o.SentinelPassword, IsClusterMode: a.cluster,
		Protocol: 2, MaxRetries: -1, DialTimeout: dialTimeout, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout,
		DialerRetries: 1, DisableIdentity: true, PoolTimeout: ioTimeout,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if a.tls {
		u.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return goredis.NewUniversalClient(u)
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
