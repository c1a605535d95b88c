// Package sdk holds the official SDKs, as Node drivers, against the mock: what
// the mock writes is read to the end by the libraries that applications use,
// so that a measurement of the mock is a measurement of the real wire form.
//
// It refuses to be a second client: a driver states what its SDK gave it and
// judges nothing. package-lock.json pins the versions; tools/peers.sh installs.
package sdk
