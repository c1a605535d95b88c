package rig

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/metric"
	"weir/stream"
)

// Side is one party's account of a request: the records of its answers, by its
// own clock.
type Side struct {
	Answers []*stream.Record
	Gateway bool // it is a gateway's, which received the request as well as sending one
}

// Main is the record of the answer that spoke first, else the first.
func (s Side) Main() *stream.Record {
	best := s.Answers[0]
	at, spoke := firstOutput(best)
	for _, r := range s.Answers[1:] {
		if t, ok := firstOutput(r); ok && (!spoke || t < at) {
			best, at, spoke = r, t, true
		}
	}
	return best
}

// Before is the time from the request to the first of the record's times: for a
// gateway what passed before its last attempt.
func (s Side) Before() time.Duration {
	if !s.Gateway {
		return 0
	}
	return s.Main().Lateness.Or(0)
}

// Came is when the request was sent, or came to the gateway, on the party's
// wall clock; zero = not known.
func (s Side) Came() time.Time {
	if r := s.Main(); !r.Start.IsZero() {
		return r.Start.Add(-s.Before())
	}
	return time.Time{}
}

// Span is from the request to the end, or to the last thing that is known.
func (s Side) Span() time.Duration {
	var last time.Duration
	for _, r := range s.Answers {
		last = max(last, r.End.Or(0))
		if n := len(r.Events); n > 0 {
			last = max(last, r.Events[n-1].At)
		}
	}
	return s.Before() + last
}

// FirstSent is when a gateway was about to write its first output to its
// client, since the request came; missing where it did not note it.
func (s Side) FirstSent() stream.Maybe[time.Duration] {
	v, err := strconv.ParseFloat(s.Main().Facts.Extra["first_sent_ms"], 64)
	if !s.Gateway || err != nil || v < 0 {
		return stream.None[time.Duration]()
	}
	return stream.Some(time.Duration(v * float64(time.Millisecond)))
}

// FirstOutput is when the first output came, since the request.
func (s Side) FirstOutput() stream.Maybe[time.Duration] {
	at, ok := firstOutput(s.Main())
	if !ok {
		return stream.None[time.Duration]()
	}
	return stream.Some(s.Before() + at)
}

func firstOutput(r *stream.Record) (time.Duration, bool) {
	if r.Whole {
		return 0, false
	}
	for i := range r.Events {
		if r.Events[i].Kind.Business() {
			return r.Events[i].At, true
		}
	}
	return 0, false
}

// ByGateway reports whether a gateway wrote the record. A client may call a
// path gateway too, but knows nothing of what was delivered to itself.
func ByGateway(r *stream.Record) bool {
	_, delivered := r.Facts.Extra["bytes_delivered"]
	return r.Hop == "gateway" && delivered
}

// Sides groups the records of several logs by request id and party, in the
// order in which they first appear.
func Sides(records []*stream.Record) map[string][]Side {
	all := map[string][]Side{}
	for _, q := range metric.Requests(records) {
		all[q.ID] = append(all[q.ID], Side{Answers: q.Answers, Gateway: ByGateway(q.Answers[0])})
	}
	for _, sides := range all {
		slices.SortStableFunc(sides, outerFirst)
	}
	return all
}

// outerFirst puts clients before gateways, and of several gateways the one
// whose span is the longest, since it encloses the others.
func outerFirst(a, b Side) int {
	if a.Gateway != b.Gateway {
		if b.Gateway {
			return -1
		}
		return 1
	}
	return cmp.Compare(b.Span(), a.Span())
}

// NetworkAndRelay is ttft_sent by the client's clock less the gateway's time
// from the request to the writing of its first output, by the gateway's:
// a difference of two durations, never of two clocks. Only on warm connections:
// a cold one's ttft holds its making. why says what is missing.
func NetworkAndRelay(client, gateway Side) (d stream.Maybe[time.Duration], why string) {
	none := stream.None[time.Duration]()
	ttft, spoke := client.FirstOutput().Get()
	sent, known := gateway.FirstSent().Get()
	switch {
	case !spoke:
		return none, NoOutput
	case client.Main().Conn != "warm":
		return none, ColdConnection
	case !known:
		return none, NotStamped
	}
	return stream.Some(ttft - sent), ""
}

// Why a request has no network_and_relay.
const (
	NoOutput       = "no_output"
	ColdConnection = "cold_connection"
	NotStamped     = "not_stamped"
)

// HopsJoin is what a client's and a gateway's log have in common.
type HopsJoin struct {
	Pairs       []HopsPair // in the order of the client's log
	ClientOnly  int        // requests of the client that no gateway knows
	GatewayOnly int        // and the other way round
	Ambiguous   int        // requests whose id several of one side have: nobody knows which belong together
}

// HopsPair is one request as both sides saw it.
type HopsPair struct {
	ID              string
	Client, Gateway Side
	NetworkAndRelay stream.Maybe[time.Duration]
	Why             string // why it is missing, "" = it is not
}

// JoinHops joins records of clients and gateways by request id; ok is false
// where one of the two is not there.
func JoinHops(records []*stream.Record) (j HopsJoin, ok bool) {
	var client, gateway bool
	sides := Sides(records)
	seen := map[string]bool{}
	for _, r := range records {
		id, _, _ := strings.Cut(r.RequestID, "#")
		if seen[id] {
			continue
		}
		seen[id] = true
		c, g := split(sides[id])
		client, gateway = client || len(c) > 0, gateway || len(g) > 0
		switch {
		case len(c) > 1 || len(g) > 1:
			j.Ambiguous++
		case len(g) == 0:
			j.ClientOnly++
		case len(c) == 0:
			j.GatewayOnly++
		default:
			p := HopsPair{ID: id, Client: c[0], Gateway: g[0]}
			p.NetworkAndRelay, p.Why = NetworkAndRelay(p.Client, p.Gateway)
			j.Pairs = append(j.Pairs, p)
		}
	}
	return j, client && gateway
}

func split(sides []Side) (clients, gateways []Side) {
	for _, s := range sides {
		if s.Gateway {
			gateways = append(gateways, s)
		} else {
			clients = append(clients, s)
		}
	}
	return clients, gateways
}
