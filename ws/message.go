package ws

import "encoding/json"

// The messages of a client. ID is the client's own name of a stream on this
// socket: 1 to 64 of A-Z a-z 0-9 . _ -

// Auth shows a key, where the handshake could not: browsers set no headers.
type Auth struct {
	Key string `json:"key" doc:"the key, as in Authorization: Bearer"`
}

// Start asks a question: an HTTP request to one of the gateway's routes.
type Start struct {
	ID      string            `json:"id" doc:"the client's name of the stream on this socket"`
	Path    string            `json:"path" doc:"path of a route, with its query; never a key"`
	Method  string            `json:"method,omitempty" doc:"default POST"`
	Headers map[string]string `json:"headers,omitempty" doc:"request headers; Content-Type is application/json where none is given"`
	Body    json.RawMessage   `json:"body,omitempty" doc:"the request body, sent as it stands here"`
	Resume  bool              `json:"resume,omitempty" doc:"keep the stream, so that it can be resumed"`
}

// Append asks the next question of a stream that has ended: the same path and
// headers with another body, or with the last body and more in its lists.
type Append struct {
	ID   string                       `json:"id" doc:"the stream whose next turn this is"`
	Body json.RawMessage              `json:"body,omitempty" doc:"the whole body"`
	Add  map[string][]json.RawMessage `json:"add,omitempty" doc:"elements to add to lists at the top of the last body, such as messages"`
}

// Resume goes on with a stream that this client's key started, on this socket
// or another.
type Resume struct {
	ID          string `json:"id" doc:"the client's name of the stream on this socket"`
	Stream      string `json:"stream" doc:"the stream of an open"`
	After       int64  `json:"after,omitempty" doc:"seq of the last event that came; 0 = from the beginning"`
	LastEventID string `json:"last_event_id,omitempty" doc:"instead of after: event_id of the last event that came"`
}

// Cancel stops a stream and its model service, whoever else follows it.
type Cancel struct {
	ID string `json:"id" doc:"the stream to stop"`
}

// Leave stops following a stream. A resumable one goes on for its grace window.
type Leave struct {
	ID string `json:"id" doc:"the stream to leave"`
}

// Ping asks for a pong, for clients that cannot send ping frames.
type Ping struct {
	Data string `json:"data,omitempty" doc:"comes back in the pong"`
}

// The messages of a gateway.

// Hello is the first message of a socket.
type Hello struct {
	Protocol int    `json:"protocol" doc:"version of the protocol"`
	Auth     string `json:"auth" doc:"needed: send auth first; optional: it may be sent first; done: the handshake had a key"`
	Message  int64  `json:"message" doc:"most bytes of a message from the client"`
	Streams  int    `json:"streams" doc:"most streams at a time on this socket"`
	PingMs   int64  `json:"ping_ms" doc:"time between the gateway's ping frames; 0 = none"`
}

// Open says that a stream, or another answer, begins.
type Open struct {
	ID           string `json:"id"`
	Turn         int    `json:"turn" doc:"1, and one more with each append"`
	Status       int    `json:"status" doc:"HTTP status of the answer"`
	ContentType  string `json:"content_type,omitempty"`
	Stream       string `json:"stream,omitempty" doc:"the gateway's id of the stream, to resume it"`
	Resumable    bool   `json:"resumable,omitempty"`
	RequestID    string `json:"request_id"`
	UpstreamID   string `json:"upstream_id,omitempty" doc:"the model service's own request id"`
	TraceParent  string `json:"traceparent,omitempty" doc:"W3C trace context sent upstream"`
	ServerTiming string `json:"server_timing,omitempty" doc:"phases known by now, as in the header of that name"`
	RetryAfterMs int64  `json:"retry_after_ms,omitempty"`
}

// Event is one event of a stream. Its data is the service's, byte for byte.
type Event struct {
	ID      string  `json:"id"`
	Seq     int64   `json:"seq" doc:"number of the event in its stream, from 1: the position to resume after"`
	Event   string  `json:"event,omitempty" doc:"SSE event name"`
	EventID string  `json:"event_id,omitempty" doc:"SSE id: where the stream is kept, a position to resume after"`
	Data    *string `json:"data,omitempty" doc:"the event's data; absent where the event has none"`
	Base64  string  `json:"base64,omitempty" doc:"the data instead, where it is not valid UTF-8"`
	Partial bool    `json:"partial,omitempty" doc:"the stream ended within this event"`
}

// Heartbeat says that a stream is still there, between its events.
type Heartbeat struct {
	ID   string `json:"id"`
	Text string `json:"text,omitempty" doc:"a comment of the service"`
}

