// Package http1 is the client's side of an HTTP/1.1 connection that knows which
// socket read brought which byte of a body: for probe, which measures by it,
// and for the gateway's upstreams.
//
// It is not net/http's Transport. Body bytes belong to socket reads by
// construction (the framing decoder runs over each read's bytes, so there is
// nothing to guess behind a bufio.Reader); one goroutine per stream does
// everything, without the hand-offs between a read loop, a write loop and the
// reader of the body; and no buffer is held while a stream is silent. The head
// of a response is still read by http.ReadResponse.
//
// On Linux a socket read is a recvmsg that brings the kernel's receive time.
//
// The package refuses to follow redirects, to use a proxy, to decompress, to
// pipeline, to repeat a request whose connection was new or which the server
// may have read (unless by its method or its Idempotency-Key it may come twice),
// and to speak HTTP/2: where TLS settles on it, it says so.
package http1
