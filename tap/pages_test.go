package tap

import "testing"

func TestPagesKeepEveryValue(t *testing.T) {
	for _, n := range []int{0, 1, pageSize - 1, pageSize, pageSize + 1, 3*pageSize + 7} {
		var p pages[int]
		for i := range n {
			*p.next() = i * i
			*p.at(i)++
		}
		if p.n != n {
			t.Errorf("%d values of %d", p.n, n)
		}
		for i := range n {
			if got := *p.at(i); got != i*i+1 {
				t.Errorf("of %d, value %d is %d", n, i, got)
			}
		}
	}
}
