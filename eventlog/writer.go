package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"weir/stream"
)

// Options of a Writer. The zero value writes plain JSONL without text.
type Options struct {
	KeepText bool // also write the prompt, the answer text and the business state
	Zstd     bool // compress: <run>.jsonl.zst
}

// Writer writes records below dir/events, in a file per UTC day of their
// start. It is a stream.Sink and safe for concurrent use: a record's lines
// are written together, by one write.
type Writer struct {
	dir, run string
	o        Options

	mu    sync.Mutex
	days  map[string]*dayFile
	paths []string
	buf   []byte
}

// NewWriter makes the directory dir/events and returns a writer of the run's
// logs. Files are made when their first record comes.
func NewWriter(dir, run string, o Options) (*Writer, error) {
	if run == "" || run != filepath.Base(run) || strings.HasPrefix(run, ".") || strings.ContainsAny(run, "/\\\x00") {
		return nil, fmt.Errorf("event log: run name %q cannot be a file name", run)
	}
	if err := os.MkdirAll(filepath.Join(dir, "events"), 0o755); err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	return &Writer{dir: dir, run: run, o: o, days: map[string]*dayFile{}}, nil
}

// Put appends r's lines to the log of its day. It keeps nothing of r.
func (w *Writer) Put(_ context.Context, r *stream.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.days == nil {
		return errors.New("event log: written to after it was closed")
	}
	b, err := AppendRecord(w.buf[:0], r, w.o.KeepText)
	if err != nil {
		return err
	}
	w.buf = b
	f, err := w.file(r.Start)
	if err != nil {
		return err
	}
	return f.write(b)
}

// Paths returns the files written so far, oldest first.
func (w *Writer) Paths() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.paths...)
}

// Close writes what is buffered and closes the files.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for _, f := range w.days {
		errs = append(errs, f.close())
	}
	w.days = nil
	return errors.Join(errs...)
}

func (w *Writer) file(start time.Time) (*dayFile, error) {
	day := "undated"
	if !start.IsZero() {
		day = start.UTC().Format(time.DateOnly)
	}
	if f := w.days[day]; f != nil {
		return f, nil
	}
	f, err := openDay(filepath.Join(w.dir, "events", day), w.run, w.o)
	if err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	w.days[day] = f
	w.paths = append(w.paths, f.name())
	return f, nil
}

// dayFile is one open log.
type dayFile struct {
	f    *os.File
	enc  *zstd.Encoder // nil = plain
	torn bool          // the last write may have left half a line
}

func openDay(dir, run string, o Options) (*dayFile, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	mode := os.FileMode(0o644)
	if o.KeepText {
		mode = 0o600 // people's words
	}
	if o.Zstd {
		return openZstd(dir, run, mode)
	}
	f, err := os.OpenFile(filepath.Join(dir, run+".jsonl"), os.O_CREATE|os.O_RDWR|os.O_APPEND, mode)
	if err != nil {
		return nil, err
	}
	torn, err := endsTorn(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &dayFile{f: f, torn: torn}, nil
}

// openZstd always begins a file of its own: bytes after a frame that a crash
// cut could never be read.
func openZstd(dir, run string, mode os.FileMode) (*dayFile, error) {
	for n := 1; ; n++ {
		name := run + ".jsonl.zst"
		if n > 1 {
			name = fmt.Sprintf("%s.%d.jsonl.zst", run, n)
		}
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		enc, err := zstd.NewWriter(f, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return &dayFile{f: f, enc: enc}, nil
	}
}

// endsTorn reports whether the file's last line has no end.
func endsTorn(f *os.File) (bool, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return false, err
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], size-1)
	return last[0] != '\n', err
}

func (d *dayFile) name() string { return d.f.Name() }

// tornMark ends a line that a crash cut, and tells the reader so.
const tornMark = "\n" + `{"event_type":"` + typeTorn + `"}` + "\n"

func (d *dayFile) write(b []byte) error {
	if d.enc != nil {
		if _, err := d.enc.Write(b); err != nil {
			return fmt.Errorf("event log %s: %w", d.name(), err)
		}
		if err := d.enc.Flush(); err != nil { // so that a crash loses no finished record
			return fmt.Errorf("event log %s: %w", d.name(), err)
		}
		return nil
	}
	if d.torn {
		b = append([]byte(tornMark), b...)
	}
	n, err := d.f.Write(b)
	if err != nil {
		d.torn = d.torn || n > 0
		return fmt.Errorf("event log %s: %w", d.name(), err)
	}
	d.torn = false
	return nil
}

func (d *dayFile) close() error {
	var err error
	if d.enc != nil {
		err = d.enc.Close()
	}
	return errors.Join(err, d.f.Close())
}
