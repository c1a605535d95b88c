// Package client follows a stream of a gateway and resumes it by itself: what
// its caller gets is every event once, in order, or an error that says what is
// missing.
//
// It refuses to take the end of a connection for the end of the stream: only a
// terminal event or the gateway's word (204) is one. It refuses to send a
// question a second time, to go on over a gap, to retry for ever, and to break
// a silent connection that its caller did not tell it to break: a model may
// think for minutes.
package client
