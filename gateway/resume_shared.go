package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"weir/relay"
)

// shared is the relay log where other instances have it too; nil elsewhere.
func (g *Gateway) shared() relay.Shared {
	s, _ := g.o.Log.(relay.Shared)
	return s
}

// attend lets other instances stop and follow the streams of this one.
func (s *common) attend(o Options) {
	a := o.attendant
	if a == nil {
		a = attendant{s}
	}
	if log, ok := o.Log.(relay.Shared); ok {
		log.Attend(a)
	}
}

// attendant does what other instances ask. They have checked who asks.
type attendant struct{ all *common }

// Stop implements relay.Attendant.
func (a attendant) Stop(stream string) {
	if l := a.all.streams.any(stream); l != nil {
		l.stop("stopped")
	}
}

// Follow implements relay.Attendant.
func (a attendant) Follow(stream string, delta int) {
	if l := a.all.streams.any(stream); l != nil {
		l.follow(delta)
	}
}

// claims reports whether a stream's client is told that it can resume: while
// other instances cannot have the stream, it is not, though this one would
// serve it. A stream whose upstream has not answered is announced to them.
func (g *Gateway) claims(l *live) bool {
	l.mu.Lock()
	resumable, announce := l.resumable, l.resumable && !l.known && !l.said
	l.said = l.said || announce
	s := g.shared()
	if announce && s != nil {
		if b, err := json.Marshal(headOf(l)); err == nil {
			s.Announce(l.id, b) // under the lock: not after it is settled
			l.retract = func() { s.Retract(l.id) }
		}
	}
	l.mu.Unlock()
	return resumable && (s == nil || s.Up())
}

// awaitElsewhere waits for a stream of another instance whose upstream has not
// answered. Behind workers, another may take over what one that died has begun.
func (g *Gateway) awaitElsewhere(ctx context.Context, stream string, p principal) (streamHead, relay.State, error) {
	ctx, cancel := context.WithTimeout(ctx, mostAwait)
	defer cancel()
	state, err := g.shared().Await(ctx, stream)
	var t takeover
	for g.edge != nil && errors.Is(err, relay.ErrOrphaned) && t.bear(ctx) == nil {
		state, err = g.shared().Await(ctx, stream)
	}
	if ctx.Err() != nil {
		err = relay.ErrPending
	}
	if err != nil {
		return streamHead{}, state, err
	}
	return ownHead(state, p)
}

// takeover is the wait of who reads a stream, of which there is nothing yet, for
// another worker to take it over, as its first client waits; since its worker was
// missed.
type takeover struct{ since time.Time }

// bear waits a little: relay.ErrOrphaned where that has lasted too long.
func (t *takeover) bear(ctx context.Context) error {
	if t.since.IsZero() {
		t.since = time.Now()
	}
	if time.Since(t.since) >= mostTakeover {
		return relay.ErrOrphaned
	}
	return waitFor(ctx, lookAgain)
}

// ownHead is the head of a stream, if this principal opened it: an unknown and
// a foreign one are the same to a caller.
func ownHead(s relay.State, p principal) (h streamHead, _ relay.State, err error) {
	if json.Unmarshal(s.Head, &h) != nil || h.Principal != principalText(p) {
		return streamHead{}, relay.State{}, relay.ErrGone
	}
	return h, s, nil
}

// Reasons of the ends that only streams of several instances have.
const (
	reasonOrphaned = "owner_gone"
	reasonDown     = "relay_unavailable"
)

// sharedFailure is the failure of a relay error that is no gap; nil: it is none
// of those.
func sharedFailure(err error) *failure {
	switch {
	case errors.Is(err, relay.ErrOrphaned), errors.Is(err, errAnother):
		return &failure{reason: reasonOrphaned, text: relay.ErrOrphaned.Error(), status: http.StatusBadGateway, retryable: true}
	case errors.Is(err, relay.ErrDown):
		return &failure{reason: reasonDown, text: relay.ErrDown.Error(), status: http.StatusServiceUnavailable, retryable: true}
	case errors.Is(err, relay.ErrPending):
		return &failure{reason: "not_begun", text: "the stream has not begun; ask again", status: http.StatusServiceUnavailable, retryable: true}
	}
	return nil
}

// stopElsewhere asks the instance that runs a stream to end it: 204 where it
// has, 202 where it was told and its end has not come yet.
func (g *Gateway) stopElsewhere(w http.ResponseWriter, r *http.Request, id identity) {
	stream := r.PathValue("id")
	head, state, err := g.keptElsewhere(r.Context(), stream, id.principal)
	if err == nil && (head.Stream != "" || state.Ended) {
		err = relay.ErrGone
	}
	ended := false
	if err == nil || errors.Is(err, relay.ErrPending) {
		ended, err = g.shared().Stop(r.Context(), stream)
	}
	switch f := sharedFailure(err); {
	case errors.Is(err, relay.ErrOrphaned), err != nil && f == nil:
		refuseOwn(w, id, &failure{reason: "not_found", text: "no such stream is running", status: http.StatusNotFound})
	case err != nil:
		refuseOwn(w, id, f)
	case ended:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte(`{"delivered":true,"ended":false}` + "\n"))
	}
}

// keptElsewhere is a stream in the relay log, if this principal opened it; its
// error is relay.ErrPending where it has not begun. Who may not have it is not
// told that it is there.
func (g *Gateway) keptElsewhere(ctx context.Context, stream string, p principal) (streamHead, relay.State, error) {
	state, err := g.o.Log.Stat(ctx, stream)
	if err != nil && !errors.Is(err, relay.ErrPending) {
		return streamHead{}, state, err
	}
	h, state, own := ownHead(state, p)
	if own != nil {
		return h, state, own
	}
	return h, state, err
}
