package judge

import (
	"fmt"
	"strconv"
	"strings"

	"weir/stat"
	"weir/stream"
	"weir/table"
)

// The figures of the whole run.
const (
	requestRate      = "rate"
	systemTPS        = "system_tps"
	tokensPerRequest = "tokens_per_request"
	costPerRequest   = "cost_per_request"
	callsPerRequest  = "tool_calls_per_request"
)

// wholeRun reads a figure that no single answer has.
func (s scope) wholeRun(name string) reading {
	requests := requestsOf(s.rows)
	x := reading{point: noInterval, lo: noInterval, hi: noInterval, n: len(requests)}
	if len(requests) == 0 {
		x.why = "no request was sent" + s.where()
		return x
	}
	switch name {
	case requestRate:
		s.perSecond(&x, float64(ended(requests)))
	case systemTPS:
		tokens, n := total(requests, func(q request) (float64, bool) { return q.sum("tokens").Get() })
		if n == 0 {
			x.why = "no answer says how many tokens it had" + s.where()
			return x
		}
		s.perSecond(&x, tokens)
		x.left(n, "do not say how many tokens they had: it is that of the others")
	case tokensPerRequest:
		x.mean(requests, func(q request) (float64, bool) { return q.output().Get() }, "do not say how many tokens they had and are left out")
	case callsPerRequest:
		x.mean(requests, func(q request) (float64, bool) { return q.calls().Get() }, "do not say where tool calls begin and are left out")
	case costPerRequest:
		x.mean(requests, s.in.Prices.cost, "do not say what is paid for and are left out")
		x.unit = s.in.Prices.Currency
	}
	return x
}

// perSecond divides an amount by the measured time of the phase.
func (s scope) perSecond(x *reading, amount float64) {
	seconds := s.in.Span[s.phase]
	if !(seconds > 0) {
		x.why = "it is not known how long it was measured" + s.where()
		return
	}
	x.point = stat.Point{V: amount / seconds, Is: stat.Exact}
}

// mean is the mean over the requests that know the number.
func (x *reading) mean(requests []request, of func(request) (float64, bool), lack string) {
	sum, n := total(requests, of)
	x.left(n, lack)
	if x.n = n; n > 0 {
		x.point = stat.Point{V: sum / float64(n), Is: stat.Exact}
	}
}

// left says how many of x.n requests a figure does without.
func (x *reading) left(known int, lack string) {
	if without := x.n - known; without > 0 {
		x.why = also(x.why, fmt.Sprintf("%s of %d %s", counted(without, "request"), x.n, lack))
	}
}

func total(requests []request, of func(request) (float64, bool)) (sum float64, n int) {
	for _, q := range requests {
		if v, ok := of(q); ok {
			sum += v
			n++
		}
	}
	return sum, n
}

// ended counts the requests of which every answer reached its end.
func ended(requests []request) int {
	n := 0
next:
	for _, q := range requests {
		for _, r := range q {
			if !r.Outcome.Ended() {
				continue next
			}
		}
		n++
	}
	return n
}

// requestsOf joins the answers of each request that was sent.
func requestsOf(rows []*table.Row) []request {
	var out []request
	at := map[[2]string]int{}
	for _, r := range rows {
		if r.Outcome == stream.Dropped {
			continue
		}
		key := [2]string{r.Run, strings.TrimSuffix(r.Request, "#"+strconv.Itoa(r.Choice))}
		j, ok := at[key]
		if !ok || r.Request == "" {
			j = len(out)
			at[key] = j
			out = append(out, nil)
		}
		out[j] = append(out[j], r)
	}
	return out
}
