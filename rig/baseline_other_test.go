//go:build !linux

package rig

// hasEpoll: the baseline can run.
const hasEpoll = false
