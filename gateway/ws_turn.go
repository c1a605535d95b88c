package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"

	"weir/relay"
	"weir/ws"
)

// turn is a stream as the client calls it, and what its next turn needs. All
// but what is below mu is the reading goroutine's.
type turn struct {
	id     string
	n      int // 1, and one more with each append
	method string
	path   string
	header http.Header
	body   []byte // of the last question; nil = not kept
	resume bool   // a resume: it has no next turn

	running bool // below the socket's mu

	mu      sync.Mutex
	stop    context.CancelCauseFunc
	stopped bool // the client cancelled it
	left    bool // the client left it
	session *session
	stream  string // the gateway's id, where it is known
}

// mostTurns is how many streams that ended are remembered for a next turn.
const mostTurns = 64

// start begins a stream.
func (s *socket) start(m *ws.Start) *no {
	t := &turn{id: m.ID, n: 1, method: m.Method, path: m.Path, header: http.Header{}}
	if t.method == "" {
		t.method = http.MethodPost
	}
	if n := s.nameFree(m.ID); n != nil {
		return n
	}
	if n := t.check(m.Headers); n != nil {
		return n
	}
	if r := findRoute(s.g.routes, pathOf(m.Path)); m.Resume || r != nil && r.Resume.Enabled {
		t.header.Set("Weir-Resume", "1")
	}
	s.remember(t)
	return s.ask(t, m.Body)
}

func pathOf(target string) string {
	path, _, _ := strings.Cut(target, "?")
	return path
}

// nameFree refuses a name that cannot be one, or is one of a stream that runs.
func (s *socket) nameFree(id string) *no {
	if !ws.GoodID(id) {
		return &no{"bad_id", "id must be 1 to 64 of A-Z a-z 0-9 . _ -"}
	}
	if t := s.turns[id]; t != nil && s.runs(t) {
		return &no{"busy", "a stream of this id runs; wait for its end, or take another"}
	}
	return nil
}

// check takes the headers, and refuses what no client may ask for.
func (t *turn) check(headers map[string]string) *no {
	u, err := url.ParseRequestURI(t.path)
	switch {
	case err != nil || !strings.HasPrefix(t.path, "/"):
		return &no{"bad_path", "path must begin with / and be one that HTTP can carry"}
	case strings.HasPrefix(u.Path, ownPrefix):
		return &no{"bad_path", "paths below " + ownPrefix + " are the gateway's own; resume has a message of its own"}
	case u.Query().Has("key"):
		return &no{"key_in_path", "a key stands in no path: show it in the handshake's header, or in auth"}
	case !httpguts.ValidHeaderFieldName(t.method):
		return &no{"bad_method", "that is no method"}
	}
	for name, v := range headers {
		key := textproto.CanonicalMIMEHeaderKey(name)
		own := key == "X-Request-Id" || key == "Traceparent" || key == "Tracestate"
		switch {
		case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(v):
			return &no{"bad_header", fmt.Sprintf("header %.40q is none that HTTP can carry", name)}
		case isKeyHeader(key):
			return &no{"bad_header", key + " belongs to the socket: show the key in its handshake, or in auth"}
		case neverForwarded(key) && !own, len(t.header[key]) > 0:
			return &no{"bad_header", fmt.Sprintf("header %.40q cannot be set here, or stands here twice", name)}
		}
		t.header[key] = []string{v}
	}
	if t.header["Content-Type"] == nil {
		t.header.Set("Content-Type", "application/json")
	}
	return nil
}

// append asks the next question of a stream that has ended.
func (s *socket) append(m *ws.Append) *no {
	t := s.turns[m.ID]
	switch {
	case t == nil || t.resume:
		return &no{"unknown_id", "no stream of this id was started on this socket, or it is forgotten; start it"}
	case s.runs(t):
		return &no{"busy", "the turn before has not ended"}
	case (m.Body == nil) == (m.Add == nil):
		return &no{"bad_append", "give body or add"}
	}
	body := []byte(m.Body)
	if m.Add != nil {
		if t.body == nil {
			return &no{"not_kept", "the last body is not kept; give the whole body"}
		}
		var err error
		if body, err = addTo(t.body, m.Add); err != nil {
			return &no{"bad_append", err.Error()}
		}
	}
	t.header.Del("X-Request-Id") // of the turn before
	t.n++
	return s.ask(t, body)
}

