// Package probe makes one request as a client and observes its answer: when
// each byte came, by which socket read, how the connection was made, what the
// response says about itself, and how it ended.
//
// HTTP/1.1 is spoken by package http1, straight over the socket, where body
// bytes belong to socket reads by construction. HTTP/2 is net/http's, one
// connection per stream at a time, and is stamped when the body's read returns.
//
// On Linux a socket read is a recvmsg that brings the kernel's receive time.
// The times are used for a whole stream or not at all (METRICS §1).
//
// The package refuses to retry in silence (a repetition without the usage
// option, or on a new connection where the server had given up an idle one, is
// noted in the record), to end a stream because it is silent, to use a proxy,
// to carry credentials to another host, and to let a credential into a record
// or an error. A stream that failed is a record with an outcome; an error means
// that there was nothing to send.
package probe
