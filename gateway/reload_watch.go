package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Files are those that the configuration names and New reads.
func (c Config) Files() []string {
	names := []string{c.TLS.Cert, c.TLS.Key}
	if c.Keys.Mode == KeyFile {
		names = append(names, c.Keys.File)
	}
	for _, u := range c.Upstreams {
		names = append(names, u.KeyFile, u.CACert)
	}
	for _, r := range c.Routes {
		if isFile(string(r.Dialect)) {
			names = append(names, string(r.Dialect))
		}
	}
	names = slices.DeleteFunc(names, func(s string) bool { return s == "" })
	slices.Sort(names)
	return slices.Compact(names)
}

// Watch looks at files, again and again, and calls changed when the content of
// one is another than it was, and stayed so from one look to the next: a file
// that is being written is not half read. A signal on now is a change whatever
// the files hold; signalled tells the two apart. It ends with ctx. files is asked
// before every look; a file that comes to be watched is no change.
func Watch(ctx context.Context, every time.Duration, now <-chan os.Signal, files func() []string, changed func(signalled bool)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	known := look(files())
	last := known
	for {
		select {
		case <-ctx.Done():
			return
		case <-now:
			known = look(files()) // before they are read: what changes from here on is seen
			last = known
			changed(true)
			continue
		case <-tick.C:
		}
		seen := look(files())
		for name, mark := range seen {
			if _, ok := known[name]; !ok {
				known[name], last[name] = mark, mark
			}
		}
		if differ(seen, known) && !differ(seen, last) {
			known = seen
			changed(false)
		}
		last = seen
	}
}

// look takes the files' fingerprints.
func look(files []string) map[string]string {
	prints := map[string]string{}
	for _, name := range files {
		prints[name] = fingerprint(name)
	}
	return prints
}

// differ reports whether a file that both know has another fingerprint.
func differ(a, b map[string]string) bool {
	for name, mark := range a {
		if other, ok := b[name]; ok && mark != other {
			return true
		}
	}
	return false
}

// mostHashed is how much of a file is looked at; of what follows only the size
// and the time of the last change are.
const mostHashed = 1 << 20

// fingerprint is another one when the content is: a file that was merely
// touched has not changed, one replaced within the clock's resolution has.
func fingerprint(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return reasonOf(err)
	}
	defer f.Close() //nolint:errcheck // only read: closing can lose nothing
	info, err := f.Stat()
	if err != nil {
		return reasonOf(err)
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, mostHashed)); err != nil {
		return reasonOf(err)
	}
	if info.Size() > mostHashed {
		fmt.Fprint(h, info.Size(), info.ModTime().UnixNano())
	}
	return string(h.Sum(nil))
}

func reasonOf(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}
