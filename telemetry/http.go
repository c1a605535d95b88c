package telemetry

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// methods are the labels of request methods: a caller may send any.
var methods = []string{http.MethodConnect, http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions,
	http.MethodPatch, http.MethodPost, http.MethodPut, http.MethodTrace}

// Answered counts a client's request, also one that was refused, as
// http.server.request.duration of OpenTelemetry's HTTP conventions. status 0 is
// one that got no answer, route "" one whose path no route has.
func (g *Gateway) Answered(method, route string, status int, tls bool, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = "_OTHER"
	}
	scheme := "http"
	if tls {
		scheme = "https"
	}
	code, failed := strconv.Itoa(status), ""
	switch {
	case status == 0:
		code, failed = "", "client_gone"
	case status >= http.StatusInternalServerError:
		failed = code
	}
	g.own.served.WithLabelValues(method, code, route, scheme, failed).Observe(took.Seconds())
}
