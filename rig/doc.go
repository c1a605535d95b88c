// Package rig holds the procedures that need both wings of weir: a probe
// session, the calibration of the instrument, the demonstration.
//
// It refuses to measure, to judge and to format by itself; it only calls those
// who do, in order, and keeps what they said.
package rig
