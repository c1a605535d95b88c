package dialect

import (
	"net/http"

	"weir/stream"
	"weir/wire"
)

// Dialect is one provider's protocol: how to ask, what its frames mean, how
// its answers end.
type Dialect interface {
	// Name is the dialect's name on the command line and in records.
	Name() string
	// Match reports whether the hint looks like this dialect. Fields of the hint
	// that are not known yet are empty and decide nothing.
	Match(Hint) bool
	// Request builds the request that asks for an answer.
	Request(Ask) (*http.Request, error)
	// NewClassifier returns the classifier of one response.
	NewClassifier() Classifier
}

// Classifier gives the frames of one response their meaning. It keeps state
// and is not safe for concurrent use.
type Classifier interface {
	// Classify calls emit for each event in the frame, in order; a frame that
	// means nothing known gives one event of KindOther with a Note. It fills only
	// the meaning (Kind … Note) of the event, which is valid, and may be written
	// to, until the next call. Strings of the event are copies.
	// An error means weir could not do its job, never that the input is odd.
	Classify(f wire.Frame, emit func(*stream.Event)) error
	// Ended says, after the last frame, how the answer ended by the protocol.
	Ended() stream.End
}

// Flusher is a Classifier that may hold text back for a while: the beginning of
// a <think> tag that is cut over deltas. Flush gives it out; it is called after
// the last frame and before Ended.
type Flusher interface {
	Flush(emit func(*stream.Event))
}

// Hint is what is known of a request and its response when a dialect is chosen.
type Hint struct {
	Method      string
	Path        string // URL path
	Query       string // raw query
	ContentType string // of the response
	Event       string // SSE event name of the first frame that has data
	First       []byte // the first bytes of the body, or the data of the first frames
}

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Ask is what the user wants to ask. Its zero value with a URL is a short
// built-in question, streamed.
type Ask struct {
	URL       string
	Model     string
	Prompt    string
	Messages  []Message // instead of Prompt
	Body      []byte    // sent as it is, instead of a body made by the dialect
	MaxTokens int       // 0 = the dialect's default of 200
	Whole     bool      // ask for one whole answer instead of a stream
	NoUsage   bool      // do not ask for usage
	APIKey    string    // put where the dialect's service wants it; never logged
	Header    http.Header
}
