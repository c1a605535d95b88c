package tap

// pages is a list that grows without being copied, which would cost a long
// response as much as its reading. The zero value is empty.
type pages[T any] struct {
	all [][]T // each full, except the last
	n   int
}

// pageSize is how many values share a page. The first page grows with its
// values: many responses are short, and many wait.
const pageSize = 64

func (p *pages[T]) add(v T) {
	if p.n%pageSize == 0 {
		var page []T
		if p.n > 0 {
			page = make([]T, 0, pageSize)
		}
		p.all = append(p.all, page)
	}
	last := &p.all[len(p.all)-1]
	*last = append(*last, v)
	p.n++
}

// at is the i-th value, from 0; the pointer is valid until the next add.
func (p *pages[T]) at(i int) *T { return &p.all[i/pageSize][i%pageSize] }
