package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// bodyPiece is how much of a request's body, or its end, must come within each
// limits.body_wait. A wait for the next byte alone would let a client that
// sends byte by byte keep what it has sent in memory for ever.
const bodyPiece = 16 << 10

// What is left of a body that nobody will read may be so large, and take so
// long, for its connection to be used again.
const (
	mostUnread = 256 << 10
	unreadWait = 200 * time.Millisecond
)

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// readBody reads a request's body whole, within the limits.
func readBody(w http.ResponseWriter, r *http.Request, l Limits) ([]byte, *failure) {
	if !hasBody(r) {
		return nil, nil
	}
	rc := http.NewResponseController(w)
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }() // a writer without deadlines has its body already
	from := http.MaxBytesReader(w, r.Body, int64(l.Body))
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0), bodyPiece)) + bytes.MinRead)
	for {
		_ = rc.SetReadDeadline(time.Now().Add(l.BodyWait))
		_, err := io.CopyN(&b, from, bodyPiece)
		if errors.Is(err, io.EOF) {
			return b.Bytes(), nil
		}
		if err != nil {
			return nil, bodyFailure(err, l)
		}
	}
}

func bodyFailure(err error, l Limits) *failure {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &failure{reason: "body_too_large", text: "the request body is above " + strconv.FormatInt(int64(l.Body), 10) + " bytes", status: http.StatusRequestEntityTooLarge}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &failure{reason: "body_timeout", text: "the request body came too slowly: less than 16 KiB of it, and not its end, within " + l.BodyWait.String(),
			status: http.StatusRequestTimeout, retryable: true}
	}
	return &failure{reason: "body_broken", text: "the request body broke off", status: http.StatusBadRequest}
}

// skipBody lets a request be answered whose body was not read. net/http would
// wait for 256 KiB of it before the first byte of the answer, as long as the
// client likes: here it is thrown away if it is here, else the connection closes
// with the answer. A client that waits to be asked for its body is not asked.
func skipBody(w http.ResponseWriter, r *http.Request) {
	if !hasBody(r) || r.ProtoMajor >= 2 || r.Header.Get("Expect") != "" {
		return
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(unreadWait))
	if _, err := io.CopyN(io.Discard, r.Body, mostUnread); !errors.Is(err, io.EOF) {
		w.Header().Set("Connection", "close")
		return
	}
	_ = rc.SetReadDeadline(time.Time{})
}
