// Package ws holds the tests of the WebSocket protocol from outside: a
// conformance suite that any server may be asked by, a page in Chromium, and
// npm's ws.
package ws
