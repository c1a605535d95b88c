package judge

import (
	"fmt"
	"slices"
	"strings"

	"weir/config"
)

// Stats are what a gate may take of a metric.
var Stats = []string{"p50", "p90", "p95", "p99", "max", "mean", "share"}

// comparisons are what a gate may ask.
var comparisons = []string{"<", "<=", ">", ">="}

// plainStat may stand where a figure has no stat, because YAML reads a bare
// leading > as the start of a block of text: "value >= 10" needs no quotes.
const plainStat = "value"

// Condition is one limit: STAT OP VALUE, such as "p95 < 2s", "share >= 99%" or
// for a figure of the whole run "< 3". In YAML it is that text, or a mapping
// {limit: p95 < 2s, phase: peak} where it holds for one phase only.
type Condition struct {
	Stat  string // one of Stats; "" = none
	Op    string // <, <=, >, >=
	Value float64
	Unit  string // as written, brought to ms, %, or the unit's own name; "" = none
	Phase string // "" = every phase

	at *config.Node // where a file has it
}

// ParseCondition reads a condition's text. Whether the metric has such a stat
// and unit is for Gates.Check to say.
func ParseCondition(s string) (Condition, error) {
	left, op, right := cutComparison(s)
	const form = "write STAT OP VALUE, such as p95 < 2s or share >= 99%"
	switch {
	case strings.TrimSpace(s) == "":
		return Condition{}, fmt.Errorf("the condition is empty; %s", form)
	case op == "":
		return Condition{}, fmt.Errorf("%q compares nothing; %s", clip(s), form)
	case !slices.Contains(comparisons, op):
		return Condition{}, fmt.Errorf("%q is no comparison in %q; allowed: %s", op, clip(s), strings.Join(comparisons, ", "))
	case left != "" && left != plainStat && !slices.Contains(Stats, left):
		return Condition{}, fmt.Errorf("stat %q in %q is not one of %s", clip(left), clip(s), strings.Join(Stats, ", "))
	case right == "":
		return Condition{}, fmt.Errorf("%q has no value; %s", clip(s), form)
	}
	v, unit, err := parseQuantity(right)
	if err != nil {
		return Condition{}, fmt.Errorf("%w in %q", err, clip(s))
	}
	if left == plainStat {
		left = ""
	}
	return Condition{Stat: left, Op: op, Value: v, Unit: unit}, nil
}

// cutComparison cuts at the first run of <, >, = and !.
func cutComparison(s string) (left, op, right string) {
	const signs = "<>=!"
	i := strings.IndexAny(s, signs)
	if i < 0 {
		return strings.TrimSpace(s), "", ""
	}
	rest := strings.TrimLeft(s[i:], signs)
	op = s[i : len(s)-len(rest)]
	return strings.TrimSpace(s[:i]), op, strings.TrimSpace(rest)
}

// String is the condition as it may be written.
func (c Condition) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Stat, c.Op, quantity(c.Value, c.Unit)))
}

// MarshalText writes the condition; its phase is not in it.
func (c Condition) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what ParseCondition reads.
func (c *Condition) UnmarshalText(b []byte) error {
	parsed, err := ParseCondition(string(b))
	if err == nil {
		*c = parsed
	}
	return err
}

// clause is a condition's text alone, without the form that is a mapping.
type clause Condition

// UnmarshalText reads what ParseCondition reads.
func (c *clause) UnmarshalText(b []byte) error { return (*Condition)(c).UnmarshalText(b) }

// UnmarshalConfig reads both forms, and keeps the place for Gates.Check.
func (c *Condition) UnmarshalConfig(n config.Node) error {
	var form struct {
		Limit clause `yaml:"limit"`
		Phase string `yaml:"phase"`
	}
	if !n.IsMapping() {
		if err := n.Decode(&form.Limit); err != nil {
			return err
		}
	} else if err := n.Decode(&form); err != nil {
		return err
	} else if form.Limit.Op == "" {
		return n.Errorf("it has no limit; write {limit: p95 < 2s, phase: peak}")
	}
	*c = Condition(form.Limit)
	c.Phase, c.at = form.Phase, &n
	return nil
}

// fault is an error at the condition's place.
func (c Condition) fault(name, format string, args ...any) error {
	if c.at != nil {
		return c.at.Errorf(format, args...)
	}
	return fmt.Errorf("gate %s %q: %w", name, c, fmt.Errorf(format, args...))
}

// clip keeps what an error quotes to a length a line bears.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
