package ws

import "strconv"

// Protocol is the version that a hello states. It grows when a client that
// knows the one before could be misled.
const Protocol = 1

// Code is a close code of a socket, and in an End what came of one stream.
type Code int

// The codes. Those of RFC 6455 keep their meaning; from 4000 to 4499 the client
// may come back and try the same again, from 4500 to 4999 it must not.
const (
	Normal      Code = 1000 // the stream ended as it should; the socket was closed on purpose
	Binary      Code = 1003 // a binary frame came
	TooBig      Code = 1009 // a message was larger than hello's limit
	Broken      Code = 1011 // the model service broke off, or the gateway failed
	Drain       Code = 4000 // the gateway closes: come back after retry_after_ms
	Slow        Code = 4001 // the client did not read
	Stalled     Code = 4002 // no pong, or a model service that said nothing in time
	Capacity    Code = 4003 // a limit is reached
	BadMessage  Code = 4500 // a message that is not of the protocol
	Unauth      Code = 4501 // a key that the gateway does not know, or none in time
	Unresumable Code = 4502 // no such stream, or it is another's, or it was not kept
	Gap         Code = 4503 // events after the position are no longer there
	Refused     Code = 4504 // the request was refused, and would be again
	Stopped     Code = 4505 // the stream was stopped
)

// Meaning is what docs and schemas say of a code.
type Meaning struct {
	Code Code
	Name string
	Text string
}

// Codes is every code that a gateway sends.
var Codes = []Meaning{
	{Normal, "normal", "the answer is whole, or the socket was closed on purpose"},
	{Binary, "binary", "a binary frame came; the protocol is text"},
	{TooBig, "too_big", "a message was larger than the limit that hello states"},
	{Broken, "broken", "the model service broke off before the answer was complete, or the gateway failed"},
	{Drain, "drain", "the gateway closes; come back after retry_after_ms"},
	{Slow, "slow", "the client did not read what was sent"},
	{Stalled, "stalled", "no pong came, or the model service said nothing in time"},
	{Capacity, "capacity", "a limit of the gateway or of the socket is reached"},
	{BadMessage, "bad_message", "a message that is not of the protocol"},
	{Unauth, "unauthorized", "no key that the gateway knows came in time"},
	{Unresumable, "not_resumable", "there is no such stream, or it is another's, or it was not kept"},
	{Gap, "gap", "events after the position are no longer there"},
	{Refused, "refused", "the request was refused, and the same would be again"},
	{Stopped, "stopped", "the stream was stopped by its owner"},
}

// MayReconnect reports whether a client that got this close code may come back
// and try the same again. 1005 and 1006 say that nobody said why: it may.
func (c Code) MayReconnect() bool {
	switch {
	case c >= 4000 && c < 4500:
		return true
	case c == 1001, c == 1005, c == 1006, c == Broken, c == 1012, c == 1013, c == 1014:
		return true
	}
	return false
}

// Sendable is the code to pass on for one that came from another connection:
// 1005, 1006 and 1015 say that no code came and must not be sent, so that they,
// and whatever is no close code, are 1011. A client that got none would wait.
func (c Code) Sendable() Code {
	switch {
	case c >= 1000 && c <= 1003, c >= 1007 && c <= 1014, c >= 3000 && c <= 4999:
		return c
	}
	return Broken
}

// String is the code's name, or its number.
func (c Code) String() string {
	for _, m := range Codes {
		if m.Code == c {
			return m.Name
		}
	}
	return strconv.Itoa(int(c))
}
