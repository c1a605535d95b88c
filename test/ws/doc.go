// Package ws holds the tests of the WebSocket protocol from outside: a
// conformance suite that any server may be asked by, a page in Chromium, and
// npm's ws.
//
// It refuses to look inside a server: what it asks can be asked of any.
package ws
