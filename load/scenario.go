package load

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"weir/dialect"
	"weir/mark"
)

// Scenario is one kind of request: a bucket whose figures stand apart.
type Scenario struct {
	Name        string  `yaml:"name"`
	Weight      int     `yaml:"weight"` // its part among the weights; 0 = 1
	Request     Request `yaml:"request"`
	Expect      Expect  `yaml:"expect"`
	CancelAfter *Cancel `yaml:"cancel_after"`
	Marks       Marks   `yaml:"marks"`
}

// Marks are moments of an answer: name -> expression over one event.
type Marks map[string]string

// Request is what a scenario asks: one of prompt, template, prompts, messages
// and body; template may be given with prompts.
type Request struct {
	Prompt    string            `yaml:"prompt"`
	Template  string            `yaml:"template"` // text/template over vars, Prompt, Index, Input, Output
	Prompts   PromptFile        `yaml:"prompts"`
	Messages  []dialect.Message `yaml:"messages"`
	Body      string            `yaml:"body"` // sent as it is
	Model     string            `yaml:"model"`
	MaxTokens int               `yaml:"max_tokens"`
	Vars      map[string]string `yaml:"vars"`
	Header    map[string]string `yaml:"header"`
}

// PromptFile is a file of prompts.
type PromptFile struct {
	File  string `yaml:"file"`
	Field string `yaml:"field"` // JSON member or CSV column; "" = the usual names
	Order string `yaml:"order"` // cycle (default) | sample
}

// Expect is what an answer should have at least; zero = nothing said.
type Expect struct {
	Events int `yaml:"events"`
	Chars  int `yaml:"chars"`
}

// Cancel is a user who stops the answer early.
type Cancel struct {
	Tokens int           `yaml:"tokens"` // after so many output tokens, or business events where the protocol counts none
	Time   time.Duration `yaml:"time"`   // so long after the request was sent
	Share  float64       `yaml:"share"`  // part of the requests; 0 = all
}

// nameRule keeps names usable in expressions, file names and tables.
var nameRule = regexp.MustCompile(`^[\pL_][\pL\pN_.-]{0,63}$`)

// CheckName refuses what cannot name a phase or a scenario.
func CheckName(name string) error {
	if !nameRule.MatchString(name) {
		return fmt.Errorf("name %q: a letter or _ first, then letters, digits, _, - and dots, 64 at most", clip(name))
	}
	return nil
}

// Validate says what is wrong with a scenario, and what would be right. Files
// are not read.
func (s Scenario) Validate() error {
	if err := CheckName(s.Name); err != nil {
		return err
	}
	if s.Weight < 0 {
		return fmt.Errorf("weight %d is negative: give a whole number, 1 where it is left out", s.Weight)
	}
	if err := s.Expect.Validate(); err != nil {
		return fmt.Errorf("expect: %w", err)
	}
	if err := s.Request.Validate(); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if c := s.CancelAfter; c != nil {
		if err := c.Validate(); err != nil {
			return fmt.Errorf("cancel_after: %w", err)
		}
	}
	return s.Marks.Validate()
}

// Validate refuses less than nothing.
func (e Expect) Validate() error {
	if e.Events < 0 || e.Chars < 0 {
		return errors.New("events and chars must not be negative")
	}
	return nil
}

// Validate says what is wrong with a cancellation.
func (c Cancel) Validate() error {
	switch {
	case c.Tokens < 0 || c.Time < 0 || c.Tokens == 0 && c.Time == 0:
		return errors.New("give tokens or time above 0, such as {tokens: 20, share: 0.3}")
	case c.Tokens > 0 && c.Time > 0:
		return errors.New("give tokens or time, not both")
	case c.Share < 0 || c.Share > 1:
		return fmt.Errorf("share %g: give a part from 0 to 1", c.Share)
	}
	return nil
}

// Validate says what is wrong with a request. Files are not read.
func (r Request) Validate() error {
	var given []string
	for _, x := range []struct {
		name string
		is   bool
	}{
		{"prompt", r.Prompt != ""}, {"template", r.Template != "" && r.Prompts.File == ""},
		{"prompts", r.Prompts.File != ""}, {"messages", len(r.Messages) > 0}, {"body", r.Body != ""},
	} {
		if x.is {
			given = append(given, x.name)
		}
	}
	switch {
	case len(given) > 1:
		return fmt.Errorf("%s are given; one of them is asked", strings.Join(given, " and "))
	case r.MaxTokens < 0:
		return fmt.Errorf("max_tokens %d is negative", r.MaxTokens)
	case r.Prompts.File == "" && (r.Prompts.Field != "" || r.Prompts.Order != ""):
		return errors.New("prompts needs a file, such as prompts: {file: prompts.jsonl}")
	case !slices.Contains([]string{"", "cycle", "sample"}, r.Prompts.Order):
		return fmt.Errorf("prompts order %q is not known; allowed: cycle, sample", r.Prompts.Order)
	case len(r.Vars) > 0 && r.Template == "":
		return errors.New("vars are for a template, such as template: \"Where is order {{.order}}?\"")
	}
	if _, err := r.header(); err != nil {
		return err
	}
	_, err := r.compile()
	return err
}

// header is the request's own headers.
func (r Request) header() (http.Header, error) {
	if len(r.Header) == 0 {
		return nil, nil
	}
	h := http.Header{}
	for name, value := range r.Header {
		control := func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
		if name == "" || strings.ContainsFunc(name, notToken) || strings.ContainsFunc(value, control) {
			return nil, fmt.Errorf("header %q: a name is a word, a value has no control characters", clip(name))
		}
		h.Set(name, value)
	}
	return h, nil
}

// notToken is what a header's name must not hold (RFC 9110 §5.6.2).
func notToken(c rune) bool {
	return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
}

// Validate compiles the marks.
func (m Marks) Validate() error {
	_, err := m.compile()
	return err
}

// compile compiles the marks, in the order of their names; nil where there are
// none.
func (m Marks) compile() (*mark.Set, error) {
	if len(m) == 0 {
		return nil, nil
	}
	var defs []mark.Def
	for _, name := range slices.Sorted(maps.Keys(m)) {
		defs = append(defs, mark.Def{Name: name, Expr: m[name]})
	}
	return mark.Compile(defs)
}

// weight is the scenario's part.
func (s Scenario) weight() int { return max(s.Weight, 1) }

// picker chooses scenarios by weight, by an arrival's number: every machine
// that shares a schedule chooses alike.
type picker struct {
	seed uint64
	sums []int // running sums of the weights
}

func newPicker(seed uint64, scenarios []Scenario) picker {
	p := picker{seed: seed}
	total := 0
	for _, s := range scenarios {
		total += s.weight()
		p.sums = append(p.sums, total)
	}
	return p
}

func (p picker) pick(phase, index int) int {
	x := chance(p.seed, purposeScenario, phase, index) * float64(p.sums[len(p.sums)-1])
	at, _ := slices.BinarySearchFunc(p.sums, x, func(sum int, x float64) int {
		if float64(sum) <= x {
			return -1
		}
		return 1
	})
	return at
}
