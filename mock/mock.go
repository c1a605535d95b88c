package mock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxBody bounds a request body, in bytes.
const maxBody = 64 << 20

// Options of a mock; the zero value answers on loopback with Default.
type Options struct {
	Listen      string        // address; "" = 127.0.0.1 and a free port
	TLS         bool          // makes a certificate of its own; adds HTTP/2 by ALPN
	Set         string        // default behaviour, "ttft=200ms,n=10"
	Truth       io.Writer     // truth log, or nil
	FreezeEvery time.Duration // the whole server stops once in this time …
	FreezeFor   time.Duration // … for this long; both or neither
}

// Stats counts the answers asked for; requests refused with 400 are not in it.
type Stats struct {
	Active    int64 `json:"active"`
	Started   int64 `json:"started"`
	Completed int64 `json:"completed"` // played to the end, faults included
	Cancelled int64 `json:"cancelled"` // the client left first
}

// Mock is the provider behind the server: an http.Handler.
type Mock struct {
	defaults Behaviour
	truth    *truthLog
	voices   map[string]voice
	gate     *gate
	mux      *http.ServeMux
	stop     context.CancelFunc
	running  sync.WaitGroup
	requests atomic.Int64

	active, started, completed, cancelled atomic.Int64
}

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	if _, err := o.defaults(); err != nil {
		return err
	}
	if (o.FreezeEvery > 0) != (o.FreezeFor > 0) || o.FreezeFor < 0 || o.FreezeFor > 0 && o.FreezeFor >= o.FreezeEvery {
		return errors.New("a freeze needs a period and a shorter length, both above 0")
	}
	return nil
}

// defaults is the behaviour of requests that say nothing.
func (o Options) defaults() (Behaviour, error) {
	b := Default()
	set, err := parseList(o.Set, "default settings")
	if err == nil {
		err = b.apply(set)
	}
	if err == nil {
		err = b.check()
	}
	return b, err
}

// New makes a mock. Its Handler needs no server of this package. Close it.
func New(o Options) (*Mock, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	m := &Mock{voices: newVoices(), gate: newGate(), mux: http.NewServeMux()}
	m.defaults, _ = o.defaults() // validated
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	if o.FreezeEvery > 0 {
		m.running.Go(func() { m.gate.run(ctx, o.FreezeEvery, o.FreezeFor) })
	}
	if o.Truth != nil {
		m.truth = newTruthLog(o.Truth)
	}
	m.routes()
	return m, nil
}

// Handler answers on the dialects' real paths.
func (m *Mock) Handler() http.Handler { return m.mux }

// Stats counts answers so far.
func (m *Mock) Stats() Stats {
	return Stats{m.active.Load(), m.started.Load(), m.completed.Load(), m.cancelled.Load()}
}

// Close ends freezing and completes the truth log. Streams must have ended.
func (m *Mock) Close() error {
	m.stop()
	m.running.Wait()
	if m.truth != nil {
		if err := m.truth.close(); err != nil {
			return fmt.Errorf("the truth log is incomplete: %w", err)
		}
	}
	return nil
}

func (m *Mock) routes() {
	for _, p := range protocols {
		m.mux.HandleFunc("POST "+p.path, func(w http.ResponseWriter, r *http.Request) { m.answer(w, r, p) })
		if p.name == "article" { // an EventSource can only GET
			m.mux.HandleFunc("GET "+p.path, func(w http.ResponseWriter, r *http.Request) { m.answer(w, r, p) })
		}
	}
	m.mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, 200, jsonOf(object{"object": "list", "data": []any{
			object{"id": "mock", "object": "model", "created": created, "owned_by": "weir"}}}))
	})
	m.mux.HandleFunc("GET /mock/stats", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, 200, jsonOf(m.Stats()))
	})
	m.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, 404, jsonOf(object{"error": object{"message": "no such path here: " + r.URL.Path + "; POST one of " + strings.Join(Paths(), ", ")}}))
	})
}

// Paths lists the paths that answer, in the order of the dialects' table.
func Paths() []string {
	var out []string
	for _, p := range protocols {
		if p.name == "gemini" {
			out = append(out, "/v1beta/models/{model}:streamGenerateContent", "/v1beta/models/{model}:generateContent")
			continue
		}
		out = append(out, p.path)
	}
	return out
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that left needs no answer
}

