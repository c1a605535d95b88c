package judge

import (
	"fmt"

	"weir/stat"
)

// Alpha is the chance of a false alarm in the whole family of a comparison.
const Alpha = 0.05

// CanConvict reports whether k runs a side can find a difference in any of m
// figures at all: Holm's first step asks for p ≤ 0.05/m, and the smallest p of
// the exact rank test is 2/C(2k,k). m below 1 counts as 1.
func CanConvict(k, m int) bool { return canConvict(k, k, m) }

func canConvict(na, nb, m int) bool {
	return stat.LeastP(na, nb) <= Alpha/float64(max(m, 1))
}

// NeedRuns is the number of runs a side below which no difference in m figures
// can be found: 4 for 1, 5 for up to 6, 6 for up to 23, 7 for up to 85.
func NeedRuns(m int) int {
	k := 1
	for !CanConvict(k, m) {
		k++
	}
	return k
}

// MaxFigures is the number of figures that k runs a side can decide on, 0 where
// they can decide on none.
func MaxFigures(k int) int { return int(Alpha / stat.LeastP(k, k) * (1 + 1e-12)) }

// Forewarn says before any run is made what k runs a side cannot do for m
// figures; "" where they are enough.
func Forewarn(k, m int) string { return ForewarnSides(k, k, m) }

// ForewarnSides is Forewarn for sides of unequal numbers of runs, such as a
// baseline that is there already.
func ForewarnSides(a, b, m int) string {
	if canConvict(a, b, m) {
		return ""
	}
	return underpowered(a, b, m)
}

func underpowered(na, nb, m int) string {
	return fmt.Sprintf("with %s of A and %s of B no difference can be found in %s, however large (the least p is %.3g, and %.3g is asked for): %d runs a side are needed; the comparison is indicative only",
		counted(na, "run"), counted(nb, "run"), counted(m, "figure"), stat.LeastP(na, nb), Alpha/float64(max(m, 1)), NeedRuns(m))
}

// counted is "1 run", "2 runs".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
