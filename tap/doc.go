// Package tap is the one pipe from bytes to a record, used by every source of
// streams: reads are registered with their stamps, their bytes go through the
// framing and the dialect, and what comes out is one record per answer.
//
// It refuses to look at a clock (whoever reads the socket stamps), to fetch,
// to print, and to compute metrics; it decides the outcome and nothing else.
package tap
