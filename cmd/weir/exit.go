package main

import (
	"errors"
	"fmt"
)

// The exit codes of weir. Where several hold: usage, noStream, unfit, gate or
// regression, in that order.
const (
	exitFailed     = 1 // weir itself failed
	exitUsage      = 2 // usage or configuration
	exitGate       = 3 // a gate failed or was undecided; probe: a request was not complete
	exitRegression = 4 // a comparison found a regression
	exitUnfit      = 5 // the instrument was not fit
	exitNoStream   = 6 // the target gave no stream at all
)

// exitError carries an exit code; a nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usagef is an error of usage or configuration.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitWith ends the program with a code and, where err is nil, in silence: the
// result was reported already.
func exitWith(code int, err error) error { return &exitError{code, err} }

// exitCode is the code that err asks for.
func exitCode(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.code
	}
	return exitFailed
}

// silent reports whether err has nothing to print.
func silent(err error) bool {
	var e *exitError
	return errors.As(err, &e) && e.err == nil
}
