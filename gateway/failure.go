package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"weir/http1"
)

// failure is why a request or a stream did not go well, in words for its
// client. Its text is the gateway's own: nothing of it is a secret.
type failure struct {
	reason    string // one word for programs: upstream_truncated, first_output …
	text      string
	status    int // as HTTP has it
	retryable bool
	after     time.Duration // Retry-After; 0 = not said
	final     bool          // not tried again, whatever the next attempt might bring
	requestID string
	sent      *sentSoFar // of a stream that it ends in band; nil = not known, or an answer of its own
	answer    *opening   // the upstream's own answer, to be passed on
	body      []byte     // of that answer
}

// Why the gateway itself ended a stream or an attempt: causes of contexts.
var (
	errClientGone  = errors.New("client_gone")
	errSlowClient  = errors.New("slow_client")
	errStopped     = errors.New("stopped")
	errShutdown    = errors.New("shutdown")
	errAbandoned   = errors.New("abandoned") // nobody came back within the grace window
	errFirstOutput = errors.New("first_output")
	errSilence     = errors.New("silence")
	errTooSlow     = errors.New("too_slow")
	errFinished    = errors.New("finished") // the answer was whole, the upstream just did not end

	errMoved      = errors.New("moved")       // an edge that closes lets go of a client that can resume
	errWorkerLost = errors.New("worker_lost") // or nobody took the job
	errFenced     = errors.New("fenced")      // another worker has the job
	errRelayDown  = errors.New(reasonDown)
	errRelayGap   = errors.New(reasonGap)
)

// texts are the sentences for the gateway's own reasons.
var texts = map[string]string{
	"upstream_truncated":      "the model service ended the stream before the answer was complete",
	"upstream_reset":          "the connection to the model service broke before the answer was complete",
	"upstream_connect":        "the model service cannot be reached",
	"upstream_timeout":        "the model service did not accept the connection in time",
	"upstream_tls":            "the model service's certificate is not trusted",
	"upstream_not_allowed":    "the model service's address is not among those allowed",
	"upstream_redirect":       "the model service answered with a redirect, which the gateway does not follow",
	"upstream_encoded":        "the model service compressed a stream that was asked for uncompressed",
	"upstream_error":          "the model service reported an error",
	"upstream_head":           "the model service answered with something that is no response of HTTP",
	"upstream_head_too_large": "the head of the model service's response is larger than the gateway reads",
	"upstream_chunking":       "the body of the model service's response is not in chunks as HTTP has them, so that its end cannot be told",
	"upstream_write":          "the model service broke the connection while it was asked",
	"event_too_large":         "the model service sent an event larger than the gateway's limit",
	"first_output":            "the model service said nothing in time",
	"silence":                 "the model service fell silent and the gateway ended the stream, as its route says",
	"too_slow":                "the model service was slower than the route's floor and the gateway ended the stream",
	"stopped":                 "the stream was stopped by its owner",
	"shutdown":                "the gateway is closing; ask again",
	"abandoned":               "nobody followed the stream within its grace window",
	"internal":                "the gateway itself failed over this request",
	"client_gone":             "the client left",
	"slow_client":             "the client did not read its stream",
	"worker_lost":             "the worker that ran this request is gone; ask again",
	"fenced":                  "another worker runs this request",
	reasonDown:                "the relay's store cannot be reached; ask again",
	reasonGap:                 "events of this stream were not kept; ask again",
	"bad_job":                 "the workers know no such request: edges and workers must have the same configuration",
	"poison":                  "workers were lost over this request more often than may be; it is not tried again",
	"upstream_malformed":      "the model service's stream is not in the framing that it says",
	"bad_request":             "the request's path cannot be passed on",
	"not_a_stream":            "the model service answered a stream with something else",
	"other_framing":           "the model service answered late, and in another framing than the stream had been opened in",
}

// fail makes a failure of one of the gateway's reasons.
func fail(reason string, status int, retryable bool) *failure {
	return &failure{reason: reason, text: texts[reason], status: status, retryable: retryable}
}

