// Package gateway stands between chat clients and model services: it passes
// every stream through with the data of its events unchanged, measures it with
// the same ruler as the rest of weir, and ends it exactly once.
//
// It refuses to translate between dialects, to replay silently after the first
// output, to send a byte a client's SDK could choke on, to let a caller choose
// where a server's key goes, and to log what people say.
package gateway
