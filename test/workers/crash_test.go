package workers

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/stream"
	"weir/telemetry"
)

// fragile is an observer that fails once, when one of its methods is called.
type fragile struct {
	*telemetry.Gateway
	when atomic.Value
}

func (f *fragile) at(method string) {
	if f.when.CompareAndSwap(method, "") {
		panic(method)
	}
}

func (f *fragile) Queued(a string, d time.Duration, b string) {
	f.at("Queued")
	f.Gateway.Queued(a, d, b)
}
func (f *fragile) Opened(a, b string) { f.at("Opened"); f.Gateway.Opened(a, b) }
func (f *fragile) Relayed(a string, d time.Duration, n, m int) {
	f.at("Relayed")
	f.Gateway.Relayed(a, d, n, m)
}
func (f *fragile) Ended(e stream.Served) { f.at("Ended"); f.Gateway.Ended(e) }

// A worker that fails over one request goes on with the others, and the client
// is told once.
func TestPanicOfAWorker(t *testing.T) {
	for _, when := range []string{"Queued", "Opened", "Relayed"} {
		t.Run(when, func(t *testing.T) {
			up := scripted(t, func(n int, w http.ResponseWriter, r *http.Request) {
				say(w, chat("one"))
				if n == 1 && when != "Queued" { // which is before it is asked
					<-r.Context().Done()
					return
				}
				say(w, chatEnd)
			})
			s := newSite(t, plain, up.url)
			f := &fragile{Gateway: s.count}
			f.when.Store(when)
			s.watch = f
			e, w := s.edge(), s.worker()
			status, body := whole(t, post(t.Context(), t, e.url+chatPath, ask))
			if strings.Count(body, `"reason":"internal"`) != 1 || strings.Contains(body, chatEnd) || (status == 200) != (when != "Queued") {
				t.Errorf("%d %s", status, body)
			}
			if !strings.Contains(w.logs.String(), "the gateway failed") {
				t.Errorf("%s", w.logs)
			}
			if status, body := whole(t, post(t.Context(), t, e.url+chatPath, ask)); status != 200 || body != chat("one")+chatEnd {
				t.Errorf("the next: %d %s", status, body)
			}
		})
	}
}