// ask sends the question of a turn on its way.
func (s *socket) ask(t *turn, body []byte) *no {
	s.keep(t, body)
	ctx, stop := context.WithCancelCause(s.ctx)
	r, err := s.request(ctx, t.method, t.path, body)
	if err != nil {
		stop(nil)
		return &no{"bad_path", "the request cannot be made of it"}
	}
	for name, v := range t.header {
		r.Header[name] = v
	}
	s.launch(t, stop, r, &turnWriter{s: s, t: t, n: t.n, header: http.Header{}})
	return nil
}

// request makes what a client of HTTP would have sent.
func (s *socket) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Host, r.RemoteAddr, r.RequestURI = s.host, s.remote, path
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	for name, v := range s.keys {
		r.Header[name] = v
	}
	return r, nil
}

// keep holds on to a body for the next turn, as long as all of a socket's are
// no more than one request may be.
func (s *socket) keep(t *turn, body []byte) {
	s.kept -= int64(len(t.body))
	t.body = nil
	if s.kept+int64(len(body)) <= int64(s.g.c.Limits.Body) {
		t.body = body
		s.kept += int64(len(body))
	}
}

// remember makes a turn known by its name, and forgets the oldest that ended.
func (s *socket) remember(t *turn) {
	if s.turns == nil {
		s.turns = map[string]*turn{}
	}
	if old := s.turns[t.id]; old != nil {
		s.kept -= int64(len(old.body))
	} else {
		s.order = append(s.order, t.id)
	}
	s.turns[t.id] = t
	for i := 0; i < len(s.order) && len(s.order) > mostTurns; {
		old := s.turns[s.order[i]]
		if old == t || s.runs(old) {
			i++
			continue
		}
		s.kept -= int64(len(old.body))
		delete(s.turns, old.id)
		s.order = append(s.order[:i], s.order[i+1:]...)
	}
}

// resume goes on with a stream.
func (s *socket) resume(m *ws.Resume) *no {
	if n := s.nameFree(m.ID); n != nil {
		return n
	}
	switch {
	case relay.CheckStream(m.Stream) != nil:
		return &no{"bad_stream", "stream is not one that an open named"}
	case m.After < 0, m.After > 0 && m.LastEventID != "":
		return &no{"bad_position", "give after, a number from 0, or last_event_id"}
	case m.LastEventID != "" && !httpguts.ValidHeaderFieldValue(m.LastEventID):
		return &no{"bad_position", "last_event_id is not an id of an event"}
	}
	path := ownPrefix + "streams/" + m.Stream
	w := &turnWriter{s: s, header: http.Header{}, n: 1, follows: true, seq: m.After}
	if m.LastEventID == "" {
		path += "?after=" + strconv.FormatInt(m.After, 10)
	} else if _, p, err := relay.ParseID(m.LastEventID); err == nil {
		w.seq = p.Offset
	}
	w.t = &turn{id: m.ID, n: 1, resume: true, stream: m.Stream}
	ctx, stop := context.WithCancelCause(s.ctx)
	r, err := s.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		stop(nil)
		return &no{"bad_stream", "stream is not one that an open named"}
	}
	r.Header.Set("Weir-Resume", "1")
	if m.LastEventID != "" {
		r.Header.Set("Last-Event-Id", m.LastEventID)
	}
	s.remember(w.t)
	s.launch(w.t, stop, r, w)
	return nil
}

// launch has the handler of all requests answer one, on a goroutine of its own.
func (s *socket) launch(t *turn, stop context.CancelCauseFunc, r *http.Request, w *turnWriter) {
	s.mu.Lock()
	full := s.active >= s.g.c.WS.Streams
	draining := s.draining
	if !full && !draining {
		s.active++
		t.running = true
	}
	s.mu.Unlock()
	if full || draining {
		stop(nil)
		f := &failure{reason: "overloaded_socket", text: "this socket has as many streams as it may; wait for the end of one", status: http.StatusTooManyRequests, retryable: true}
		if draining {
			f = &failure{reason: "draining", text: "the gateway is closing and takes no new requests", status: http.StatusServiceUnavailable, retryable: true, after: comeAgain()}
		}
		s.g.see.MessageRefused(f.reason)
		w.refused(f)
		_ = s.send(w.end(false)) // a socket that is gone needs no end
		return
	}
	t.begin(stop)
	s.started++
	s.streams.Go(func() {
		defer s.guard()
		defer stop(nil)
		s.done(t, w.end(s.serve(w, r)))
	})
}

