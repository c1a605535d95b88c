package dialect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fastjson"

	"weir/config"
	"weir/stream"
)

// spec is a custom dialect as its file states it; docs/custom-dialect.md
// explains every key.
type spec struct {
	Name      string           `yaml:"name"`
	Request   requestSpec      `yaml:"request"`
	Detect    detectSpec       `yaml:"detect"`
	Data      dataForm         `yaml:"data"`
	NameAt    *jsonPath        `yaml:"name_at"`
	Fields    fieldSpec        `yaml:"fields"`
	Events    map[string]rules `yaml:"events"`
	Whole     *rule            `yaml:"whole"`
	ThinkTags *bool            `yaml:"think_tags"`
	EndsAtEOF bool             `yaml:"ends_at_eof"`
}

// Validate implements config.Validator.
func (s *spec) Validate() error {
	switch {
	case s.Name == "":
		return errors.New("name is missing")
	case strings.ContainsFunc(s.Name, func(r rune) bool { return r <= ' ' || r == '/' }):
		return fmt.Errorf("name %q: use letters, digits, dots and hyphens", s.Name)
	case len(s.Events) == 0:
		return errors.New("events is missing: say by name what the events mean, \"*\" for any other name, message for unnamed ones")
	}
	return nil
}

// dataForm is what the data of an event is: json or text.
type dataForm string

// UnmarshalText reads the form.
func (f *dataForm) UnmarshalText(b []byte) error {
	if s := string(b); s != "json" && s != "text" {
		return fmt.Errorf("%q is no form of data; there are json and text", s)
	}
	*f = dataForm(b)
	return nil
}

// detectSpec says how `--dialect auto` knows the protocol; any one suffices.
type detectSpec struct {
	Paths  []string `yaml:"paths"`
	Words  []string `yaml:"words"`
	Events []string `yaml:"events"`
}

// fieldSpec is what may stand in any event.
type fieldSpec struct {
	Seq           *jsonPath `yaml:"seq"`
	Tokens        *jsonPath `yaml:"tokens"`
	TokensTotal   *jsonPath `yaml:"tokens_total"`
	ServiceTimeMs *jsonPath `yaml:"service_time_ms"`
	State         *jsonPath `yaml:"state"`
	Choice        *jsonPath `yaml:"choice"`
	ID            *jsonPath `yaml:"id"`
	Model         *jsonPath `yaml:"model"`
}

// usageSpec is where an event states its token accounting.
type usageSpec struct {
	Input     *jsonPath `yaml:"input"`
	Cached    *jsonPath `yaml:"cached"`
	Output    *jsonPath `yaml:"output"`
	Reasoning *jsonPath `yaml:"reasoning"`
	// ReasoningApart: output excludes reasoning.
	ReasoningApart bool `yaml:"reasoning_apart"`
}

// rule says what the events of a name mean.
type rule struct {
	When map[string]any `yaml:"when"`
	Kind ruleKind       `yaml:"kind"`

	Text       *jsonPath `yaml:"text"`
	Reasoning  *jsonPath `yaml:"reasoning"`
	Tool       *jsonPath `yaml:"tool"`
	Call       *jsonPath `yaml:"call"`
	Media      *jsonPath `yaml:"media"`
	Cumulative bool      `yaml:"cumulative"`
	Summary    bool      `yaml:"summary"`

	Stage    *jsonPath            `yaml:"stage"`
	TookMs   *jsonPath            `yaml:"took_ms"`
	TookS    *jsonPath            `yaml:"took_s"`
	StagesMs map[string]*jsonPath `yaml:"stages_ms"`
	StagesS  map[string]*jsonPath `yaml:"stages_s"`

	Finish      *jsonPath  `yaml:"finish"`
	Usage       *usageSpec `yaml:"usage"`
	Code        *jsonPath  `yaml:"code"`
	Message     *jsonPath  `yaml:"message"`
	Recoverable bool       `yaml:"recoverable"`

	State *jsonPath `yaml:"state"`

	conditions []condition
	stages     []stageAt
}