// roundTripFailure says why an upstream did not answer. The error's own text
// stays out: it names addresses that are nobody's business.
func roundTripFailure(ctx context.Context, err error) *failure {
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	var alert tls.AlertError
	switch {
	case errors.Is(context.Cause(ctx), errFirstOutput):
		return fail("first_output", http.StatusGatewayTimeout, true)
	case ctx.Err() != nil:
		return causeFailure(context.Cause(ctx))
	case errors.Is(err, errNotAllowed):
		return fail("upstream_not_allowed", http.StatusBadGateway, false)
	case errors.As(err, &cert), errors.As(err, &alert):
		return fail("upstream_tls", http.StatusBadGateway, false)
	case errors.As(err, &op) && op.Op == "dial" && op.Timeout():
		return fail("upstream_timeout", http.StatusGatewayTimeout, true)
	case errors.As(err, &op) && op.Op == "dial":
		return fail("upstream_connect", http.StatusBadGateway, true)
	case errors.Is(err, http1.ErrHeadForm):
		return fail("upstream_head", http.StatusBadGateway, true)
	case errors.Is(err, http1.ErrHeadBig):
		return fail("upstream_head_too_large", http.StatusBadGateway, true)
	case http1.IsFraming(err):
		return fail("upstream_chunking", http.StatusBadGateway, true)
	case errors.Is(err, syscall.EPIPE):
		return fail("upstream_write", http.StatusBadGateway, true)
	}
	return fail("upstream_reset", http.StatusBadGateway, true)
}

// causeFailure is the failure of a context's cause.
func causeFailure(cause error) *failure {
	switch reason := cause.Error(); {
	case errors.Is(cause, errFirstOutput), errors.Is(cause, errSilence), errors.Is(cause, errTooSlow):
		return fail(reason, http.StatusGatewayTimeout, true)
	case errors.Is(cause, errWorkerLost), errors.Is(cause, errRelayDown), errors.Is(cause, errRelayGap), errors.Is(cause, errFenced):
		f := fail(reason, http.StatusServiceUnavailable, true)
		f.after = comeAgain()
		return f
	case errors.Is(cause, errInternal):
		return fail("internal", http.StatusInternalServerError, false)
	case errors.Is(cause, errMoved):
		return causeFailure(errShutdown)
	case errors.Is(cause, errShutdown), errors.Is(cause, errClosing):
		f := fail("shutdown", http.StatusServiceUnavailable, true)
		f.after = comeAgain()
		return f
	case texts[reason] != "":
		return fail(reason, 499, false) // nginx's number for a client that closed its request
	}
	return fail("upstream_reset", http.StatusBadGateway, true)
}

// comeAgain is when a client of a gateway that closes is asked to come again:
// not all at once.
func comeAgain() time.Duration { return time.Second + rand.N(4*time.Second) }

// worthRetry reports whether an answer's status may be another one the next time.
func worthRetry(status int) bool {
	switch status {
	case 408, 409, 425, 429, 500, 502, 503, 504, 529:
		return true
	}
	return false
}

// retryAfter reads the header: seconds or a date; 0 where it says nothing good.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := one(h, "Retry-After")
	if s, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// codeStatus is the HTTP status of an error that a service stated in its
// stream, by its code.
func codeStatus(code string) int {
	if n, err := strconv.Atoi(code); err == nil && n >= 400 && n <= 599 {
		return n
	}
	code = strings.ToLower(code)
	for _, c := range []struct {
		part   string
		status int
	}{
		{"rate_limit", 429}, {"quota", 429}, {"resource_exhausted", 429}, {"overloaded", 529}, {"authentication", 401},
		{"permission", 403}, {"not_found", 404}, {"invalid_request", 400}, {"invalid_argument", 400},
		{"invalid_param", 400}, {"too_large", 413}, {"unavailable", 503}, {"timeout", 504},
	} {
		if strings.Contains(code, c.part) {
			return c.status
		}
	}
	return http.StatusBadGateway
}
