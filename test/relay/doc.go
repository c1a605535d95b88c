// Package relay starts relays that hold a stream back, each in its own way, in
// front of whatever a test serves: nginx and HAProxy as Debian ships them, and
// two of our own with sizes and periods that no product uses.
//
// It refuses to tune them: a configuration holds what names the behaviour and
// nothing else, because people meet relays with their defaults.
package relay
