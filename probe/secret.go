package probe

import (
	"net/http"
	"net/url"
	"sort"
	"strings"

	"weir/dialect"
)

// mask stands where a secret was.
const mask = "***"

// secretQuery are the query parameters that carry credentials.
var secretQuery = []string{
	"key", "api_key", "api-key", "apikey", "token", "access_token", "auth", "authorization",
	"sig", "signature", "secret", "password", "code",
}

// secretHeaders are the request headers whose values are credentials.
var secretHeaders = []string{
	"Authorization", "Proxy-Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Cookie",
	"Ocp-Apim-Subscription-Key", "X-Auth-Token",
}

// Target is a URL as records and reports may show it: without user and
// password, with the values of secret query parameters masked.
func Target(u *url.URL) string {
	v := *u
	v.User, v.Fragment, v.RawFragment = nil, "", ""
	v.RawQuery = maskQuery(u.RawQuery)
	return v.String()
}

// maskQuery keeps the query's order and spelling.
func maskQuery(q string) string {
	parts := strings.Split(q, "&")
	for i, p := range parts {
		name, value, ok := strings.Cut(p, "=")
		if plain, err := url.QueryUnescape(name); err == nil && ok && value != "" && isSecretQuery(plain) {
			parts[i] = name + "=" + mask
		}
	}
	return strings.Join(parts, "&")
}

func isSecretQuery(name string) bool {
	for _, s := range secretQuery {
		if strings.EqualFold(s, name) {
			return true
		}
	}
	return false
}

// scrubber takes the secrets of one request out of texts.
type scrubber struct{ r *strings.Replacer }

// newScrubber gathers the secrets of a request: the key, the values of the
// headers that carry credentials, of the URL's user and of its secret
// parameters. Values under four characters would mask ordinary text.
func newScrubber(a dialect.Ask, req *http.Request) scrubber {
	set := map[string]bool{}
	add := func(s string) {
		if len(s) >= 4 {
			set[s], set[url.QueryEscape(s)], set[url.PathEscape(s)] = true, true, true
		}
	}
	add(a.APIKey)
	for _, name := range secretHeaders {
		for _, v := range req.Header.Values(name) {
			add(v)
			if _, token, ok := strings.Cut(v, " "); ok {
				add(token)
			}
		}
	}
	addURL(req.URL, add)
	if u, err := url.Parse(a.URL); err == nil {
		addURL(u, add)
	}
	return scrubber{replacer(set)}
}

func addURL(u *url.URL, add func(string)) {
	if p, ok := u.User.Password(); ok {
		add(p)
		add(u.User.String())
	}
	for name, values := range u.Query() {
		if !isSecretQuery(name) {
			continue
		}
		for _, v := range values {
			add(v)
		}
	}
}

// replacer masks the longest secrets first: one may hold another.
func replacer(set map[string]bool) *strings.Replacer {
	list := make([]string, 0, len(set))
	for s := range set {
		list = append(list, s)
	}
	sort.Slice(list, func(i, j int) bool { return len(list[i]) > len(list[j]) })
	pairs := make([]string, 0, 2*len(list))
	for _, s := range list {
		pairs = append(pairs, s, mask)
	}
	return strings.NewReplacer(pairs...)
}

func (s scrubber) clean(text string) string { return s.r.Replace(text) }
