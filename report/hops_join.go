package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"weir/stat"
)

// HopsJoin is what the logs of clients and gateways say of the same requests.
type HopsJoin struct {
	Joined      int
	ClientOnly  int            // requests that no gateway's log has
	GatewayOnly int            // and no client's
	Ambiguous   int            // whose id several requests of one side have
	Left        map[string]int // joined requests without network_and_relay, by what is missing
	Requests    []HopsRequest

	NetworkAndRelay, ClientTTFT, GatewayFirstSent stat.Summary // ms
}

// HopsRequest is one joined request, in ms; nil = not known.
type HopsRequest struct {
	RequestID       string   `json:"request_id"`
	Conn            string   `json:"conn"`
	TTFTSent        *float64 `json:"ttft_sent_ms"`
	FirstSent       *float64 `json:"gateway_first_sent_ms"`
	NetworkAndRelay *float64 `json:"network_and_relay_ms"`
	Why             string   `json:"why,omitempty"` // why the last is not known
}

// WriteHopsJoinJSON writes it for a program: one object on a line.
func WriteHopsJoinJSON(w io.Writer, j HopsJoin) error {
	left := j.Left
	if left == nil {
		left = map[string]int{}
	}
	requests := j.Requests
	if requests == nil {
		requests = []HopsRequest{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(map[string]any{"join": map[string]any{
		"joined": j.Joined, "client_only": j.ClientOnly, "gateway_only": j.GatewayOnly, "ambiguous": j.Ambiguous,
		"left_out": left, "network_and_relay_ms": joinQuantiles(j.NetworkAndRelay), "ttft_sent_ms": joinQuantiles(j.ClientTTFT),
		"gateway_first_sent_ms": joinQuantiles(j.GatewayFirstSent), "requests": requests}})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(escapeControls(b.Bytes()))
	return err
}

func joinQuantiles(s stat.Summary) map[string]any {
	m := map[string]any{"n": s.N, "min": pointJSON(s.Min), "max": pointJSON(s.Max)}
	for name, q := range map[string]stat.Quantiled{"p50": s.P50, "p95": s.P95, "p99": s.P99} {
		m[name], m[name+"_is"] = pointJSON(q.Point), q.Is
	}
	return m
}

// WriteHopsJoin writes it for a person.
func WriteHopsJoin(w io.Writer, j HopsJoin, v View) error {
	p := newPage(v)
	p.line(span{"client and gateway, joined by request id", bold})
	p.line(span{fmt.Sprintf("%s joined; %d only in the client's log, %d only in the gateway's", count(j.Joined, "request"), j.ClientOnly, j.GatewayOnly), plainly})
	if j.Ambiguous > 0 {
		p.para(2, span{}, span{fmt.Sprintf("%s left out: their id stands for several requests of one side, and which belong together is not known", count(j.Ambiguous, "id")), yellow})
	}
	p.blank()
	rows := [][]span{{{"warm connections", dim}, {"n", dim}, {"p50", dim}, {"p95", dim}, {"p99", dim}, {"min", dim}, {"max", dim}}}
	for _, line := range []struct {
		name string
		s    stat.Summary
	}{{"network_and_relay", j.NetworkAndRelay}, {"client's ttft_sent", j.ClientTTFT}, {"gateway's first output sent", j.GatewayFirstSent}} {
		row := []span{{line.name, plainly}, {fmt.Sprint(line.s.N), plainly}}
		for _, q := range []stat.Point{line.s.P50.Point, line.s.P95.Point, line.s.P99.Point, line.s.Min, line.s.Max} {
			row = append(row, span{point(q, "ms"), plainly})
		}
		rows = append(rows, row)
	}
	p.table(0, []bool{false, true, true, true, true, true, true}, rows)
	if why := j.leftOut(); why != "" {
		p.para(2, span{}, span{"without network_and_relay: " + why, dim})
	}
	p.blank()
	p.para(0, span{}, span{"network_and_relay is the client's ttft less the gateway's own time from the request to the writing of the first output: " +
		"a difference of two durations, each by one clock, on warm connections only. It may be slightly negative.", dim})
	return p.writeTo(w)
}

// leftOut says why joined requests have no figure.
func (j HopsJoin) leftOut() string {
	var parts []string
	for _, why := range []struct{ key, text string }{
		{"cold_connection", "on a cold connection"}, {"no_output", "without output"}, {"not_stamped", "whose gateway did not note when it wrote the first output"},
	} {
		if n := j.Left[why.key]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, why.text))
		}
	}
	return strings.Join(parts, ", ")
}
