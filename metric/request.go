package metric

import (
	"strings"

	"weir/stream"
)

// Request is one request with its answers joined (METRICS §3).
type Request struct {
	ID      string // without the answer's index
	Answers []*stream.Record
	TTFT    Value          // of its first answer to speak
	Outcome stream.Outcome // of its worst answer
}

// Requests joins the answers of each request, in the order in which the
// requests first appear. Answers belong together if run, hop and request id do.
func Requests(records []*stream.Record) []Request {
	var out []Request
	at := map[[3]string]int{}
	for _, r := range records {
		key := [3]string{r.Run, r.Hop, RequestID(r)}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, Request{ID: key[2], Outcome: r.Outcome})
		}
		q := &out[i]
		q.Answers = append(q.Answers, r)
		q.Outcome = stream.Worst(q.Outcome, r.Outcome)
		v := newView(r)
		q.TTFT = earliest(q.TTFT, v.scheduled(v.ttft()))
	}
	return out
}

// RequestID is the id of the request an answer belongs to: of one answer of
// several "id#index" without the index.
func RequestID(r *stream.Record) string {
	if i := strings.LastIndexByte(r.RequestID, '#'); i > 0 && r.Choices > 1 {
		return r.RequestID[:i]
	}
	return r.RequestID
}

// earliest is the mark of two answers together: reached when the first of them
// reached it, else known to exceed the longer wait, else never.
func earliest(a, b Value) Value {
	rank := map[State]int{Reached: 3, Over: 2, Never: 1, Missing: 0}
	switch {
	case rank[a.Is] != rank[b.Is]:
		if rank[a.Is] > rank[b.Is] {
			return a
		}
		return b
	case a.Is == Reached && b.V < a.V, a.Is == Over && b.V > a.V:
		return b
	}
	return a
}
