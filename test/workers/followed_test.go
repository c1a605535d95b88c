package workers

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/relay"
)

// A worker that opened its answer and dies before the first event is not noticed
// by who follows the stream at another edge either: they get what the next
// worker brings.
func TestKilledBeforeOutputWhileFollowed(t *testing.T) {
	for name, c := range map[string]absence{
		"another comes at once":                 {},
		"another comes late":                    {nobody: 4 * time.Second},
		"the follower comes when there is none": {late: 2500 * time.Millisecond, nobody: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killedBeforeOutput(t, c)
		})
	}
}

// absence is for how long there is no worker: before the follower comes, and
// after.
type absence struct{ late, nobody time.Duration }

// killedBeforeOutput kills the only worker; there is none for a while.
func killedBeforeOutput(t *testing.T, c absence) {
	up := scripted(t, func(call int, w http.ResponseWriter, r *http.Request) {
		say(w, "") // the headers
		if call == 1 {
			linger(r)
			return
		}
		say(w, chat("one")+chatEnd)
	})
	s := newSite(t, plain, up.url)
	a, b := s.edge(), s.edge()
	p := s.process(up.url)
	first := post(t.Context(), t, a.url+chatPath, ask, "Weir-Resume", "1")
	defer first.Body.Close()
	if c.late > 0 {
		p.kill()
		time.Sleep(c.late)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/weir/streams/"+first.Header.Get("Weir-Stream"), nil)
	if err != nil {
		t.Fatal(err)
	}
	follower, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Body.Close()
	if follower.StatusCode != http.StatusOK {
		t.Fatalf("the follower was answered %s", follower.Status)
	}
	if c.late == 0 {
		p.kill()
	}
	time.Sleep(c.nobody)
	s.worker()
	for name, body := range map[string]io.Reader{"the client": first.Body, "the follower": follower.Body} {
		got, err := io.ReadAll(body)
		if text := withoutIDs(string(got)); err != nil || !strings.HasSuffix(text, chatEnd) || strings.Count(text, `"one"`) != 1 || strings.Contains(text, "error") {
			t.Errorf("%s got %q, %v", name, text, err)
		}
	}
	if n := up.called(); n != 2 {
		t.Errorf("the service was asked %d times", n)
	}
}

// The service's last event is the log's last entry: a worker that died between
// the two would leave a whole answer, which its readers would take for a cut one
// and end a second time.
func TestTheEndIsOneEntry(t *testing.T) {
	t.Parallel()
	up := scripted(t, func(_ int, w http.ResponseWriter, _ *http.Request) { say(w, chat("one")+chatEnd) })
	s := newSite(t, plain, up.url)
	e, w := s.edge(), s.worker()
	resp := post(t.Context(), t, e.url+chatPath, ask, "Weir-Resume", "1")
	stream := resp.Header.Get("Weir-Stream")
	if _, body := whole(t, resp); !strings.HasSuffix(withoutIDs(body), chatEnd) {
		t.Fatalf("%q", body)
	}
	var frames []string
	for entry, err := range w.log.After(t.Context(), stream, relay.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, string(entry.Frame))
		if last := len(frames) == 3; entry.Terminal != last {
			t.Errorf("entry %d, %q: terminal %t", len(frames), entry.Frame, entry.Terminal)
		}
	}
	if got := strings.Join(frames, ""); got != chat("one")+chatEnd {
		t.Errorf("%q", frames)
	}
}
