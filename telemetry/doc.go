// Package telemetry counts what a gateway does, under Prometheus names: our own
// below weir_gateway_, and those of OpenTelemetry's GenAI conventions as
// Prometheus translates them.
//
// It refuses to label by what a caller chooses freely: no request id, key or
// user, and a model only where it is listed or has answered, up to a number;
// the rest is "other". It refuses to observe a value that was never reached:
// a stream without output is in the outcomes, not in the histogram of TTFT.
package telemetry
