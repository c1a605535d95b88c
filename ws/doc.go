// Package ws is the JSON text protocol that a gateway speaks on a WebSocket:
// its messages, how they are written and read, and what its close codes mean.
//
// It refuses what it does not know (a message of an unknown type, a field that
// the type does not have), and says where. It has no socket and no clock.
package ws
