package client

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"weir/wire"
)

// Options say how a stream is followed. The zero value works.
type Options struct {
	HTTP   *http.Client // nil = one without a timeout, which a stream must not have
	Header http.Header  // sent with every request that resumes, such as Authorization

	// Streams is the URL below which the gateway's streams are; "" =
	// /weir/streams/ at the host that was asked. Only Do uses it.
	Streams string

	Delay  time.Duration // before the first new try, doubled for each further one; 0 = 1 s, or what the server's retry says
	Jitter time.Duration // the most that is added to a delay by chance; 0 = 500 ms, under 0 = none
	Tries  int           // tries in a row that bring nothing before it gives up; 0 = 5

	// Silence is how long a connection may bring no byte, heartbeats included,
	// before it is taken for broken. 0 = for ever: where the gateway sends no
	// heartbeats a silent connection may well be alive.
	Silence time.Duration

	// Terminal reports whether the stream has said all once this event is its
	// last; nil = the function Terminal. Where it is false at the end of a
	// connection the gateway is asked.
	Terminal func(Event) bool

	FrameLimit int             // most bytes of one event; 0 = wire.DefaultFrameLimit
	Retrying   func(Reconnect) // told before each wait; nil = nobody
}

// longestWait bounds what a server can make a client wait.
const longestWait = 5 * time.Minute

func (o Options) filled() Options {
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	if o.Delay <= 0 {
		o.Delay = time.Second
	}
	if o.Jitter == 0 {
		o.Jitter = 500 * time.Millisecond
	}
	if o.Tries <= 0 {
		o.Tries = 5
	}
	if o.Terminal == nil {
		o.Terminal = Terminal
	}
	if o.FrameLimit <= 0 {
		o.FrameLimit = wire.DefaultFrameLimit
	}
	if o.Retrying == nil {
		o.Retrying = func(Reconnect) {}
	}
	return o
}

// Event is one event of a stream. It is its receiver's to keep.
type Event struct {
	Name string // SSE event type; "" = message, or no SSE
	Data []byte
	ID   string // the event's own id; "" where it has none, as a heartbeat
}

// Reconnect is a try to go on with a stream.
type Reconnect struct {
	Try  int           // 1 = the first since the stream last brought something
	Wait time.Duration // before it
	Err  error         // what broke
	From string        // id of the last event, "" = none had one
}

// The errors of a stream. A *StatusError, a *GapError or the context's error
// tells more.
var (
	ErrGap      = errors.New("the gateway does not hold all that is missing")
	ErrGaveUp   = errors.New("the stream broke and could not be resumed")
	ErrUnproven = errors.New("the connection ended without a terminal event, and the stream cannot be resumed")
	ErrNoStream = errors.New("the answer is no stream")
)

// GapError says where events are missing. The events before it were all there.
type GapError struct {
	From   string // id of the last event before the gap, "" = none had one
	Detail string
}

// Error says where events are missing.
func (e *GapError) Error() string {
	if e.From == "" {
		return fmt.Sprintf("%v: %s", ErrGap, e.Detail)
	}
	return fmt.Sprintf("%v: after event %s: %s", ErrGap, e.From, e.Detail)
}

// Is reports that a GapError is ErrGap.
func (e *GapError) Is(target error) bool { return target == ErrGap }

// StatusError is an answer that is no stream. 404 says that there is no such
// stream any more, or that it is another's.
type StatusError struct {
	Status int
	Body   string // its beginning, at most 4 KiB
	wait   time.Duration
}

// Error is the status and the beginning of the body.
func (e *StatusError) Error() string {
	return fmt.Sprintf("the server answered %d %s: %.300q", e.Status, http.StatusText(e.Status), e.Body)
}

// temporary reports whether the same request may work later.
func (e *StatusError) temporary() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return e.Status >= 500 && e.Status != http.StatusNotImplemented
}
