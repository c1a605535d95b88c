package tap

// pages is a list that grows without being copied, which would cost a long
// response as much as its reading. The zero value is empty.
type pages[T any] struct {
	last []T // the page in progress: not among the full ones, whose list would have to be looked up for every value
	n    int
	full [][]T
}

// pageSize is how many values share a page. The first page grows with its
// values: many responses are short, and many wait.
const pageSize = 64

// next is the place of one more value; the pointer is valid until the next one.
func (p *pages[T]) next() *T {
	if len(p.last) == pageSize {
		p.full = append(p.full, p.last)
		p.last = make([]T, 0, pageSize)
	}
	var none T
	p.last = append(p.last, none)
	p.n++
	return &p.last[len(p.last)-1]
}

// at is the i-th value, from 0; the pointer is valid until the next one comes.
func (p *pages[T]) at(i int) *T {
	if k := i / pageSize; k < len(p.full) {
		return &p.full[k][i%pageSize]
	}
	return &p.last[i%pageSize]
}
