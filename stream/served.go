package stream

// Served is a finished request of a gateway, as whoever counts is told of it.
// Records are those of a stream; a plain answer has one without events.
type Served struct {
	Route, Upstream string
	Records         []*Record
	Generated       Amount // what the upstream sent
	Delivered       Amount // of that, what was written to the client
	Streamed        bool
	Terminal        string // the terminal frame the client got: done, error, "" none
	Reason          string // why the gateway itself ended it; "" = it did not
}

// Amount is how much of an answer. Tokens is missing where nobody counted them;
// Source is who did: usage, events, or "".
type Amount struct {
	Events int        `json:"events"` // business events
	Tokens Maybe[int] `json:"tokens"`
	Source string     `json:"token_source,omitempty"`
	Bytes  int64      `json:"bytes"`
}
