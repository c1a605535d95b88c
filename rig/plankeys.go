package rig

import (
	"fmt"
	"strings"

	gen "weir/load"
)

// PlanKey documents one key of a plan. Help, schema and the errors of a plan
// cannot drift apart: a test holds this table against what is decoded.
type PlanKey struct {
	Path    string // load[].rate; NAME stands for any name
	Form    string // what the value looks like
	Allowed []string
	Default string // "" = none, or nothing
	Doc     string
}

// PlanKeys is every key of a plan, in the order help shows them.
var PlanKeys = []PlanKey{
	{Path: "target", Form: "mapping", Doc: "the service under load, and how it is asked"},
	{Path: "target.url", Form: "URL", Doc: "without a path, or ending in /v1, it gets the dialect's path"},
	{Path: "target.dialect", Form: "name or file.yaml", Default: "auto", Doc: "the protocol: auto, a dialect's name, or a file that describes one"},
	{Path: "target.model", Form: "text", Default: "the first of /v1/models", Doc: "model to ask for, where a scenario names none"},
	{Path: "target.api_key_env", Form: "text", Default: "WEIR_API_KEY", Doc: "environment variable that holds the API key; the key itself never stands in a plan"},
	{Path: "target.header", Form: "mapping", Doc: "headers of every request; write secrets as ${VARIABLE}"},
	{Path: "target.header.NAME", Form: "text", Doc: "value of the header"},
	{Path: "target.http", Form: "text", Allowed: []string{"1.1", "2", "h2c"}, Default: "1.1", Doc: "version of HTTP"},
	{Path: "target.connections", Form: "text", Allowed: []string{"reuse", "fresh"}, Default: "reuse", Doc: "keep connections between requests, or make one for each"},
	{Path: "target.cacert", Form: "file", Doc: "PEM file of authorities to trust beside the system's"},
	{Path: "target.insecure", Form: "true or false", Default: "false", Doc: "do not verify the server's certificate"},
	{Path: "target.compressed", Form: "true or false", Default: "false", Doc: "accept gzip"},
	{Path: "target.timeout", Form: "duration", Default: "5m", Doc: "total deadline of a request; what it cuts is censored, not slow"},
	{Path: "labels", Form: "mapping", Doc: "kept with every record and run"},
	{Path: "labels.NAME", Form: "text", Doc: "value of the label"},

	{Path: "load", Form: "list", Doc: "phases, one after the other"},
	{Path: "load[].name", Form: "name", Default: "p1, p2 …", Doc: "name of the phase in tables and gates"},
	{Path: "load[].arrivals", Form: "text", Allowed: gen.Arrivals, Default: "poisson", Doc: "how requests arrive; closed and single wait for answers, and closed hides queueing"},
	{Path: "load[].rate", Form: "rate", Doc: "arrivals a second, minute or hour: 20/s, 90/m (constant, poisson, gamma, spike)"},
	{Path: "load[].cv", Form: "number", Doc: "coefficient of variation of the times between arrivals: gamma needs it; ramp, steps and spike are even without, 1 is as poisson"},
	{Path: "load[].from", Form: "rate", Default: "0/s", Doc: "ramp: rate at its start, and of the warm-up"},
	{Path: "load[].to", Form: "rate", Default: "0/s", Doc: "ramp: rate at its end"},
	{Path: "load[].steps", Form: "list", Doc: "steps: rates, each for an equal part of the duration"},
	{Path: "load[].steps[]", Form: "rate", Doc: "one rate"},
	{Path: "load[].spike", Form: "mapping", Doc: "spike: another rate for a while"},
	{Path: "load[].spike.rate", Form: "rate", Doc: "the rate in the spike"},
	{Path: "load[].spike.at", Form: "duration", Default: "0s", Doc: "when it begins, after the warm-up"},
	{Path: "load[].spike.for", Form: "duration", Doc: "how long it lasts"},
	{Path: "load[].file", Form: "file", Doc: "trace: JSONL or CSV with timestamp, input_length, output_length (other usual names are known)"},
	{Path: "load[].timestamps", Form: "text", Allowed: []string{"s", "ms"}, Default: "s in CSV, ms in JSONL", Doc: "trace: unit of times that are numbers"},
	{Path: "load[].concurrency", Form: "whole number", Doc: "closed: requests at a time"},
	{Path: "load[].requests", Form: "whole number", Doc: "closed, single: end after so many, warm-up not counted"},
	{Path: "load[].duration", Form: "duration", Doc: "how long arrivals are measured"},
	{Path: "load[].warmup", Form: "duration", Default: "0s", Doc: "before that, at the opening rate; left out of figures"},
	{Path: "load[].max_in_flight", Form: "whole number", Default: "no limit", Doc: "most streams at once"},
	{Path: "load[].on_full", Form: "text", Allowed: []string{gen.Drop, gen.Queue}, Default: "drop", Doc: "at that limit: drop the arrival (a result, in every denominator), or let it wait (part of its latency)"},

	{Path: "scenarios", Form: "list", Doc: "buckets of requests, each with figures of its own"},
	{Path: "scenarios[].name", Form: "name", Doc: "name of the bucket"},
	{Path: "scenarios[].weight", Form: "whole number", Default: "1", Doc: "its part among the weights"},
	{Path: "scenarios[].request", Form: "mapping", Doc: "what is asked: one of prompt, template, prompts, messages, body; without any a short built-in question"},
	{Path: "scenarios[].request.prompt", Form: "text", Doc: "asked as it is"},
	{Path: "scenarios[].request.template", Form: "text", Doc: "Go template over vars and Prompt (from prompts), Index, Input, Output (lengths of a trace): Where is order {{.order}}?"},
	{Path: "scenarios[].request.prompts", Form: "mapping", Doc: "prompts of a file"},
	{Path: "scenarios[].request.prompts.file", Form: "file", Doc: ".txt a prompt a line; .jsonl, .json (ShareGPT too) and .csv by field"},
	{Path: "scenarios[].request.prompts.field", Form: "text", Default: "prompt and other usual names", Doc: "member or column that holds the prompt"},
	{Path: "scenarios[].request.prompts.order", Form: "text", Allowed: []string{"cycle", "sample"}, Default: "cycle", Doc: "in turn, or drawn by the seed"},
	{Path: "scenarios[].request.messages", Form: "list", Doc: "a conversation"},
	{Path: "scenarios[].request.messages[].role", Form: "text", Doc: "system, user or assistant"},
	{Path: "scenarios[].request.messages[].content", Form: "text", Doc: "what was said"},
	{Path: "scenarios[].request.body", Form: "text", Doc: "request body, sent as it is"},
	{Path: "scenarios[].request.model", Form: "text", Default: "target.model", Doc: "model to ask for"},
	{Path: "scenarios[].request.max_tokens", Form: "whole number", Default: "200", Doc: "most tokens to answer with"},
	{Path: "scenarios[].request.vars", Form: "mapping", Doc: "values for template"},
	{Path: "scenarios[].request.vars.NAME", Form: "text", Doc: "one value"},
	{Path: "scenarios[].request.header", Form: "mapping", Doc: "headers of this scenario's requests"},
	{Path: "scenarios[].request.header.NAME", Form: "text", Doc: "value of the header"},
	{Path: "scenarios[].expect", Form: "mapping", Doc: "what an answer should have at least; less is a finding"},
	{Path: "scenarios[].expect.events", Form: "whole number", Doc: "business events"},
	{Path: "scenarios[].expect.chars", Form: "whole number", Doc: "visible characters"},
	{Path: "scenarios[].cancel_after", Form: "mapping", Doc: "users who stop an answer early: tokens or time"},
	{Path: "scenarios[].cancel_after.tokens", Form: "whole number", Doc: "after so many output tokens (events, where the protocol counts none)"},
	{Path: "scenarios[].cancel_after.time", Form: "duration", Doc: "so long after the request"},
	{Path: "scenarios[].cancel_after.share", Form: "number", Default: "1", Doc: "part of the requests"},
	{Path: "scenarios[].marks", Form: "mapping", Doc: "moments of an answer, named; useful is the one every table has"},
	{Path: "scenarios[].marks.NAME", Form: "expression", Doc: "the first event at which it holds, over event, kind, text, delta, state, t (ms since scheduled)"},
	{Path: "scenarios[].gates", Form: "mapping", Doc: "limits for this bucket"},
	{Path: "scenarios[].gates.NAME", Form: "list of conditions", Doc: "of a metric, an outcome's share, or a mark: [p95 < 2s], {limit: p95 < 2s, phase: peak}"},
	{Path: "scenarios[].rules", Form: "list", Doc: "what must hold in the order of every answer of this bucket"},

	{Path: "gates", Form: "mapping", Doc: "limits over all buckets"},
	{Path: "gates.NAME", Form: "list of conditions", Doc: "as in scenarios, and rate, system_tps, tokens_per_request, cost_per_request, tool_calls_per_request: [value < 3]"},
	{Path: "rules", Form: "list", Doc: "rules for the answers of every bucket"},
	{Path: "prices", Form: "mapping", Doc: "what cost_per_request is made of"},
	{Path: "prices.input", Form: "number", Doc: "of a million input tokens"},
	{Path: "prices.output", Form: "number", Doc: "of a million output tokens"},
	{Path: "prices.cached", Form: "number", Default: "as input", Doc: "of a million input tokens that the service had in its cache"},
	{Path: "prices.tools", Form: "mapping", Doc: "of the tools that the model calls"},
	{Path: "prices.tools.NAME", Form: "number", Doc: "of one call"},
	{Path: "prices.currency", Form: "text", Doc: "for display"},
	{Path: "allow_undecided", Form: "true or false", Default: "false", Doc: "do not fail where too few requests decide a gate"},
	{Path: "seed", Form: "whole number", Default: "0", Doc: "of arrivals, scenarios and prompts: the same seed is the same plan"},
	{Path: "drain", Form: "duration", Default: "30s", Doc: "how long streams may go on after the last phase; what is cut then is censored"},
	{Path: "precise", Form: "true or false", Default: "false", Doc: "Linux: a thread of its own for the pacer, to about 0.1 ms instead of 1 ms"},
	{Path: "cache", Form: "text", Allowed: []string{"warm", "cold"}, Default: "warm; cold in comparisons", Doc: "cold: a nonce before every prompt, so that no prompt cache answers"},
	{Path: "keep_text", Form: "true or false", Default: "false", Doc: "keep answers' text in the event log"},
	{Path: "health_limits", Form: "mapping", Doc: "limits of the instrument's own health"},
	{Path: "health_limits.NAME", Form: "number", Doc: limitsDoc()},
}

