package stream

import (
	"context"
	"time"
)

// Record is one answer as it was observed: each choice of a request and each
// response on a WebSocket has its own. Choices of one request share t0, reads
// and usage. Durations are since t0 unless said otherwise.
type Record struct {
	RequestID string // ours; of one of several choices "id#index"
	Choice    int
	Choices   int    // answers in this request; at least 1
	Run       string // the run it belongs to, or ""
	Index     int    // position in the run, from 0

	Start    time.Time            // t0 on the wall clock, UTC; zero = a log did not say
	Lateness Maybe[time.Duration] // sent − scheduled; missing where there was no schedule
	InFlight Maybe[int]           // streams in flight when it started

	Target     string // URL without credentials
	Hop        string // name of the path to the service ("" = the main one)
	Method     string
	Dialect    string
	DialectWhy string // what chose the dialect
	Model      string
	Streamed   bool // a stream was asked for
	UsageAsked bool // usage was asked for (a missing one is then a finding)
	Labels     map[string]string
	Marks      []string // names of the marks that were looked for; one that stands in no event was not reached

	Conn     string // cold | warm | "" unknown
	Stamp    Stamp
	StampWhy string // why not kernel stamps
	Phases   Phases
	Facts    Facts

	Reads    []Read
	Arrivals []Arrival
	Events   []Event

	Whole     bool   // the answer came as one body, not as a stream
	NoReads   bool   // a log without reads: equal times are one arrival
	TextKept  bool   // Events hold text
	Prompt    string // what was asked, where text is kept; never with credentials
	Usage     *Usage
	Outcome   Outcome
	Reason    string
	Detail    string
	Proof     Proof
	Finish    string // finish reason, as the service writes it
	Fault     *Fault
	End       Maybe[time.Duration] // EOF or abort
	HangAt    Maybe[time.Duration] // suspected_hang_at: silence of 10 s began to look like a hang
	RcvOOO    Maybe[int]           // segments received out of order during the stream (tcpi_rcv_ooopack)
	Expect    Expect
	Truncated bool     // body larger than weir keeps; the rest was counted, not kept
	Notes     []string // what weir itself did or chose: "usage was refused and dropped"
}

// Expect is what the user said the answer should have; zero = nothing said.
type Expect struct {
	Events int
	Chars  int
}

// Phases of the connection and request. DNS, Connect and TLS are durations,
// absent on a reused connection; the others are since t0.
type Phases struct {
	DNS            Maybe[time.Duration]
	Connect        Maybe[time.Duration]
	TLS            Maybe[time.Duration]
	RequestWritten Maybe[time.Duration]
	Headers        Maybe[time.Duration]
	FirstByte      Maybe[time.Duration] // of the body
}

// Facts are what the response said about itself and the path it took. A
// header that was not sent is "".
type Facts struct {
	HTTPVersion      string            `json:"http_version,omitempty"` // HTTP/1.0, HTTP/1.1, HTTP/2.0
	Status           int               `json:"status,omitempty"`
	Remote           string            `json:"remote,omitempty"` // address that answered
	TLSVersion       string            `json:"tls_version,omitempty"`
	ContentType      string            `json:"content_type,omitempty"`
	ContentEncoding  string            `json:"content_encoding,omitempty"`
	TransferEncoding string            `json:"transfer_encoding,omitempty"` // chunked | length | close
	Server           string            `json:"server,omitempty"`
	Via              string            `json:"via,omitempty"`
	XAccelBuffering  string            `json:"x_accel_buffering,omitempty"`
	CacheControl     string            `json:"cache_control,omitempty"`
	XCache           string            `json:"x_cache,omitempty"`
	Age              string            `json:"age,omitempty"`
	ServerTiming     string            `json:"server_timing,omitempty"`
	RetryAfter       string            `json:"retry_after,omitempty"`
	OurID            string            `json:"our_id,omitempty"`      // x-request-id we sent
	EchoedID         string            `json:"echoed_id,omitempty"`   // x-request-id that came back, if it is ours
	UpstreamID       string            `json:"upstream_id,omitempty"` // an id the upstream made (x-request-id, request-id, apim-request-id …)
	BodyID           string            `json:"body_id,omitempty"`     // id inside the body (chatcmpl-…)
	TraceParent      string            `json:"traceparent,omitempty"` // what we sent
	Redirects        []string          `json:"redirects,omitempty"`
	BodyStart        string            `json:"body_start,omitempty"` // first bytes of a body that was no stream
	BodyBytes        int64             `json:"body_bytes,omitempty"` // after content decoding
	WireBytes        int64             `json:"wire_bytes,omitempty"` // before content decoding
	Extra            map[string]string `json:"extra,omitempty"`
}

// Sink takes finished records. Put must not keep r's slices after it returns
// unless the implementation says so.
type Sink interface {
	Put(ctx context.Context, r *Record) error
}
