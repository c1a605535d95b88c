package tap

// fetch loads what the events of the next read will need, here and there in
// memory, and is called before all that. Who serves many streams finds the
// memory of each outside of the processor's cache, and asked for one piece after
// another, as the events' way leads to them, the pieces are waited for in turn;
// asked for at once, they come at once. It returns what keeps a compiler from
// leaving it out.
//
//go:noinline
func (t *Tap) fetch() int {
	n := t.read + t.several + t.reads.n + t.kept.list.n + t.o.EventLimit
	if e := t.now; e != nil {
		n += e.Choice + e.Read + len(e.Model) + len(e.Note) + len(e.Marks)
	}
	if i := len(t.reads.last); i > 0 {
		n += t.reads.last[i-1].arrival
	}
	if i := len(t.kept.list.last); i > 0 {
		n += int(t.kept.list.last[i-1].read)
	}
	if i := len(t.kept.shapes); i > 0 {
		s := &t.kept.shapes[i-1]
		n += s.choice + len(s.bodyID)
	}
	return n
}