// ruleKeys are the keys of a rule, wherever rules stand.
var ruleKeys = []PlanKey{
	{Path: "name", Form: "text", Doc: "what the rule is called"},
	{Path: "when", Form: "text", Doc: "with then: once this name is seen; a name is a mark of the scenario, else an event's name, data.type, stage or kind"},
	{Path: "then", Form: "text", Doc: "this name must follow"},
	{Path: "within", Form: "duration", Doc: "of it, so soon"},
	{Path: "never", Form: "text", Doc: "with before: this name must not come"},
	{Path: "before", Form: "text", Doc: "as long as this one has not"},
	{Path: "at_most", Form: "whole number", Doc: "with of: so many times at most"},
	{Path: "of", Form: "text", Doc: "this name"},
}

// allPlanKeys is PlanKeys with the keys of rules in their places.
func allPlanKeys() []PlanKey {
	var all []PlanKey
	for _, k := range PlanKeys {
		all = append(all, k)
		if k.Path == "rules" || strings.HasSuffix(k.Path, ".rules") {
			for _, r := range ruleKeys {
				r.Path = k.Path + "[]." + r.Path
				all = append(all, r)
			}
		}
	}
	return all
}

func limitsDoc() string {
	var all []string
	for _, l := range gen.Limits {
		all = append(all, fmt.Sprintf("%s (%g)", l.Name, l.Default))
	}
	return strings.Join(all, ", ")
}

// PlanHelp is the table of keys as text, lines of at most 100 columns.
func PlanHelp() string {
	const width, indent = 100, 4
	var b strings.Builder
	for _, k := range allPlanKeys() {
		head := k.Path + ": " + k.Form
		if len(k.Allowed) > 0 {
			head = k.Path + ": " + strings.Join(k.Allowed, " | ")
		}
		doc := k.Doc
		if k.Default != "" {
			doc += " (default: " + k.Default + ")"
		}
		b.WriteString(head + "\n")
		column := width
		for _, word := range strings.Fields(doc) {
			if column+1+len(word) > width {
				if column < width || b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
					b.WriteByte('\n')
				}
				b.WriteString(strings.Repeat(" ", indent-1))
				column = indent - 1
			}
			b.WriteString(" " + word)
			column += 1 + len(word)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
