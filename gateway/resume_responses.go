package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"weir/relay"
	"weir/wire"
)

// ownResponse is a path of a service of which the gateway answers some requests.
const ownResponse = "/v1/responses/{id}"

// serveResponse is OpenAI's own way to go on with an answer: GET
// /v1/responses/ID?stream=true&starting_after=N, where N is the
// sequence_number of the last event. An answer that is not kept here is asked
// of the upstream, as every other request; where that cannot be told, it is not:
// the upstream knows nothing of a stream that runs.
func (g *Gateway) serveResponse(w http.ResponseWriter, r *http.Request) {
	came, q, id := time.Now(), r.URL.Query(), identify(r)
	streamed := q.Get("stream") == "true" || q.Has("starting_after") // openai-go says stream in the body of its GET
	if !streamed || !g.keys.admits(id.principal) {
		g.serve(w, r)
		return
	}
	to, _, err := g.keptElsewhere(r.Context(), aliasOf(id.principal, r.PathValue("id")), id.principal)
	var head streamHead
	var state relay.State
	if err == nil {
		head, state, err = g.keptElsewhere(r.Context(), to.Stream, id.principal)
	}
	if err != nil {
		if f := sharedFailure(err); f != nil && r.Context().Err() == nil {
			g.answerOwn(w, r, ownResponse, came, func(w http.ResponseWriter, _ *http.Request) { refuseOwn(w, id, f) })
			return
		}
		g.serve(w, r)
		return
	}
	g.answerOwn(w, r, ownResponse, came, func(w http.ResponseWriter, r *http.Request) {
		f := &follower{g: g, w: w, id: id, stream: to.Stream, head: head, newest: state.Last.Offset}
		f.serveResponse(r, state)
	})
}

// serveResponse goes on with an answer after the event that the request names.
func (f *follower) serveResponse(r *http.Request, state relay.State) {
	q := r.URL.Query()
	f.stamps = one(r.Header, "Weir-Resume") == "1"
	if q.Has("starting_after") {
		n, err := relay.ParseOffset(q.Get("starting_after"))
		if err != nil {
			refuseOwn(f.w, f.id, &failure{reason: "bad_position", text: "starting_after is " + err.Error(), status: http.StatusBadRequest})
			return
		}
		if f.at, err = afterNumber(r.Context(), f.g.o.Log, f.stream, state, n); err != nil {
			f.refuse(err)
			return
		}
	}
	f.serve(r)
}

// afterNumber is the position after the event that the service numbered n. The
// service counts from 0 and the log from 1, so it is there at once as a rule;
// where it is not, the entries are looked through.
func afterNumber(ctx context.Context, log relay.Log, stream string, s relay.State, n int64) (relay.Position, error) {
	guess := relay.Position{Epoch: s.Last.Epoch, Offset: n}
	if s.First.Offset <= n && n < s.Last.Offset {
		for e, err := range log.After(ctx, stream, guess) {
			if err != nil {
				return relay.Position{}, err
			}
			if got, ok := sequenceNumber(e.Frame); ok && got == n {
				return e.Position, nil
			}
			break
		}
	}
	if s.First.Offset < s.Last.Offset {
		for e, err := range log.After(ctx, stream, s.First) {
			if err != nil {
				return relay.Position{}, err
			}
			if got, ok := sequenceNumber(e.Frame); ok && got == n {
				return e.Position, nil
			}
			if e.Offset >= s.Last.Offset {
				break // what comes is not to be waited for
			}
		}
	}
	return relay.Position{}, &relay.GapError{Asked: relay.Position{Epoch: s.Last.Epoch, Offset: n}, First: s.First, Last: s.Last}
}

// responseID is the id of the answer that an event is of; "" where it says none.
func responseID(event []byte) string {
	var body struct {
		Response struct {
			ID string `json:"id"`
		} `json:"response"`
	}
	if !decodeData(event, &body) || len(body.Response.ID) > 256 {
		return ""
	}
	return body.Response.ID
}

// sequenceNumber is the service's own number of an event.
func sequenceNumber(event []byte) (int64, bool) {
	var body struct {
		Number *int64 `json:"sequence_number"`
	}
	if !decodeData(event, &body) || body.Number == nil {
		return 0, false
	}
	return *body.Number, true
}

// decodeData reads the JSON data of an SSE event.
func decodeData(event []byte, into any) bool {
	d, err := wire.New("sse", wire.Options{FrameLimit: len(event) + 1})
	if err != nil {
		return false
	}
	ok := false
	err = d.Feed(event, func(f wire.Frame) {
		if f.Kind == wire.Event && bytes.HasPrefix(f.Data, []byte("{")) {
			ok = json.Unmarshal(f.Data, into) == nil
		}
	})
	return ok && !errors.Is(err, wire.ErrFrameTooLarge)
}
