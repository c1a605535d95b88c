package rig

import (
	"time"

	"weir/report"
	"weir/stat"
	"weir/stream"
)

// Report sums a join up. The quantiles are over the requests that have
// network_and_relay, so that the three belong together.
func (j HopsJoin) Report() report.HopsJoin {
	r := report.HopsJoin{Joined: len(j.Pairs), ClientOnly: j.ClientOnly, GatewayOnly: j.GatewayOnly, Ambiguous: j.Ambiguous, Left: map[string]int{}}
	var relay, ttft, sent []stat.Sample
	for _, p := range j.Pairs {
		q := report.HopsRequest{RequestID: p.ID, Conn: p.Client.Main().Conn, Why: p.Why, TTFTSent: orNil(p.Client.FirstOutput()),
			FirstSent: orNil(p.Gateway.FirstSent()), NetworkAndRelay: orNil(p.NetworkAndRelay)}
		if p.Why != "" {
			r.Left[p.Why]++
		} else {
			relay, ttft, sent = append(relay, stat.At(*q.NetworkAndRelay)), append(ttft, stat.At(*q.TTFTSent)), append(sent, stat.At(*q.FirstSent))
		}
		r.Requests = append(r.Requests, q)
	}
	r.NetworkAndRelay, r.ClientTTFT, r.GatewayFirstSent = stat.Summarize(relay), stat.Summarize(ttft), stat.Summarize(sent)
	return r
}

func orNil(d stream.Maybe[time.Duration]) *float64 {
	v, ok := d.Get()
	if !ok {
		return nil
	}
	x := msOf(v)
	return &x
}