// condition is one entry of when.
type condition struct {
	path jsonPath
	want []string // any of these; "*": anything that is there
}

// stageAt is one entry of stages_ms or stages_s, in the order of names.
type stageAt struct {
	name   string
	path   *jsonPath
	millis bool
}

// ruleKind is a kind of event that a rule may name; "" where it follows from
// the rule's other keys.
type ruleKind struct {
	kind stream.Kind
	said bool
}

// UnmarshalText reads a kind.
func (k *ruleKind) UnmarshalText(b []byte) error {
	kind, ok := stream.ParseKind(string(b))
	if !ok {
		var names []string
		for k := stream.KindOther; k <= stream.KindDone; k++ {
			names = append(names, k.String())
		}
		return fmt.Errorf("no kind of event is called %q; there are %s", b, strings.Join(names, ", "))
	}
	k.kind, k.said = kind, true
	return nil
}

// rules are tried in order; the first whose when holds applies.
type rules []*rule

// UnmarshalConfig reads the short form (a kind), one rule, or a list of rules.
func (r *rules) UnmarshalConfig(n config.Node) error {
	switch {
	case n.IsSequence():
		var list []*rule
		err := n.Decode(&list)
		*r = list
		return err
	case n.IsScalar():
		var one rule
		err := n.Decode(&one.Kind)
		*r = rules{&one}
		return err
	}
	var one rule
	err := n.Decode(&one)
	*r = rules{&one}
	return err
}

// Validate implements config.Validator: it reads the parts that are text in
// text, and refuses rules that say nothing.
func (r *rule) Validate() error {
	for key, want := range r.When {
		c := condition{}
		if err := c.path.UnmarshalText([]byte(key)); err != nil {
			return err
		}
		switch w := want.(type) {
		case []any:
			for _, x := range w {
				c.want = append(c.want, fmt.Sprint(x))
			}
		default:
			c.want = []string{fmt.Sprint(w)}
		}
		r.conditions = append(r.conditions, c)
	}
	for name, path := range r.StagesMs {
		r.stages = append(r.stages, stageAt{name, path, true})
	}
	for name, path := range r.StagesS {
		r.stages = append(r.stages, stageAt{name, path, false})
	}
	slices.SortFunc(r.stages, func(a, b stageAt) int { return strings.Compare(a.name, b.name) })
	r.impliedKind()
	if r.Kind.kind == stream.KindOther && !r.Kind.said {
		return errors.New("it says nothing of the event: give a kind, or the path of its text, reasoning, tool, media, stage, finish or usage")
	}
	if r.Kind.kind != stream.KindError && (r.Code.set() || r.Message.set() || r.Recoverable) {
		return errors.New("code, message and recoverable belong to kind error")
	}
	return nil
}

// impliedKind sets the kind of a rule that names none from what it looks for.
func (r *rule) impliedKind() {
	if r.Kind.said {
		return
	}
	for _, x := range [...]struct {
		implied bool
		kind    stream.Kind
	}{
		{r.Text.set(), stream.KindText},
		{r.Reasoning.set(), stream.KindReasoning},
		{r.Tool.set(), stream.KindTool},
		{r.Media.set(), stream.KindMedia},
		{r.Stage.set() || len(r.stages) > 0 || r.State.set(), stream.KindStage},
		{r.Finish.set(), stream.KindHeartbeat}, // the finish itself is an event, where there is one
		{r.Usage != nil, stream.KindUsage},
	} {
		if x.implied {
			r.Kind = ruleKind{x.kind, true}
			return
		}
	}
}

// holds reports whether the rule's conditions hold.
func (r *rule) holds(v *fastjson.Value) bool {
	for _, c := range r.conditions {
		got := c.path.get(v)
		if got == nil || !slices.Contains(c.want, "*") && !slices.Contains(c.want, scalar(got)) {
			return false
		}
	}
	return true
}
