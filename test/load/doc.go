// Package load proves the load generator as people run it: the built program,
// services in processes of their own, and what goes wrong around it: a target
// that dies, refuses, resets and hangs, a full disk, no port left, an
// interruption at any moment, and a thousand streams at once.
//
// It refuses to look inside: what is asserted is the exit code, what was
// printed, and the files that are left.
package load
