package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
)

// withoutURL takes the URL, which may hold credentials, out of an error.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// describe is an error's text without what only repeats the target.
func describe(err error) string { return withoutURL(err).Error() }

func isTimeout(err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var n net.Error
	return errors.As(err, &n) && n.Timeout() || errors.Is(err, context.Canceled)
}

func isGzip(err error) bool {
	var g *gzipError
	return errors.As(err, &g)
}

// complaint describes a response that is no stream: its status, its type, and
// what it says.
func (o *observer) complaint() string {
	f := &o.x.rec.Facts
	text := fmt.Sprintf("HTTP %d %s", f.Status, http.StatusText(f.Status))
	if f.ContentType != "" {
		text += ", " + f.ContentType
	}
	switch f.ContentEncoding {
	case "", "identity", "gzip", "x-gzip":
	default:
		text += ", in content-encoding " + f.ContentEncoding + ", which was not asked for"
	}
	if said := message([]byte(o.said())); said != "" {
		text += ": " + said
	}
	if to := o.res.Header.Get("Location"); to != "" {
		text += " (it points to " + locationOf(to) + ")"
	}
	return text
}

func locationOf(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "a malformed address"
	}
	return Target(u)
}

// maxMessage bounds what a response says of its error, in bytes.
const maxMessage = 300

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// message finds what a body says of an error: the usual JSON members, the
// title of a page, else its first line.
func message(body []byte) string {
	var v any
	if json.Unmarshal(body, &v) == nil {
		if s := jsonMessage(v, 0); s != "" {
			return oneLine(s)
		}
	}
	if m := htmlTitle.FindSubmatch(body); m != nil {
		return oneLine(string(m[1]))
	}
	return oneLine(string(body[:min(len(body), startSize)]))
}

var messageKeys = []string{"error", "message", "detail", "error_msg", "msg", "title"}

func jsonMessage(v any, depth int) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		if len(v) > 0 && depth < 4 {
			return jsonMessage(v[0], depth+1)
		}
	case map[string]any:
		for _, key := range messageKeys {
			if depth < 4 {
				if s := jsonMessage(v[key], depth+1); s != "" {
					return s
				}
			}
		}
	}
	return ""
}

// oneLine folds white space and drops control characters, so that a foreign
// body cannot draw on a terminal.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " ")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, s)
	return clip(s, maxMessage)
}

// said is the beginning of the body without secrets, which are taken out before
// anything is cut: half a key is still a secret.
func (o *observer) said() string {
	return o.x.scrub.clean(strings.ToValidUTF8(string(o.first), "\ufffd"))
}

// start is what the record keeps of a body that was no stream.
func (o *observer) start() string { return clip(o.said(), startSize) }
