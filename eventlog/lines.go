package eventlog

import (
	"encoding/json"
	"time"

	"weir/stream"
)

// The event_type of the lines that are not events.
const (
	typeRequest = "request"
	typeEnd     = "end"
	typeTorn    = "torn" // written before anything else when the line above was cut by a crash
)

// requestLine is the first line of a record.
type requestLine struct {
	RequestID  string            `json:"request_id"`
	EventSeq   int               `json:"event_seq"` // 0
	EventType  string            `json:"event_type"`
	Log        int               `json:"log"` // Version
	Start      *time.Time        `json:"start"`
	Run        string            `json:"run"`
	Index      int               `json:"index"`
	Choice     int               `json:"choice"`
	Choices    int               `json:"choices"`
	Target     string            `json:"target"`
	Hop        string            `json:"hop"`
	Method     string            `json:"method"`
	Dialect    string            `json:"dialect"`
	DialectWhy string            `json:"dialect_why"`
	Model      string            `json:"model"`
	Streamed   bool              `json:"streamed"`
	UsageAsked bool              `json:"usage_asked"`
	Labels     map[string]string `json:"labels"`
	Marks      []string          `json:"marks"` // names that were looked for
	Conn       string            `json:"conn"`
	Stamp      stream.Stamp      `json:"stamp"`
	StampWhy   string            `json:"stamp_why"`
	Lateness   ms                `json:"lateness_ms"`
	InFlight   stream.Maybe[int] `json:"in_flight_at_start"`
	Expect     expect            `json:"expect"`
	Phases     phases            `json:"phases"`
	Facts      stream.Facts      `json:"facts"`
	TextKept   bool              `json:"text_kept"`
	Prompt     string            `json:"prompt,omitempty"` // only with KeepText
}

type expect struct {
	Events int `json:"events"`
	Chars  int `json:"chars"`
}

type phases struct {
	DNS            ms `json:"dns_ms"`
	Connect        ms `json:"connect_ms"`
	TLS            ms `json:"tls_ms"`
	RequestWritten ms `json:"request_written_ms"`
	Headers        ms `json:"headers_ms"`
	FirstByte      ms `json:"first_byte_ms"`
}

// endLine is the last line of a record. Reads and arrivals are rows of
// numbers in nanoseconds: they are most of the line, and are for programs.
type endLine struct {
	RequestID string            `json:"request_id"`
	EventType string            `json:"event_type"`
	Outcome   *stream.Outcome   `json:"outcome"` // null = unknown
	Reason    string            `json:"reason"`
	Detail    string            `json:"detail"`
	Proof     string            `json:"proof"`
	Finish    string            `json:"finish"`
	Fault     *stream.Fault     `json:"fault"`
	Usage     *stream.Usage     `json:"usage"`
	End       ms                `json:"end_ms"`
	HangAt    ms                `json:"suspected_hang_at_ms"`
	RcvOOO    stream.Maybe[int] `json:"rcv_ooopack"`
	Whole     bool              `json:"whole"`
	NoReads   bool              `json:"no_reads"`
	Truncated bool              `json:"truncated"`
	Notes     []string          `json:"notes"`
	Arrivals  arrivalRows       `json:"arrivals"`
	Reads     readRows          `json:"reads"`
}

// eventLine is one event as it is read, from this log or a foreign one.
type eventLine struct {
	RequestID   string              `json:"request_id"`
	EventSeq    stream.Maybe[int64] `json:"event_seq"`
	ServiceSeq  stream.Maybe[int64] `json:"service_seq"`
	EventType   string              `json:"event_type"`
	Kind        string              `json:"kind"`
	ServiceTime ms                  `json:"service_time_ms"`
	Time        ms                  `json:"time_ms"` // the article's name of service_time_ms
	ClientTime  ms                  `json:"client_time_ms"`
	AtNS        stream.Maybe[int64] `json:"at_ns"`
	TokenCount  stream.Maybe[int]   `json:"token_count"`
	Batch       json.RawMessage     `json:"batch"` // the article's own flag
	Read        int                 `json:"read"`
	Arrival     int                 `json:"arrival"`
	Chars       stream.Maybe[int]   `json:"chars"`
	Visible     stream.Maybe[int]   `json:"visible"`
	Wide        stream.Maybe[int]   `json:"wide"`
	Bytes       int                 `json:"bytes"`
	Marks       []string            `json:"marks"`
	Extra       json.RawMessage     `json:"extra"`
	Choice      int                 `json:"choice"`
	Name        string              `json:"name"`
	Text        string              `json:"text"`
	Summary     bool                `json:"summary"`
	Tool        string              `json:"tool"`
	Late        bool                `json:"late"`
	Took        ms                  `json:"took_ms"`
	Usage       *stream.Usage       `json:"usage"`
	Finish      string              `json:"finish"`
	Proof       string              `json:"proof"`
	Fault       *stream.Fault       `json:"fault"`
}

// extra holds what no number is made of.
type extra struct {
	BodyID string          `json:"body_id,omitempty"`
	Model  string          `json:"model,omitempty"`
	Note   string          `json:"note,omitempty"`
	State  json.RawMessage `json:"state,omitempty"` // only with KeepText
}

func (x extra) empty() bool {
	return x.BodyID == "" && x.Model == "" && x.Note == "" && len(x.State) == 0
}
