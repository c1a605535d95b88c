package dialect

import "weir/stream"

// counter turns what frames say of tokens into the tokens of each event. It is
// never a guess: where the protocol does not count, Tokens stays missing. A
// cumulative count is believed before a list: of a character that took three
// tokens llama.cpp lists one (seen in its token ids and its logprobs).
type counter struct {
	pending  int // exact tokens not yet on an event
	exact    bool
	total    int // cumulative count as the frame at hand states it
	stated   bool
	last     int  // cumulative count up to the last business event
	unsynced bool // business came without a count since: a difference would not be this event's
}

// add counts n tokens that the frame at hand states that it holds.
func (t *counter) add(n int) { t.pending, t.exact = t.pending+n, true }

// addListed is add for a list with an entry per token (logprobs, token ids),
// which is empty or absent where it was not asked for.
func (t *counter) addListed(n int) {
	if n > 0 {
		t.add(n)
	}
}

// cumulative says how many tokens there are up to and with the frame at hand.
func (t *counter) cumulative(n int) { t.total, t.stated = n, true }

// settle puts the frame's tokens on its events of the counted kinds: the first
// holds them all, the others none. Without such an event they wait for the next.
func (t *counter) settle(events []stream.Event, counted func(stream.Kind) bool) {
	var tokens stream.Maybe[int]
	first := true
	for i := range events {
		switch e := &events[i]; {
		case !counted(e.Kind):
		case first:
			tokens, first = t.take(), false
			e.Tokens = tokens
		case tokens.Known():
			e.Tokens = stream.Some(0)
		}
	}
	t.stated = false
}

func (t *counter) take() stream.Maybe[int] {
	n, known := t.pending, t.exact
	if t.stated && !t.unsynced && t.total > t.last {
		n, known = t.total-t.last, true
	}
	if t.stated {
		t.last, t.unsynced = t.total, false
	} else {
		t.unsynced = true
	}
	t.pending, t.exact = 0, false
	if !known {
		return stream.None[int]()
	}
	return stream.Some(n)
}

// restart forgets the counts of the voided attempt; whether a cumulative count
// goes on over a restart is not known.
func (t *counter) restart() { *t = counter{unsynced: true} }
