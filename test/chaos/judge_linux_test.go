package chaos

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"weir/client"
)

// The judge sees what must not be: without that no run says anything.
func TestVerdict(t *testing.T) {
	full := []client.Event{{Data: []byte("a")}, {Data: []byte("b")}, {Data: []byte("c")}, {Data: []byte("[DONE]")}}
	stop := client.Event{Data: []byte(`{"error":{"message":"m","reason":"owner_gone"}}`)}
	gone := client.Event{Data: []byte(`{"error":{"message":"m","code":"weir_gap"}}`)}
	of := func(list ...client.Event) []client.Event { return list }
	for _, c := range []struct {
		name   string
		kind   kind
		events []client.Event
		err    error
		want   outcome
	}{
		{"all", byHTTP, full, nil, whole},
		{"all, and then a reset", plainly, full, io.ErrUnexpectedEOF, whole},
		{"an error", byHTTP, of(full[0], stop), nil, failed},
		{"a gap", byHTTP, full[:2], &client.GapError{}, gapped},
		{"a gap in the stream", plainly, of(full[0], gone), nil, gapped},
		{"a refusal", byHTTP, nil, &client.StatusError{Status: 503}, refused},
		{"a refusal to go on", byHTTP, full[:1], &client.StatusError{Status: 404}, failed},
		{"no more tries", byHTTP, full[:1], fmt.Errorf("%w: x", client.ErrGaveUp), failed},
		{"a broken connection", plainly, full[:1], io.ErrUnexpectedEOF, broken},
		{"a clean end too early", byHTTP, full[:3], nil, lost},
		{"nothing", plainly, nil, nil, lost},
		{"a hole", byHTTP, of(full[0], full[2], full[3]), nil, lost},
		{"something else", byHTTP, of(full[0], client.Event{Data: []byte("x")}), nil, lost},
		{"something twice", byHTTP, of(full[0], full[1], full[1], full[2], full[3]), nil, doubled},
		{"the end twice", byHTTP, append(of(full...), full[3]), nil, doubled},
		{"an error after the end", byHTTP, append(of(full...), stop), nil, doubled},
		{"two errors", byHTTP, of(full[0], stop, stop), nil, doubled},
		{"an error, and then a cut of ours", plainly, of(full[0], stop), fmt.Errorf("read: %w", errCut), failed},
		{"an error and another", byHTTP, of(full[0], stop), errors.New("x"), doubled},
		{"more after an error", byHTTP, of(full[0], stop, full[1]), nil, doubled},
	} {
		g := &got{wish: &wish{kind: c.kind, full: full}, events: c.events, err: c.err}
		if o, why := g.verdict(); o != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, o, why, c.want)
		}
		g.late = true
		if o, _ := g.verdict(); o != hung {
			t.Errorf("%s, and no end: %s", c.name, o)
		}
	}
	g := &got{wish: &wish{id: "x"}, first: time.Now()}
	if n := len(again([]*got{g}, map[string][]time.Time{"x": {g.first.Add(-time.Second), g.first.Add(time.Second)}})); n != 1 {
		t.Errorf("%d questions that were asked again, of 1", n)
	}
}
