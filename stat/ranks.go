package stat

import (
	"cmp"
	"slices"
)

// ranked is two samples ranked together. Ranks are doubled, so that the mean
// rank of a tie is an integer and no comparison of rank sums rounds.
type ranked struct {
	doubled []int // the doubled mean ranks of all values, in order of value
	sumA    int   // of the first sample
	tied    bool
}

// rank ranks a and b together, ties at their mean rank. Infinities are values
// like others: equal ones tie. NaN has no rank; callers keep it out.
func rank(a, b []float64) ranked {
	type member struct {
		v   float64
		ofA bool
	}
	all := make([]member, 0, len(a)+len(b))
	for _, v := range a {
		all = append(all, member{v: v, ofA: true})
	}
	for _, v := range b {
		all = append(all, member{v: v})
	}
	slices.SortFunc(all, func(x, y member) int { return cmp.Compare(x.v, y.v) })
	r := ranked{doubled: make([]int, len(all))}
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].v == all[from].v {
			to++
		}
		r.tied = r.tied || to-from > 1
		for i := from; i < to; i++ {
			r.doubled[i] = from + 1 + to // twice the mean of the ranks from+1 … to
			if all[i].ofA {
				r.sumA += r.doubled[i]
			}
		}
		from = to
	}
	return r
}

// sums counts, for every total, the subsets of size k of the doubled ranks that
// have it: the null distribution of the rank sum given the ties, up to a
// factor. The count at index i is of the total i. Counts are kept in float64:
// they are only added, so that each is right to 15 digits at any size.
func sums(doubled []int, k int) []float64 {
	total := 0
	for _, d := range doubled {
		total += d
	}
	count := make([][]float64, k+1)
	for j := range count {
		count[j] = make([]float64, total+1)
	}
	count[0][0] = 1
	reach := make([]int, k+1) // the largest total a subset of size j has so far
	for i, d := range doubled {
		for j := min(i+1, k); j >= 1; j-- {
			for s := 0; s <= reach[j-1]; s++ {
				if n := count[j-1][s]; n > 0 {
					count[j][s+d] += n
				}
			}
			reach[j] = max(reach[j], reach[j-1]+d)
		}
	}
	return count[k]
}

// untied is the doubled ranks of n values without ties: 2, 4, …, 2n.
func untied(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = 2 * (i + 1)
	}
	return out
}
