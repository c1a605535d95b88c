package gateway

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"weir/dialect"
)

// route is a route ready for use.
type route struct {
	Route
	upstream *upstream
	dialect  dialect.Dialect // nil = auto
	early    bool
	exact    bool
	prefix   string
}

// newRoutes prepares the routes, longest path first: the most specific wins.
func newRoutes(c *Config, ups map[string]*upstream) ([]*route, error) {
	var list []*route
	for _, r := range c.Routes {
		u := ups[r.Upstream.Name]
		d, err := routeDialect(r.Dialect)
		if err != nil {
			return nil, fmt.Errorf("route %s: %w", r.Path, err)
		}
		prefix, star := strings.CutSuffix(r.Path, "*")
		list = append(list, &route{Route: r, upstream: u, dialect: d, exact: !star, prefix: prefix,
			early: r.early(len(u.URLs))})
	}
	slices.SortStableFunc(list, func(a, b *route) int { return cmp.Compare(len(b.prefix), len(a.prefix)) })
	return list, nil
}

func routeDialect(name DialectName) (dialect.Dialect, error) {
	switch s := string(name); {
	case s == "auto" || s == "":
		return nil, nil
	case isFile(s):
		data, err := os.ReadFile(s)
		if err != nil {
			return nil, fmt.Errorf("the dialect's file cannot be read: %w", err)
		}
		return dialect.Load(s, data)
	default:
		return dialect.Lookup(s)
	}
}

func (r *route) matches(path string) bool {
	if r.exact {
		return path == r.prefix
	}
	return strings.HasPrefix(path, r.prefix) || path == strings.TrimSuffix(r.prefix, "/")
}

// dotted reports whether a decoded path has a segment . or ..: the service would
// resolve it, and leave the route that was found for it.
func dotted(path string) bool {
	for s := range strings.SplitSeq(path, "/") {
		if s == "." || s == ".." {
			return true
		}
	}
	return false
}

func findRoute(routes []*route, path string) *route {
	for _, r := range routes {
		if r.matches(path) {
			return r
		}
	}
	return nil
}
