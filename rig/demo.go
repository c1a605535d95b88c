package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/diagnose"
	"weir/dialect"
	"weir/mark"
	"weir/mock"
	"weir/probe"
	"weir/report"
	"weir/stream"
	"weir/tap"
)

// character is a stream of the demonstration: a behaviour of the mock.
type character struct {
	name      string
	path      string
	behaviour string // as the mock reads it from a query
	useful    string // business fields that make the answer useful
}

// characters are the five of the demonstration, all under seven seconds.
var characters = []character{
	{name: "healthy", path: "/v1/chat/completions",
		behaviour: "ttft=350ms&gap=normal:30ms:4ms&n=130"},
	{name: "role-first", path: "/v1/chat/completions",
		behaviour: "role_at=60ms&ttft=3100ms&gap=normal:30ms:4ms&n=70"},
	{name: "buffered", path: "/v1/chat/completions",
		behaviour: "ttft=250ms&gap=20ms&n=220&flush_bytes=8192"},
	{name: "cut short", path: "/v1/chat/completions",
		behaviour: "ttft=200ms&gap=normal:30ms:4ms&n=200&stall_after=35&stall=2400ms&truncate_after=60"},
	{name: "tool chain", path: "/custom/chat",
		behaviour: "stage=route:300ms,search:1900ms,rerank:250ms&ttft=2900ms&gap=normal:35ms:5ms&n=70" +
			"&state=decision:refund@30,reason:late@45,next_step:pay@60",
		useful: "decision,reason,next_step"},
}

// Demo runs the demonstration: a mock with five characters, each read at the
// same moment by weir and by a client that knows only HTTP. Every figure it
// returns is measured. sink gets the records.
func Demo(ctx context.Context, sink stream.Sink) ([]report.DemoRow, error) {
	server, err := mock.Start(mock.Options{})
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	defer server.Close() //nolint:errcheck // the demo is over; its mocks wrote no truth
	rows := make([]report.DemoRow, len(characters))
	errs := make([]error, 2*len(characters))
	var all sync.WaitGroup
	for i, c := range characters {
		url := server.URL() + c.path + "?" + c.behaviour
		rows[i].Name = c.name
		all.Go(func() { rows[i].Record, errs[2*i] = c.observe(ctx, url, i) })
		all.Go(func() { rows[i].Naive, errs[2*i+1] = readNaively(ctx, url) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("demo: interrupted: %w", err)
	}
	for i := range rows {
		rows[i].Findings = diagnose.Diagnose([]*stream.Record{rows[i].Record})
		if err := sink.Put(ctx, rows[i].Record); err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
	}
	return rows, nil
}

// observe reads the character's stream as weir does.
func (c character) observe(ctx context.Context, url string, index int) (*stream.Record, error) {
	o := probe.Options{Timeout: time.Minute}
	set, err := c.marks()
	if err != nil {
		return nil, err
	}
	o.NewMarker = func() tap.Marker { return set.New() }
	client, err := probe.New(o)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	records, err := client.Do(ctx, dialect.Ask{URL: url, Prompt: "a demonstration"}, probe.Meta{
		Index: index, Run: "demo", Labels: map[string]string{"character": c.name},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	records[0].Marks = set.Names()
	return records[0], nil
}

func (c character) marks() (*mark.Set, error) {
	if c.useful == "" {
		return mark.Compile(nil)
	}
	def, err := mark.Useful(c.useful)
	if err != nil {
		return nil, err
	}
	return mark.Compile([]mark.Def{def})
}

// readNaively reads the stream as a client does that knows only HTTP: the
// first byte of the body is its first answer, the end of the body its end, and
// what has status 200 and reads to the end is "ok".
func readNaively(ctx context.Context, url string) (report.Naive, error) {
	body := `{"stream":true,"model":"mock","messages":[{"role":"user","content":"a demonstration"}],"query":"a demonstration"}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return report.Naive{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	start := time.Now()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return report.Naive{Total: time.Since(start), Result: "error"}, nil
	}
	defer resp.Body.Close()
	n := report.Naive{Result: "ok"}
	var first [1]byte
	if _, err = io.ReadFull(resp.Body, first[:]); err == nil {
		n.FirstByte = stream.Some(time.Since(start))
		_, err = io.Copy(io.Discard, resp.Body)
	}
	n.Total = time.Since(start)
	switch {
	case resp.StatusCode != http.StatusOK:
		n.Result = fmt.Sprintf("HTTP %d", resp.StatusCode)
	case err != nil:
		n.Result = "error"
	}
	return n, nil
}
