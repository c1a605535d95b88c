package load

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"weir/dialect"
	"weir/mark"
	"weir/probe"
	"weir/stream"
)

// reserved are the names that a template has beside the plan's own.
var reserved = []string{"Prompt", "Index", "Input", "Output"}

// compile reads the template and tries it once; nil where there is none.
func (r Request) compile() (*template.Template, error) {
	if r.Template == "" {
		return nil, nil
	}
	for name := range r.Vars {
		if slices.Contains(reserved, name) {
			return nil, fmt.Errorf("vars: %s is a name of weir's own (%s)", name, strings.Join(reserved, ", "))
		}
	}
	t, err := template.New("template").Option("missingkey=error").Parse(r.Template)
	if err != nil {
		return nil, err
	}
	if _, err := fill(t, r.values("", 0, traced{})); err != nil {
		return nil, fmt.Errorf("%w; there are %s and %s", err, strings.Join(reserved, ", "), orNone(r.Vars))
	}
	return t, nil
}

func orNone(vars map[string]string) string {
	if len(vars) == 0 {
		return "no vars"
	}
	return "the vars " + strings.Join(slices.Sorted(maps.Keys(vars)), ", ")
}

func (r Request) values(prompt string, index int, t traced) map[string]any {
	v := map[string]any{"Prompt": prompt, "Index": index, "Input": t.input, "Output": t.output}
	for name, value := range r.Vars {
		v[name] = value
	}
	return v
}

func fill(t *template.Template, values map[string]any) (string, error) {
	var b strings.Builder
	err := t.Execute(&b, values)
	return b.String(), err
}

// bucket is a scenario made ready: files read, marks and template compiled.
type bucket struct {
	Scenario
	target   string
	shown    string // as records show it: where the dialect asks, without credentials
	dialect  string // its name, as far as it is known before an answer
	key      string
	seed     uint64
	nonce    string
	header   http.Header
	template *template.Template
	prompts  []prompt
	marks    *mark.Set
	expect   stream.Expect
}

func newBucket(s Scenario, c *Config) (*bucket, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	b := &bucket{Scenario: s, target: c.Target, key: c.APIKey, seed: c.Seed, nonce: c.Nonce, header: c.Header.Clone()}
	b.expect = stream.Expect{Events: s.Expect.Events, Chars: s.Expect.Chars}
	var err error
	if b.marks, err = s.Marks.compile(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	if b.template, err = s.Request.compile(); err != nil {
		return nil, fmt.Errorf("scenario %s: request: %w", s.Name, err)
	}
	if s.Request.Prompts.File != "" {
		if b.prompts, err = s.Request.Prompts.read(c.Base); err != nil {
			return nil, fmt.Errorf("scenario %s: request: %w", s.Name, err)
		}
	}
	own, err := s.Request.header()
	if err != nil {
		return nil, fmt.Errorf("scenario %s: request: %w", s.Name, err)
	}
	if b.header == nil {
		b.header = http.Header{}
	}
	for name, values := range own {
		b.header[name] = values
	}
	return b, b.resolve(c.Dialect)
}

// resolve says where the scenario asks, as probe will: what was never sent has
// the same target as what was.
func (b *bucket) resolve(d dialect.Dialect) error {
	u, err := dialect.ParseURL(b.target)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	if d == nil {
		d, _ = dialect.Detect(dialect.Hint{Method: http.MethodPost, Path: u.Path, Query: u.RawQuery})
	}
	ask, err := b.ask(0, 0, traced{})
	if err != nil {
		return err
	}
	req, err := d.Request(ask)
	if err != nil {
		return fmt.Errorf("scenario %s: %w", b.Name, err)
	}
	b.shown, b.dialect = probe.Target(req.URL), d.Name()
	return nil
}

// ask is the bucket's request for one arrival. It depends on the arrival's
// number alone, not on which machine asks, nor when.
func (b *bucket) ask(phase, index int, t traced) (dialect.Ask, error) {
	r := &b.Request
	a := dialect.Ask{URL: b.target, Model: r.Model, MaxTokens: r.MaxTokens, APIKey: b.key, Header: b.header}
	if t.output > 0 {
		a.MaxTokens = t.output
	}
	if r.Body != "" {
		a.Body = []byte(r.Body)
		return a, nil
	}
	p := prompt{text: r.Prompt, turns: r.Messages}
	if len(b.prompts) > 0 {
		p = b.prompts[b.promptAt(phase, index)]
	}
	if b.template != nil {
		text, err := fill(b.template, r.values(p.text, index, t))
		if err != nil {
			return a, fmt.Errorf("scenario %s, request %d: %w", b.Name, index, err)
		}
		p = prompt{text: text}
	}
	if p.text == "" && len(p.turns) == 0 {
		p.text = dialect.DefaultPrompt
		if t.input > 0 {
			p.text = words(t.input, index)
		}
	}
	a.Prompt, a.Messages = b.fresh(p, index)
	return a, nil
}

// promptAt chooses the prompt of an arrival.
func (b *bucket) promptAt(phase, index int) int {
	n := len(b.prompts)
	if b.Request.Prompts.Order == "sample" {
		return min(n-1, int(chance(b.seed, purposePrompt, phase, index)*float64(n)))
	}
	return index % n
}

// fresh puts the nonce of run and request at the very beginning, so that no
// prefix of the prompt is in the service's cache.
func (b *bucket) fresh(p prompt, index int) (string, []dialect.Message) {
	if b.nonce == "" {
		return p.text, p.turns
	}
	head := "[" + b.nonce + "-" + strconv.Itoa(index) + "] "
	if len(p.turns) == 0 {
		return head + p.text, nil
	}
	turns := slices.Clone(p.turns)
	turns[0].Content = head + turns[0].Content
	return "", turns
}

// filler is common short words, each about one token of any tokenizer.
var filler = strings.Fields("the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one you were all her she there would their we him been has when who will more no if out so what up said its about than into them can only other time new some could these two may first then do any like my now over such our man me even most made after also did many")

// words is a text of about n tokens, another one for every request.
func words(n, index int) string {
	var b strings.Builder
	x := mix(uint64(index))
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		x = mix(x)
		b.WriteString(filler[x%uint64(len(filler))])
	}
	return b.String()
}

// cancels reports whether this request's user will stop it early.
func (b *bucket) cancels(phase, index int) bool {
	c := b.CancelAfter
	return c != nil && (c.Share == 0 || chance(b.seed, purposeCancel, phase, index) < c.Share)
}
