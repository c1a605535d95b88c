package probe

import (
	"net/url"
	"strings"
)

// SafeURL is Target for a URL as a user wrote it, malformed ones included:
// what stands before an "@" is taken out whatever it is.
func SafeURL(s string) string {
	if u, err := url.Parse(s); err == nil && u.Host != "" {
		return Target(u)
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "", s
	}
	rest, query, asked := strings.Cut(rest, "?")
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		rest = mask + rest[i:]
	}
	if asked {
		rest += "?" + maskQuery(query)
	}
	if ok {
		return scheme + "://" + rest
	}
	return rest
}
