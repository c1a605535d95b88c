package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/dialect"
	"weir/stream"
	"weir/tap"
	"weir/wire"
)

// decodeFlags are the flags of weir decode, as the user wrote them.
type decodeFlags struct {
	format  string
	dialect string
	split   int
	limit   int
	output  string
}

func newDecodeCmd() *cobra.Command {
	var f decodeFlags
	cmd := &cobra.Command{
		Use:   "decode [FILE|-]",
		Short: "Show what weir makes of raw response bytes",
		Long: `Reads the bytes of a response body from a file or from standard input and shows
each frame, those that SSE parsers throw away included, and what it means to
the dialect. How the bytes are cut does not matter; --split proves it.

With -o json, one object a line: {"frame","event","data","id"} and, where a
dialect applies, "kind","text","tokens"; a frame of several events gives a line
for each. "data" of a comment is its text, of an unknown field its line. The last
line is {"frame":"end","retry","last_event_id","outcome"}. null is unknown.`,
		Example: `  curl -sN http://127.0.0.1:8080/v1/chat/completions -d '{"stream":true}' | weir decode
  weir decode body.txt --dialect none -o json
  weir decode body.txt --split 1 -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := f.decoding(cmd.OutOrStdout())
			if err != nil {
				return err
			}
			in := cmd.InOrStdin()
			if len(args) == 1 && args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return usagef("%w", err)
				}
				defer func() { _ = file.Close() }() // only read from
				in = file
			}
			return d.run(cmd.Context(), in)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.format, "format", "", "framing, `"+strings.Join(formatNames(), "|")+"` (default: by the first bytes)")
	fl.StringVar(&f.dialect, "dialect", "auto", "what frames mean, `NAME|FILE.yaml|auto|none`: "+strings.Join(dialectNames(), ", ")+", a file, or nothing")
	fl.IntVar(&f.split, "split", 0, "feed `N` bytes at a time (0: as they are read)")
	fl.IntVar(&f.limit, "frame-limit", wire.DefaultFrameLimit, "most `BYTES` of one frame")
	fl.StringVarP(&f.output, "output", "o", "text", "`text|json`")
	return cmd
}

func formatNames() (names []string) {
	for _, f := range wire.Formats {
		names = append(names, f.Name)
	}
	return names
}

// decoding checks the flags and makes them the work to do.
func (f *decodeFlags) decoding(out io.Writer) (*decoding, error) {
	switch {
	case f.format != "" && !slices.Contains(formatNames(), f.format):
		return nil, usagef("--format %q: must be one of %s", f.format, strings.Join(formatNames(), ", "))
	case f.split < 0:
		return nil, usagef("--split %d: must be 0 (as read) or more", f.split)
	case f.limit < 1:
		return nil, usagef("--frame-limit %d: must be at least 1", f.limit)
	case f.output != "text" && f.output != "json":
		return nil, usagef("--output %q: must be one of text, json", f.output)
	}
	d := &decoding{format: f.format, split: f.split, limit: f.limit, out: bufio.NewWriter(out)}
	d.view = &textView{out: d.out}
	if f.output == "json" {
		d.view = newJSONView(d.out)
	}
	d.meaning = f.dialect != "none"
	if f.dialect == "auto" || f.dialect == "none" {
		return d, nil
	}
	var err error
	d.why = "asked for"
	d.dialect, err = namedDialect(f.dialect, "; or auto, or none")
	return d, err
}

// decoding is one body being shown. Bytes wait in early until the framing and
// the dialect are known, so that every frame is shown with its meaning.
type decoding struct {
	format  string
	split   int
	limit   int
	meaning bool // a dialect applies
	dialect dialect.Dialect
	why     string
	view    view
	out     *bufio.Writer

	early  []byte
	scout  wire.Decoder // reads ahead for the first frame that tells the dialect
	opened bool

	tap   *tap.Tap     // frames and meaning
	state wire.Decoder // what SSE says of itself; without a dialect the frames too
	shown frameView    // the frame whose events are coming
	some  bool         // shown holds a frame
}

// run decodes in to its end or until ctx ends, which is a partial answer.
func (d *decoding) run(ctx context.Context, in io.Reader) error {
	closing := stream.Closing{How: stream.CleanEOF}
	pieces, failed := readAhead(ctx, in)
	for open := true; open; {
		select {
		case <-ctx.Done():
			closing, open = stream.Closing{How: stream.UserStop, Reason: "interrupted"}, false
		case p, more := <-pieces:
			if open = more; !more {
				break
			}
			if err := errors.Join(d.take(p), d.out.Flush()); err != nil {
				return err
			}
		}
	}
	if err := d.close(closing); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return fmt.Errorf("the input ended early: %w", err)
	default:
		return nil
	}
}

// readAhead reads in until it ends or ctx does; failed holds its error, if any,
// once pieces is closed.
func readAhead(ctx context.Context, in io.Reader) (pieces chan []byte, failed chan error) {
	pieces, failed = make(chan []byte), make(chan error, 1)
	go func() {
		defer close(pieces)
		for {
			p := make([]byte, 64<<10)
			n, err := in.Read(p)
			if n > 0 {
				select {
				case pieces <- p[:n]:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				if err != io.EOF {
					failed <- err
				}
				return
			}
		}
	}()
	return pieces, failed
}

// take decodes the next bytes, or keeps them where the beginning is too short.
func (d *decoding) take(p []byte) error {
	if d.opened {
		return d.feed(p)
	}
	from := len(d.early)
	d.early = append(d.early, p...)
	if !d.open(from, false) {
		return nil
	}
	return d.replay()
}

func (d *decoding) replay() error {
	early := d.early
	d.early, d.scout = nil, nil
	return d.feed(early)
}

// feed gives p to the decoders, cut as asked for.
func (d *decoding) feed(p []byte) error {
	step := d.split
	if step == 0 {
		step = max(1, len(p))
	}
	for piece := range slices.Chunk(p, step) {
		if d.tap != nil {
			if err := d.tap.Feed(piece, 1); err != nil {
				return d.broken(err)
			}
		}
		if err := d.state.Feed(piece, d.stateFrame); err != nil {
			return d.broken(err)
		}
	}
	d.flush() // a live stream's newest frame does not wait for the next
	return nil
}

// broken shows what was decoded before the fault.
func (d *decoding) broken(err error) error {
	d.flush()
	if errors.Is(err, wire.ErrFrameTooLarge) {
		err = fmt.Errorf("%w; raise --frame-limit if frames this large are expected", err)
	}
	return errors.Join(err, d.out.Flush())
}

// close ends the body and shows what was left and the last line.
func (d *decoding) close(c stream.Closing) error {
	if !d.opened {
		d.open(0, true)
		if err := d.replay(); err != nil {
			return err
		}
	}
	var end endView
	if d.tap != nil {
		for _, r := range d.tap.Close(stream.Record{}, c) {
			if end.outcome == "" || stream.Worst(end.outcome, r.Outcome) != end.outcome {
				end.outcome, end.reason = r.Outcome, r.Reason
			}
		}
		if err := d.tap.Err(); err != nil {
			return d.broken(err)
		}
	}
	if err := d.state.Close(d.stateFrame); err != nil {
		return d.broken(err)
	}
	d.flush()
	if s, ok := d.state.(wire.SSEState); ok {
		end.retry, end.hasRetry = s.Retry()
		end.lastID = wire.Text([]byte(s.LastEventID()))
	}
	return errors.Join(d.view.end(end), d.out.Flush())
}

// stateFrame takes the state decoder's frames where no tap gives them.
func (d *decoding) stateFrame(f wire.Frame) {
	if d.tap == nil {
		d.frame(f)
	}
}

func (d *decoding) frame(f wire.Frame) {
	d.flush()
	d.shown, d.some = viewFrame(f, d.format == "sse"), true
}

func (d *decoding) event(e *stream.Event) {
	d.shown.events = append(d.shown.events, eventView{e.Kind, e.Name, strings.Clone(e.Text), e.Tokens, e.Note, faultText(e.Fault)})
}

func faultText(f *stream.Fault) string {
	if f == nil {
		return ""
	}
	return strings.TrimSpace(f.Code + " " + f.Message)
}

// flush shows the newest frame; all its events have come. A view writes to a
// buffer that keeps its first error for Flush.
func (d *decoding) flush() {
	if d.some {
		d.view.frame(d.shown)
		d.some = false
	}
}

// Bounds of what is read before the framing and the dialect are chosen.
const (
	enoughToSniff = 64 << 10
	enoughToTell  = 1 << 20
)

// open chooses framing and dialect by early, whose bytes from the given one on
// are new; false where more bytes are needed. force: there are no more.
func (d *decoding) open(from int, force bool) bool {
	if d.format == "" {
		format := wire.Sniff("", d.early)
		few := len(bytes.TrimSpace(d.early)) < 4 || format == "body" // NDJSON may yet show its second line
		if few && !force && len(d.early) < enoughToSniff {
			return false
		}
		d.format, from = format, 0
	}
	if d.meaning && d.dialect == nil && !d.tell(d.early[from:], force) {
		return false
	}
	o := wire.Options{FrameLimit: d.limit}
	d.state, _ = wire.New(d.format, o) // the name is one of Formats
	if d.meaning {
		d.tap = tap.New(tap.Options{Dialect: d.dialect, Format: d.format, FrameLimit: d.limit, OnFrame: d.frame, OnEvent: d.event})
		d.tap.Read(stream.Read{Bytes: len(d.early)})
	}
	d.opened = true
	d.view.begin(d.format, d.dialect, d.why)
	return true
}

// tell chooses the dialect by the first frame that says something, as a tap does.
func (d *decoding) tell(p []byte, force bool) bool {
	var hint dialect.Hint
	found := false
	look := func(f wire.Frame) {
		if !found && f.Kind != wire.Comment && f.Kind != wire.DataLess {
			found = true
			hint = dialect.Hint{Event: string(f.Event), First: bytes.Clone(f.Data)}
		}
	}
	if d.scout == nil {
		d.scout, _ = wire.New(d.format, wire.Options{FrameLimit: d.limit})
		p = d.early
	}
	err := d.scout.Feed(p, look) // an error comes again when the bytes are decoded
	if force && err == nil {
		_ = d.scout.Close(look)
	}
	if !found && err == nil && !force && len(d.early) < enoughToTell {
		return false
	}
	if !found {
		hint.First = d.early
	}
	d.dialect, d.why = dialect.Detect(hint)
	return true
}
