// Package chaos runs the built program as people would, several gateways, edges
// and workers over a real Redis, and takes it apart while hundreds of clients
// read: processes are killed, stopped and drained by a seeded plan, Redis too,
// and connections are cut. What every client got is then held against what the
// service is known to say.
//
// It refuses to look inside, and to call a stream fine that only ended: it is
// whole, or it is a prefix and one explicit word that it is no more.
package chaos
