package report

import (
	"cmp"
	"slices"

	"weir/table"
)

// reasons counts the reasons of one outcome, the most frequent first. Rows
// without a reason are not counted.
func reasons(rows []table.Row, outcome string) []table.Share {
	var out []table.Share
	at, of := map[string]int{}, 0
	for i := range rows {
		r := &rows[i]
		if string(r.Outcome) != outcome {
			continue
		}
		of++
		if r.Reason == "" {
			continue
		}
		if _, ok := at[r.Reason]; !ok {
			at[r.Reason] = len(out)
			out = append(out, table.Share{Name: r.Reason})
		}
		out[at[r.Reason]].N++
	}
	for i := range out {
		out[i].Of, out[i].Share = of, float64(out[i].N)/float64(of)
	}
	slices.SortStableFunc(out, func(a, b table.Share) int { return cmp.Compare(b.N, a.N) })
	return out
}
