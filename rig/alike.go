package rig

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	gen "weir/load"
	"weir/table"
)

// The keys of table.Run.Config that a comparison may declare to vary.
const (
	VaryTarget = "target"
	VaryModel  = "model"
	VaryPrompt = "prompt"
	VaryBuild  = "build"
)

// VaryKeys lists what a comparison may vary (METRICS §10).
var VaryKeys = []string{VaryPrompt, VaryModel, VaryTarget, VaryBuild}

// alike is what must match between runs that are compared, with the plan's
// variables resolved and its files read. Gates and rules are not in it: they
// change no figure. Nor is the seed: another draw of the same load is alike.
func (p *LoadPlan) alike(r table.Run, nonce bool) map[string]string {
	out := map[string]string{
		VaryTarget: r.Target, VaryModel: p.models(r.Model), VaryPrompt: p.prompts(), VaryBuild: pairsText(p.Labels),
		"dialect": r.Dialect, "load": p.loadText(), "scenarios": p.scenariosText(), "transport": p.transport(),
		"cache": "warm", "shard": r.Shard, "definitions": strconv.Itoa(r.Definitions),
	}
	if nonce {
		out["cache"] = "cold"
	}
	return out
}

// models is the model that every scenario asks for, or each scenario's.
func (p *LoadPlan) models(otherwise string) string {
	var all, each []string
	for _, s := range p.Scenarios {
		m := cmp.Or(s.Request.Model, p.Target.Model, otherwise)
		each = append(each, s.Name+": "+m)
		if !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return strings.Join(each, ", ")
}

// prompts is what is said to the model, as a digest and a length.
func (p *LoadPlan) prompts() string {
	var said []any
	chars := 0
	for _, s := range p.Scenarios {
		q := s.Request
		file := p.content(q.Prompts.File)
		said = append(said, []any{s.Name, q.Prompt, q.Template, q.Messages, q.Body, q.Vars, q.Prompts.Field, q.Prompts.Order, digest(file)})
		for _, text := range append([]string{q.Prompt, q.Template, q.Body, file}, slices.Collect(maps.Values(q.Vars))...) {
			chars += utf8.RuneCountInString(text)
		}
		for _, m := range q.Messages {
			chars += utf8.RuneCountInString(m.Content)
		}
	}
	return fmt.Sprintf("%s (%d characters)", digest(object(said)), chars)
}

// loadText is the load: a digest, and its phases for a reader.
func (p *LoadPlan) loadText() string {
	var phases []any
	var names []string
	for _, x := range p.Load {
		x.Arrivals, x.OnFull = x.Kind(), cmp.Or(x.OnFull, gen.Drop)
		phases = append(phases, []any{pruned(x), digest(p.content(x.File))})
		name := x.Name + " " + x.Arrivals
		if x.Rate > 0 {
			name += " " + x.Rate.String()
		}
		names = append(names, name+" "+x.Duration.String())
	}
	return digest(object([]any{phases, p.Drain})) + " (" + strings.Join(names, ", ") + ")"
}

// scenariosText is what the scenarios are beside what they say.
func (p *LoadPlan) scenariosText() string {
	var list []any
	var names []string
	for _, s := range p.Scenarios {
		list = append(list, []any{s.Name, max(1, s.Weight), s.Request.MaxTokens, s.Expect, s.CancelAfter, s.Marks, open(s.Request.Header)})
		names = append(names, s.Name)
	}
	return digest(object(list)) + " (" + strings.Join(names, ", ") + ")"
}

// transport is how the target is asked.
func (p *LoadPlan) transport() string {
	t := p.Target
	text := cmp.Or(t.HTTP, "1.1") + " " + cmp.Or(t.Connections, "reuse")
	if t.Compressed {
		text += " compressed"
	}
	if h := open(t.Header); len(h) > 0 {
		text += " headers " + digest(object(h))
	}
	return text
}

// open are the headers that hold no credentials.
func open(h map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range h {
		if !isSecret(name) {
			out[strings.ToLower(name)] = value
		}
	}
	return out
}

// content is a file of the plan; "" where there is none, or no longer.
func (p *LoadPlan) content(file string) string {
	if file == "" {
		return ""
	}
	text, err := os.ReadFile(p.path(filepath.Clean(file)))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// digest is short: it tells apart what people wrote, it guards nothing.
func digest[T ~string | ~[]byte](x T) string {
	sum := sha256.Sum256([]byte(x))
	return fmt.Sprintf("%x", sum[:4])
}

// pruned is a value without what is zero, so that a key that a later weir adds
// does not make its plans unlike those of this one.
func pruned(v any) any {
	var out map[string]any
	if err := json.Unmarshal(object(v), &out); err != nil {
		return v
	}
	maps.DeleteFunc(out, func(_ string, x any) bool {
		switch x := x.(type) {
		case map[string]any:
			return !slices.ContainsFunc(slices.Collect(maps.Values(x)), func(y any) bool { return y != nil && y != 0. && y != "" })
		default:
			return x == nil || x == 0. || x == "" || x == false
		}
	})
	return out
}

func pairsText(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, " ")
}
