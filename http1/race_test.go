//go:build race

package http1

// raceDetector: sync.Pool drops what it is given now and then.
const raceDetector = true
