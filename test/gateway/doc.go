// Package gateway holds the gateway against what applications use: the official
// SDKs, unmodified, read through it what they read directly. Whatever the
// gateway adds (heartbeats, ids, what resuming needs) must be lost on them, and
// what it says itself must be raised by them.
//
// It refuses to look inside: it is the SDKs of test/sdk, the mock, and a
// gateway between the two.
package gateway