// serve answers; it reports whether the answer was cut.
func (s *socket) serve(w *turnWriter, r *http.Request) (broke bool) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		broke = true
		if p != http.ErrAbortHandler { //nolint:errorlint // it is a value of a panic
			s.g.crashed("socket", w.requestID, p)
			w.lost(errInternal)
		}
	}()
	s.handler.ServeHTTP(w, r)
	w.finish()
	return false
}

// done tells the end of a stream and gives its place back: under the lock, so
// that neither a question that follows the end finds it busy, nor a drain closes
// the socket before it. It closes a socket that only waited for it.
func (s *socket) done(t *turn, end ws.End) {
	s.mu.Lock()
	_ = s.send(end) // a socket that is gone needs no end
	s.active--
	t.running = false
	last := s.draining && s.active == 0
	s.mu.Unlock()
	if last {
		s.shut(ws.Drain, comeAgain())
	}
}

// stopTurn ends a stream for everybody, or leaves it.
func (s *socket) stopTurn(id string, all bool) *no {
	t := s.turns[id]
	if t == nil || !s.runs(t) {
		return &no{"unknown_id", "no stream of this id runs on this socket"}
	}
	t.mu.Lock()
	t.stopped, t.left = t.stopped || all, t.left || !all
	stop, session, stream := t.stop, t.session, t.stream
	t.mu.Unlock()
	switch {
	case !all:
		stop(errClientGone)
	case session != nil:
		session.end(errStopped)
	case t.resume:
		s.stopElsewhere(stream)
		stop(errClientGone)
	default:
		stop(errClientGone) // it has no place yet
	}
	return nil
}

// stopElsewhere stops a stream that another request began.
func (s *socket) stopElsewhere(stream string) {
	r, err := s.request(s.ctx, http.MethodPost, ownPrefix+"streams/"+stream+"/stop", nil)
	if err != nil {
		return
	}
	s.handler.ServeHTTP(nowhere{}, r)
}

// nowhere is a ResponseWriter whose answer nobody waits for.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) WriteHeader(int)             {}

func (s *socket) runs(t *turn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.running
}

func (t *turn) begin(stop context.CancelCauseFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped, t.left, t.session, t.stop = false, false, nil, stop
}

// addTo adds elements to lists at the top of a JSON object. Everything else of
// it stays byte for byte.
func addTo(body []byte, add map[string][]json.RawMessage) ([]byte, error) {
	out := bytes.Clone(body)
	for name, elements := range add {
		at, empty, err := listEnd(out, name)
		if err != nil {
			return nil, err
		}
		var piece []byte
		for _, e := range elements {
			if !empty {
				piece = append(piece, ',')
			}
			piece, empty = append(piece, e...), false
		}
		out = append(out[:at:at], append(piece, out[at:]...)...)
	}
	return out, nil
}

// listEnd finds the bracket that ends the list of a name.
func listEnd(body []byte, name string) (at int, empty bool, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return 0, false, errors.New("the last body is no JSON object")
	}
	at = -1
	for d.More() {
		key, err := d.Token()
		var v json.RawMessage
		if err == nil {
			err = d.Decode(&v)
		}
		if err != nil {
			return 0, false, errors.New("the last body is no JSON object")
		}
		if key == name && len(v) > 1 && v[0] == '[' {
			at, empty = int(d.InputOffset())-1, len(bytes.TrimSpace(v[1:len(v)-1])) == 0
		}
	}
	if _, err := d.Token(); errors.Is(err, io.ErrUnexpectedEOF) || at < 0 {
		return 0, false, fmt.Errorf("the last body has no list %.40q", name)
	}
	return at, empty, nil
}
