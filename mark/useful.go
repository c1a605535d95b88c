package mark

import (
	"fmt"
	"strconv"
	"strings"
)

// UsefulName is the mark that Useful defines.
const UsefulName = "useful"

// Useful is the mark "useful": every one of the comma-separated fields is
// present in the business state, neither null nor an empty string. A dot goes
// into an object: "result.decision".
func Useful(fields string) (Def, error) {
	var terms []string
	for _, f := range strings.Split(fields, ",") {
		f = strings.TrimSpace(f)
		path, err := statePath(f)
		if err != nil {
			return Def{}, fmt.Errorf("useful %q: %w", fields, err)
		}
		terms = append(terms, fmt.Sprintf("(%s ?? \"\") != \"\"", path))
	}
	return Def{Name: UsefulName, Expr: strings.Join(terms, " && ")}, nil
}

// statePath is the expression that reads a field, nil where a part is absent.
func statePath(field string) (string, error) {
	if field == "" {
		return "", fmt.Errorf("a field name is empty; write decision,reason,next_step")
	}
	b := strings.Builder{}
	b.WriteString("state")
	for i, part := range strings.Split(field, ".") {
		if !nameRule.MatchString(part) {
			return "", fmt.Errorf("%q is no field name: letters, digits, _ and -, with dots between the parts", field)
		}
		if i > 0 {
			b.WriteString("?.")
		}
		b.WriteString("[" + strconv.Quote(part) + "]")
	}
	return b.String(), nil
}
