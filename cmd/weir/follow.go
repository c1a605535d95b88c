package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/dialect"
	"weir/probe"
	"weir/stream"
	"weir/wire"
)

// followFlags are the flags of weir follow, as the user wrote them.
type followFlags struct {
	body    string
	headers []string
	keyEnv  string
	dialect string
	silence time.Duration
	tries   int
	output  string
	quiet   bool
}

func newFollowCmd() *cobra.Command {
	var f followFlags
	cmd := &cobra.Command{
		Use:   "follow URL",
		Short: "Follow a stream of a gateway to its end, over broken connections",
		Long: `Follows a stream of a weir gateway, /weir/streams/ID, from its first event or
from ?after=N; with --body, sends a request to the gateway and follows its answer.
Where the connection breaks it goes on with the event after the last: what is
printed is every event once, in order, or what is missing is said. With ws:// or
wss:// all this goes over the gateway's WebSocket.

-o text prints the answer, data the data of each event, json an object a line:
{"id","event","data"}. Ends with 0 after the stream's end, 3 where it ended with
an error or is not whole, 6 where there was no stream.`,
		Example: `  weir follow http://127.0.0.1:8080/weir/streams/STREAM-ID
  weir follow http://127.0.0.1:8080/v1/chat/completions --body ask.json
  weir follow "http://127.0.0.1:8080/weir/streams/STREAM-ID?after=20" -o json
  weir follow ws://127.0.0.1:8080/v1/chat/completions --body ask.json`,
		Args: exactArgs(1, "one URL"),
		RunE: func(cmd *cobra.Command, args []string) error { return runFollow(cmd, args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.body, "body", "", "send this `FILE` (- = standard input) with POST and follow the answer")
	fl.StringArrayVarP(&f.headers, "header", "H", nil, "request header, `'Name: value'`; may be repeated")
	fl.StringVar(&f.keyEnv, "api-key-env", "", "environment `VAR` that holds the API key (default: WEIR_API_KEY, if set)")
	fl.StringVar(&f.dialect, "dialect", "auto", "what events mean, `NAME|FILE.yaml|auto`: "+strings.Join(dialectNames(), ", "))
	fl.DurationVar(&f.silence, "silence", 0, "give up a connection that brings nothing, heartbeats included, for this long (0: never)")
	fl.IntVar(&f.tries, "tries", 5, "new connections in a row that may bring nothing")
	fl.StringVarP(&f.output, "output", "o", "text", "`text|data|json`")
	fl.BoolVar(&f.quiet, "quiet", false, "say nothing of broken connections")
	return cmd
}

func runFollow(cmd *cobra.Command, target string, f followFlags) error {
	switch {
	case f.output != "text" && f.output != "data" && f.output != "json":
		return usagef("--output %q: must be one of text, data, json", f.output)
	case f.silence < 0:
		return usagef("--silence %v: must be 0 (never) or more", f.silence)
	case f.tries < 1:
		return usagef("--tries %d: must be at least 1", f.tries)
	}
	if err := checkURL(httpOf(target)); err != nil {
		return usagef("%w", err)
	}
	v, err := f.view(target, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	events, err := f.events(cmd, target, v)
	if err != nil {
		return err
	}
	return v.show(events)
}

// events is the stream to follow.
func (f *followFlags) events(cmd *cobra.Command, target string, v *followView) (iter.Seq2[client.Event, error], error) {
	header, err := f.header()
	if err != nil {
		return nil, err
	}
	o := client.Options{Header: header, Tries: f.tries, Silence: f.silence, Terminal: v.terminal}
	if !f.quiet {
		o.Retrying = func(r client.Reconnect) {
			fmt.Fprintf(cmd.ErrOrStderr(), "weir: the connection ended (%v); going on in %v, try %d of %d\n", r.Err, r.Wait.Round(10*time.Millisecond), r.Try, f.tries)
		}
	}
	if f.body == "" {
		return client.Follow(cmd.Context(), target, o), nil
	}
	body, err := f.read(cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	if target != httpOf(target) {
		return askSocket(cmd.Context(), target, header, body, o)
	}
	req, err := http.NewRequestWithContext(cmd.Context(), http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, usagef("%s: not a URL to send to", probe.SafeURL(target))
	}
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	return client.Do(req, o), nil
}

// httpOf is the address over HTTP of what ws:// names.
func httpOf(target string) string {
	for from, to := range map[string]string{"ws://": "http://", "wss://": "https://"} {
		if rest, ok := strings.CutPrefix(target, from); ok {
			return to + rest
		}
	}
	return target
}

// askSocket asks over the WebSocket of the gateway that has the route. Keys go
// with the handshake, other headers with the question.
func askSocket(ctx context.Context, target string, header http.Header, body []byte, o client.Options) (iter.Seq2[client.Event, error], error) {
	u, err := url.Parse(target)
	if err != nil || !json.Valid(body) {
		return nil, usagef("over a WebSocket --body must be JSON")
	}
	q := client.Question{Path: u.RequestURI(), Headers: map[string]string{}, Body: body}
	o.Header = http.Header{}
	for name, values := range header {
		switch name {
		case "Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key":
			o.Header[name] = values
		default:
			q.Headers[name] = strings.Join(values, ", ")
		}
	}
	return client.Ask(ctx, (&url.URL{Scheme: u.Scheme, Host: u.Host}).String(), q, o), nil
}

func (f *followFlags) read(in io.Reader) ([]byte, error) {
	if f.body == "-" {
		return io.ReadAll(in)
	}
	b, err := readFile(f.body)
	if err != nil {
		return nil, usagef("--body: %w", err)
	}
	return b, nil
}

func (f *followFlags) header() (http.Header, error) {
	h := http.Header{}
	for _, line := range f.headers {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !validHeader(name, value) {
			return nil, usagef("--header: want 'Name: value' with a valid name and no control characters, header named %q", clip(name, 40))
		}
		h.Add(name, value)
	}
	key, _, err := (&probeFlags{keyEnv: f.keyEnv}).apiKey()
	if err != nil {
		return nil, err
	}
	if key != "" && h.Get("Authorization") == "" {
		if !validHeader("Authorization", key) {
			return nil, usagef("the API key holds a control character")
		}
		h.Set("Authorization", "Bearer "+key)
	}
	return h, nil
}

// followView prints events, and knows by the dialect whether one is the last.
type followView struct {
	out    io.Writer
	output string

	path    string
	dialect dialect.Dialect // nil = not known yet
	classes dialect.Classifier
	proven  bool   // the answer's end was seen
	fault   string // what the service or the gateway says went wrong
	text    bool   // text was printed and its line is open
	some    bool   // there was an event
}

func (f *followFlags) view(target string, out io.Writer) (*followView, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, usagef("%s: not a URL", probe.SafeURL(target))
	}
	v := &followView{out: out, output: f.output, path: u.Path}
	if f.dialect != "auto" {
		if v.dialect, err = namedDialect(f.dialect, "; or auto, or none"); err != nil {
			return nil, err
		}
		v.classes = v.dialect.NewClassifier()
	}
	return v, nil
}

// terminal is asked of the newest event, which show has seen.
func (v *followView) terminal(e client.Event) bool { return v.proven || client.Terminal(e) }

func (v *followView) show(events iter.Seq2[client.Event, error]) error {
	for e, err := range events {
		if err != nil {
			v.closeLine()
			return v.failed(err)
		}
		v.some = true
		if err := v.event(e); err != nil {
			return err
		}
	}
	v.closeLine()
	if v.fault != "" {
		return exitWith(exitGate, fmt.Errorf("the stream ended with an error: %s", v.fault))
	}
	return nil
}

// failed is how a stream that cannot be followed ends the program.
func (v *followView) failed(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return exitWith(exitFailed, errors.New("stopped"))
	case !v.some && !errors.Is(err, client.ErrGap):
		return exitWith(exitNoStream, err)
	}
	return exitWith(exitGate, err)
}

func (v *followView) closeLine() {
	if v.text {
		fmt.Fprintln(v.out)
	}
	v.text = false
}

func (v *followView) event(e client.Event) error {
	v.classify(e)
	switch v.output {
	case "data":
		_, err := fmt.Fprintf(v.out, "%s\n", wire.Text(e.Data))
		return err
	case "json":
		b, err := json.Marshal(struct {
			ID    string `json:"id"`
			Event string `json:"event"`
			Data  string `json:"data"`
		}{e.ID, e.Name, wire.Text(e.Data)})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(v.out, "%s\n", b)
		return err
	}
	return nil
}

// classify finds out what the event means.
func (v *followView) classify(e client.Event) {
	if v.classes == nil {
		h := dialect.Hint{Path: v.path, First: e.Data, Event: e.Name}
		if v.dialect, _ = dialect.Detect(h); !dialect.Decides(h) {
			v.plain(e)
			return
		}
		v.classes = v.dialect.NewClassifier()
	}
	f := wire.Frame{Kind: wire.Event, Event: []byte(e.Name), Data: e.Data, Raw: e.Data}
	if err := v.classes.Classify(f, v.meaning); err != nil {
		v.fault = err.Error()
	}
	end := v.classes.Ended() // a finish reason is no end here: usage may follow it
	v.proven = end.Sentinel || end.Proof == stream.ProofTerminal
}

// plain is an event of which nothing is known.
func (v *followView) plain(e client.Event) {
	if v.output == "text" {
		fmt.Fprintf(v.out, "%s\n", wire.Text(e.Data))
	}
}

func (v *followView) meaning(e *stream.Event) {
	switch e.Kind {
	case stream.KindText:
		if v.output == "text" {
			_, _ = io.WriteString(v.out, e.Text) // the terminal is gone: the next event tells
			v.text = true
		}
	case stream.KindError:
		v.fault = "no details"
		if e.Fault != nil && e.Fault.Message != "" {
			v.fault = e.Fault.Message
		}
	}
}
