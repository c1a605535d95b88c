package judge

import (
	"fmt"
	"maps"
	"slices"

	"weir/metric"
	"weir/stat"
	"weir/table"
)

// Prices is what the service charges. Tokens are priced per million, tools (the
// ones the model calls, by name) per call. The zero value is no price table.
type Prices struct {
	Input    float64            `yaml:"input"`
	Output   float64            `yaml:"output"`
	Cached   *float64           `yaml:"cached"` // input read from the cache; left out = as Input
	Tools    map[string]float64 `yaml:"tools"`
	Currency string             `yaml:"currency"` // for display; "" = none
}

// Validate says what is wrong with a price table.
func (p Prices) Validate() error {
	switch {
	case p.Input < 0 || p.Output < 0 || p.Cached != nil && *p.Cached < 0:
		return fmt.Errorf("prices are per million tokens and not negative")
	case !p.given():
		return fmt.Errorf("a price table has a price above 0, such as {input: 2, output: 8, cached: 0.5, tools: {search: 0.01}}")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Tools)) {
		if p.Tools[name] < 0 {
			return fmt.Errorf("the price of tool %q is negative; give what one call costs, from 0", clip(name))
		}
	}
	return nil
}

func (p Prices) given() bool {
	return p.Input > 0 || p.Output > 0 || p.Cached != nil || len(p.Tools) > 0
}

// cachedApart lists the dialects in which cached tokens are not among the input
// tokens but beside them.
var cachedApart = []string{"anthropic"}

// cost is what one request cost, from the usage the service stated; false where
// it stated none of a kind that has a price, or nothing has one.
func (p Prices) cost(q request) (float64, bool) {
	if !p.given() {
		return 0, false
	}
	in, ok1 := p.ofInput(q)
	out, ok2 := p.ofOutput(q)
	tools, ok3 := p.ofTools(q)
	return (in+out)/1e6 + tools, ok1 && ok2 && ok3
}

// ofInput is a millionfold, as ofOutput is.
func (p Prices) ofInput(q request) (float64, bool) {
	if p.Input == 0 && p.Cached == nil {
		return 0, true
	}
	in, ok := q.get("input_tokens").Get()
	cached := q.get("cached_tokens").V
	if !slices.Contains(cachedApart, q[0].Dialect) {
		in -= min(cached, in)
	}
	price := p.Input
	if p.Cached != nil {
		price = *p.Cached
	}
	return in*p.Input + cached*price, ok
}

func (p Prices) ofOutput(q request) (float64, bool) {
	if p.Output == 0 {
		return 0, true
	}
	out, ok := q.output().Get()
	return out * p.Output, ok
}

func (p Prices) ofTools(q request) (float64, bool) {
	total := 0.0
	for _, name := range slices.Sorted(maps.Keys(p.Tools)) {
		total += q.sum(metric.ToolPrefix+name).V * p.Tools[name]
	}
	return total, len(p.Tools) == 0 || q.calls().Is == stat.Reached
}

// request is the answers of one request. They share its usage.
type request []*table.Row

// get is a number that belongs to the request as a whole: the first answer's
// that knows it.
func (q request) get(name string) stat.Sample {
	for _, r := range q {
		if x := r.Values.Get(name); x.Is == stat.Reached {
			return x
		}
	}
	return stat.Sample{}
}

// sum adds a number over the answers; missing where none knows it.
func (q request) sum(name string) stat.Sample {
	var total stat.Sample
	for _, r := range q {
		if x := r.Values.Get(name); x.Is == stat.Reached {
			total = stat.At(total.V + x.V)
		}
	}
	return total
}

// output is the output tokens as they are paid for, else as they were streamed.
func (q request) output() stat.Sample {
	if x := q.get("tokens_billed"); x.Is == stat.Reached {
		return x
	}
	return q.sum("tokens")
}

func (q request) calls() stat.Sample { return q.sum("tool_calls") }
