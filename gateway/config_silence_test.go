package gateway

import (
	"strings"
	"testing"
	"time"
)

// A tier of silence that is not set makes room for those that are; only act is
// never brought forward: it may end streams.
func TestSilenceTiersFollow(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		yaml string
		want Silence
		err  string
	}{
		{"{}", Silence{3 * s, 10 * s, 30 * s}, ""},
		{"{act: 300ms}", Silence{300 * time.Millisecond, 300 * time.Millisecond, 30 * s}, ""},
		{"{act: 60s}", Silence{3 * s, 60 * s, 60 * s}, ""},
		{"{log: 20s}", Silence{20 * s, 20 * s, 30 * s}, ""},
		{"{log: 0, act: 1s}", Silence{0, s, 30 * s}, ""},
		{"{act: 0, tell: 1s}", Silence{s, 0, s}, ""},
		{"{tell: 20s}", Silence{3 * s, 10 * s, 20 * s}, ""},
		{"{tell: 0}", Silence{3 * s, 10 * s, 0}, ""},
		{"{tell: 5s}", Silence{}, "tell is 5s, below act of 10s"},
		{"{act: 1s, log: 3s}", Silence{}, "act is 1s, below log of 3s"},
		{"{act: -1s}", Silence{}, "silence.act is -1s; it must not be negative"},
	} {
		cfg, err := Load("g.yaml", []byte("upstreams: {main: {urls: [\"http://h\"]}}\nroutes: [{path: \"/*\", upstream: main, silence: "+c.yaml+"}]\n"))
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.yaml, err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.yaml, err)
		case cfg.Routes[0].Silence != c.want:
			t.Errorf("%s: %+v, want %+v", c.yaml, cfg.Routes[0].Silence, c.want)
		}
	}
}
