// Package workers holds edges and workers together over a real Redis: what a
// client gets is what it would get from the service, whatever dies in between.
//
// It refuses to imitate Redis.
package workers