// Body is a piece of an answer that is no stream.
type Body struct {
	ID     string `json:"id"`
	Text   string `json:"text,omitempty"`
	Base64 string `json:"base64,omitempty" doc:"the piece instead, where it is not valid UTF-8"`
}

// End is the last message of a stream. Exactly one follows every start, append
// and resume that was not answered with an error.
type End struct {
	ID           string  `json:"id"`
	Turn         int     `json:"turn"`
	Outcome      string  `json:"outcome" doc:"done, error, cancelled, left or broken"`
	Code         Code    `json:"code" doc:"what came of it, as a close code"`
	Reconnect    bool    `json:"reconnect" doc:"the same may be tried, or resumed, again"`
	Reason       string  `json:"reason,omitempty" doc:"one word for programs"`
	Message      string  `json:"message,omitempty" doc:"a sentence for people"`
	Status       int     `json:"status,omitempty" doc:"HTTP status, or the one that there would have been"`
	RetryAfterMs int64   `json:"retry_after_ms,omitempty"`
	Events       int64   `json:"events" doc:"event messages sent"`
	RequestID    string  `json:"request_id,omitempty"`
	Phases       *Phases `json:"phases,omitempty" doc:"milliseconds, as in /weir/records/{request-id}; null = not reached, or not known"`
	Usage        *Usage  `json:"usage,omitempty" doc:"tokens as the service last stated them; null = it did not"`
}

// Phases are those of a finished request, in milliseconds.
type Phases struct {
	Queue       *float64 `json:"queue_ms"`
	Auth        *float64 `json:"auth_ms"`
	Route       *float64 `json:"route_ms"`
	Worker      *float64 `json:"worker_queue_ms" doc:"an edge's: until a worker had it"`
	Connect     *float64 `json:"connect_ms"`
	Headers     *float64 `json:"headers_ms"`
	FirstOutput *float64 `json:"ttft_ms"`
	Relay       *float64 `json:"relay_ms" doc:"from the first output to the end"`
	Total       *float64 `json:"total_ms"`
}

// Usage is the service's own count, under the names of the event log.
type Usage struct {
	Input     *int `json:"input"`
	Cached    *int `json:"cached" doc:"of the input"`
	Output    *int `json:"output" doc:"what the model thought included"`
	Reasoning *int `json:"reasoning" doc:"of the output"`
	Billed    *int `json:"billed" doc:"output exactly as the service writes it"`
	Seed      bool `json:"seed,omitempty" doc:"an opening value, and no count of what was streamed"`
}

// Error answers a message that could not be followed. The socket stays open.
type Error struct {
	ID      string `json:"id,omitempty" doc:"the stream of the message, where it has one"`
	Code    Code   `json:"code"`
	Reason  string `json:"reason" doc:"one word for programs"`
	Message string `json:"message"`
}

// DrainHint says that the gateway is closing: nothing more can be started here,
// what runs may end, and the socket is then closed with code 4000.
type DrainHint struct {
	RetryAfterMs int64 `json:"retry_after_ms" doc:"come back after this time, which is another for every socket"`
}

// Pong answers a ping.
type Pong struct {
	Data string `json:"data,omitempty"`
}

// Ready answers an auth that was accepted.
type Ready struct{}

// Kind is a type of message by its name.
type Kind struct {
	Name string
	From string // client or gateway
	New  func() any
	Doc  string
}

func made[T any]() any { return new(T) }

// Kinds is every message of the protocol.
var Kinds = []Kind{
	{"auth", "client", made[Auth], "shows a key, as the first message"},
	{"start", "client", made[Start], "asks a question"},
	{"append", "client", made[Append], "asks the next question of a stream that has ended"},
	{"resume", "client", made[Resume], "goes on with a stream after a position"},
	{"cancel", "client", made[Cancel], "stops a stream and its model service"},
	{"leave", "client", made[Leave], "stops following a stream"},
	{"ping", "client", made[Ping], "asks for a pong"},
	{"hello", "gateway", made[Hello], "the first message of a socket"},
	{"ready", "gateway", made[Ready], "the key was accepted"},
	{"open", "gateway", made[Open], "an answer begins"},
	{"event", "gateway", made[Event], "one event of a stream"},
	{"heartbeat", "gateway", made[Heartbeat], "a stream is still there"},
	{"body", "gateway", made[Body], "a piece of an answer that is no stream"},
	{"end", "gateway", made[End], "the last message of a stream"},
	{"error", "gateway", made[Error], "a message could not be followed"},
	{"drain", "gateway", made[DrainHint], "the gateway is closing"},
	{"pong", "gateway", made[Pong], "answers a ping"},
}
