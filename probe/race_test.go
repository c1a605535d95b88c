//go:build race

package probe

// raceDetector: sync.Pool drops what it is given now and then.
const raceDetector = true
