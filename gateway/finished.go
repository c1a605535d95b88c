package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"weir/stream"
)

// keepFinished is how many finished requests can be looked up.
const keepFinished = 2048

// finished keeps what came of the last requests, for those who made them.
type finished struct {
	mu   sync.Mutex
	byID map[finishedKey]*summary
	ring [keepFinished]*summary
	next int
}

// finishedKey is whose request it was, and its id: which others may use as well.
type finishedKey struct {
	principal principal
	id        string
}

func (sum *summary) key() finishedKey { return finishedKey{sum.principal, sum.RequestID} }

func newFinished() *finished { return &finished{byID: map[finishedKey]*summary{}} }

// add keeps a request; of those with one id the one that ended last.
func (f *finished) add(s *summary) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.ring[f.next]; old != nil && f.byID[old.key()] == old {
		delete(f.byID, old.key())
	}
	f.ring[f.next] = s
	f.next = (f.next + 1) % keepFinished
	f.byID[s.key()] = s
}

func (f *finished) find(id string, p principal) *summary {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byID[finishedKey{p, id}]
}

// summary is a finished request as GET /weir/records/{id} tells it: no text,
// no key. Times are milliseconds since the request came.
type summary struct {
	principal principal
	firstSent stream.Maybe[time.Duration] // since t0
	fail      *failure                    // why the gateway ended it

	RequestID   string            `json:"request_id"`
	GivenID     string            `json:"given_id,omitempty"`          // the client's x-request-id, where it could not be used
	ClientID    string            `json:"client_request_id,omitempty"` // its x-client-request-id
	UpstreamID  string            `json:"upstream_id,omitempty"`
	BodyID      string            `json:"body_id,omitempty"`
	TraceParent string            `json:"traceparent,omitempty"`
	StreamID    string            `json:"stream_id,omitempty"`
	Start       time.Time         `json:"start"`
	Route       string            `json:"route"`
	Upstream    string            `json:"upstream"`
	Target      string            `json:"target,omitempty"`
	Dialect     string            `json:"dialect,omitempty"`
	Model       string            `json:"model,omitempty"`
	Streamed    bool              `json:"streamed"`
	Status      int               `json:"status,omitempty"`
	Attempts    int               `json:"attempts"`
	Outcome     stream.Outcome    `json:"outcome"`
	Reason      string            `json:"reason,omitempty"`
	Proof       string            `json:"end_proof,omitempty"`
	Finish      string            `json:"finish,omitempty"`
	Terminal    string            `json:"terminal_frame,omitempty"`
	Phases      phasesMs          `json:"phases"`
	Usage       *stream.Usage     `json:"usage,omitempty"`
	Generated   Amount            `json:"generated"`
	Delivered   Amount            `json:"delivered"`
	Saved       stream.Maybe[int] `json:"saved_tokens_at_most,omitzero"` // by cancelling
	Notes       []string          `json:"notes,omitempty"`
	Extra       map[string]string `json:"extra,omitempty"`
}

// phasesMs are the phases of a request; null = not reached, or not known.
type phasesMs struct {
	Queue       stream.Maybe[float64] `json:"queue_ms"`
	Auth        stream.Maybe[float64] `json:"auth_ms"`
	Route       stream.Maybe[float64] `json:"route_ms"`
	Worker      stream.Maybe[float64] `json:"worker_queue_ms"` // an edge's: until a worker had it
	Connect     stream.Maybe[float64] `json:"connect_ms"`
	Headers     stream.Maybe[float64] `json:"headers_ms"`
	FirstOutput stream.Maybe[float64] `json:"ttft_ms"`
	Relay       stream.Maybe[float64] `json:"relay_ms"`
	Total       stream.Maybe[float64] `json:"total_ms"`
}

func ms(d stream.Maybe[time.Duration]) stream.Maybe[float64] {
	v, ok := d.Get()
	if !ok {
		return stream.None[float64]()
	}
	return stream.Some(float64(v.Microseconds()) / 1000)
}

// serveRecord tells a caller what came of a request of its own.
func (g *Gateway) serveRecord(w http.ResponseWriter, r *http.Request) {
	id := identify(r)
	if !g.keys.admits(id.principal) {
		g.unauthorized(w, r, id)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	s := g.done.find(r.PathValue("id"), id.principal)
	if s == nil {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"message":"no finished request of this id is known","type":"not_found"}}`+"\n")
		return
	}
	_ = json.NewEncoder(w).Encode(s) // a client that left needs no answer
}