// answer serves one request of a dialect.
func (m *Mock) answer(w http.ResponseWriter, r *http.Request, p protocol) {
	received := time.Now()
	stood := m.gate.state.Load().total
	id := r.Header.Get("X-Request-Id")
	if id == "" {
		id = "mock_" + strconv.FormatInt(m.requests.Add(1), 10)
	}
	w.Header().Set("X-Request-Id", id)
	w.Header().Set("Server", "weir-mock")
	a, b, err := m.understand(r, p)
	if err != nil {
		writeJSON(w, 400, p.failure(400, err.Error()))
		return
	}
	m.started.Add(1)
	m.active.Add(1)
	done := &m.cancelled
	defer func() { // also when a reset panics
		done.Add(1)
		m.active.Add(-1)
	}()
	if _, err := m.gate.pass(r.Context()); err != nil {
		return
	}
	s := m.session(w, r, p, a, b, id)
	s.start, s.stood, done = received, stood, &m.completed
	if m.play(w, r, s, p, a) != nil {
		done = &m.cancelled
	}
}

// understand reads the request and its behaviour: query beats header beats
// model beats the mock's defaults.
func (m *Mock) understand(r *http.Request, p protocol) (ask, *Behaviour, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return ask{}, nil, fmt.Errorf("the request body broke off: %w", err)
	}
	if len(body) > maxBody {
		return ask{}, nil, fmt.Errorf("the request body is above %d bytes", maxBody)
	}
	var q request
	if len(body) > 0 {
		if err := json.Unmarshal(body, &q); err != nil {
			return ask{}, nil, fmt.Errorf("the request body is not the JSON of %s: %w", p.name, err)
		}
	}
	a, err := p.read(r, q)
	if err != nil {
		return ask{}, nil, err
	}
	b, err := m.behaviour(r, a.asked)
	if err == nil {
		err = p.refuse(b)
	}
	return a, b, err
}

func (m *Mock) behaviour(r *http.Request, model string) (*Behaviour, error) {
	fromModel, err1 := modelSettings(model)
	fromHeader, err2 := parseList(r.Header.Get("X-Weir-Mock"), "x-weir-mock header")
	fromQuery, err3 := parseQuery(r.URL.RawQuery)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	b := m.defaults
	for _, list := range [][]setting{fromModel, fromHeader, fromQuery} {
		if err := b.apply(list); err != nil {
			return nil, err
		}
	}
	return &b, b.check()
}

func (m *Mock) session(w http.ResponseWriter, r *http.Request, p protocol, a ask, b *Behaviour, id string) *session {
	pcg := func(salt uint64) *rand.Rand { return rand.New(rand.NewPCG(b.Seed, salt)) }
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &session{
		ctx: r.Context(), b: b, gate: m.gate, out: newOut(w, b, m.truth, id), timer: timer,
		talk:  p.tell(teller{b: b, ask: a, id: fmt.Sprintf("%016x", pcg(3).Uint64()), start: time.Now()}),
		page:  &page{framing: a.framing, sse: sseForm{CRLF: b.CRLF || b.Cut == "crlf", NoSpace: b.NoSpace}},
		times: pcg(1), says: &speaker{voice: m.voices[b.Lang], rng: pcg(2)},
		nextBeat: b.HeartbeatEvery, nextFlush: b.FlushEvery,
	}
}

// play writes the headers and plays the session; an error is a client that left.
func (m *Mock) play(w http.ResponseWriter, r *http.Request, s *session, p protocol, a ask) error {
	defer s.timer.Stop()
	if s.b.Status >= 400 {
		if after, ok := s.b.RetryAfter.Get(); ok {
			w.Header().Set("Retry-After", strconv.Itoa(int((after+time.Second-1)/time.Second)))
		}
		writeJSON(w, s.b.Status, p.failure(s.b.Status, failMessage))
		return nil
	}
	if s.b.Error == "json200" || s.b.Error == "first200" && !a.streamed {
		writeJSON(w, 200, p.failure(500, failMessage))
		return nil
	}
	h := w.Header()
	h.Set("Content-Type", a.mime)
	if s.b.Gzip != "" && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		s.out.compress()
	}
	play := s.whole
	if a.streamed {
		h.Set("Cache-Control", "no-cache")
		play = s.stream
		w.WriteHeader(http.StatusOK)
		if err := s.out.rc.Flush(); err != nil {
			return err
		}
	}
	if err := play(); err != nil {
		return err
	}
	return s.out.end()
}
