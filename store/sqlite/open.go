package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"weir/metric"
	"weir/store"
)

// DefaultFile is where rows are kept unless the user says otherwise.
const DefaultFile = "weir.db"

// Options are how a file is opened. The zero value opens DefaultFile.
type Options struct {
	Path     string        // "" = DefaultFile
	ReadOnly bool          // the file must be there, and nothing in it changes
	Existing bool          // the file must be there
	Wait     time.Duration // how long to wait for another process that writes; 0 = 10 s
}

// Store keeps rows in one SQLite file.
type Store struct {
	path string
	wait time.Duration
	w    *sql.DB // one connection: writers of this process take turns; nil = read only
	r    *sql.DB
	all  []metric.Metric // what rows written now have
	have []metric.Metric // those of them that the file has columns for
}

var _ store.Store = (*Store)(nil)

// Open opens a file, and makes or migrates it unless it is to be read only. An
// error says if the file is missing (fs.ErrNotExist), another program's, newer
// than this weir, damaged, or locked.
func Open(ctx context.Context, o Options) (*Store, error) { return open(ctx, o, metric.All) }

// open takes the metrics, so that tests can open the file of another weir.
func open(ctx context.Context, o Options, all []metric.Metric) (*Store, error) {
	if o.Path == "" {
		o.Path = DefaultFile
	}
	if o.Wait <= 0 {
		o.Wait = 10 * time.Second
	}
	s := &Store{path: o.Path, wait: o.Wait, all: all}
	if err := lookAt(o); err != nil {
		return nil, err
	}
	err := s.prepare(ctx, o.ReadOnly)
	if err != nil {
		err = s.explain("open", err)
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// lookAt finds in plain words what SQLite would call "unable to open".
func lookAt(o Options) error {
	info, err := os.Stat(o.Path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory: give a file", o.Path)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case o.ReadOnly || o.Existing:
		return fmt.Errorf("there is no %s: no run was stored here yet, or give its place with --db (%w)", o.Path, fs.ErrNotExist)
	}
	if _, err := os.Stat(filepath.Dir(o.Path)); err != nil {
		return fmt.Errorf("%s cannot be made: %w", o.Path, err)
	}
	return nil
}

func (s *Store) prepare(ctx context.Context, readOnly bool) error {
	if readOnly {
		return s.prepareReading(ctx)
	}
	var err error
	if s.w, err = s.connect(url.Values{"_txlock": {"immediate"}}); err != nil { // what writes never finds out late that it may not
		return err
	}
	s.w.SetMaxOpenConns(1)
	if err := s.prepareWriting(ctx); err != nil {
		return err
	}
	return s.read(ctx, url.Values{"mode": {"rw"}})
}

// prepareReading opens a file for reading in the first way that its
// permissions allow. Where all of them are there the connection may tidy the
// log away when it is the last. Without those to the directory, only a file
// without a log can be read.
func (s *Store) prepareReading(ctx context.Context) error {
	ways := []url.Values{{"mode": {"rw"}}, {"mode": {"ro"}}}
	if _, err := os.Stat(s.path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		ways = append(ways, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	}
	var first error
	for _, way := range ways {
		err := s.read(ctx, way)
		if code := codeOf(err); code != codeReadOnly && code != codeCantOpen {
			return err
		}
		if first == nil {
			first = err
		}
		_ = s.r.Close() // nothing was written through it
	}
	return first
}

// read opens the connections that cannot write, and learns what the file has.
func (s *Store) read(ctx context.Context, way url.Values) (err error) {
	way.Add("_pragma", "query_only(1)")
	if s.r, err = s.connect(way); err != nil {
		return err
	}
	s.r.SetMaxOpenConns(8)
	id, err := identify(ctx, s.r)
	switch {
	case err != nil:
		return err
	case id.fresh():
		return fmt.Errorf("%s is empty: no run was stored in it", s.path)
	}
	s.have = slices.DeleteFunc(slices.Clone(s.all), func(m metric.Metric) bool { return !slices.Contains(id.columns, m.JSON) })
	return id.check(s.path)
}

// prepareWriting checks whose file it is before anything in it is changed.
func (s *Store) prepareWriting(ctx context.Context) error {
	id, err := identify(ctx, s.w)
	if err != nil {
		return err
	}
	if id.fresh() {
		// Before the first table, so that deleted runs give their space back.
		if _, err := s.w.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
			return err
		}
	} else if err := id.check(s.path); err != nil {
		return err
	}
	if err := s.useWAL(ctx); err != nil {
		return err
	}
	if id.current(s.all) {
		return nil
	}
	return migrate(ctx, s.w, s.path, s.all)
}

// useWAL turns write-ahead logging on. The switch needs the file alone and
// does not wait for it by itself.
func (s *Store) useWAL(ctx context.Context) error {
	for end := time.Now().Add(s.wait); ; {
		_, err := s.w.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		if !isBusy(err) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// connect makes a pool of connections with the given parameters.
func (s *Store) connect(q url.Values) (*sql.DB, error) {
	path, err := filepath.Abs(s.path)
	if err != nil {
		return nil, err
	}
	q["_pragma"] = append(q["_pragma"], fmt.Sprintf("busy_timeout(%d)", s.wait.Milliseconds()), "synchronous(NORMAL)")
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	return sql.Open("sqlite", u.String())
}

// Close closes the file.
func (s *Store) Close() error {
	var err error
	for _, db := range []*sql.DB{s.r, s.w} { // the writer last: it tidies the log away
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	return err
}
