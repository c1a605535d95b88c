package sqlite

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
)

// Result codes of SQLite (https://www.sqlite.org/rescode.html), without the
// extension in the higher bits.
const (
	codePerm     = 3
	codeBusy     = 5
	codeReadOnly = 8
	codeIO       = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26
)

func codeOf(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

func isBusy(err error) bool { return codeOf(err) == codeBusy }

// explain says what an error of SQLite means for the file, and what to do.
func (s *Store) explain(doing string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var what string
	switch codeOf(err) {
	case codeFull:
		what = "the disk is full: make room, then store again"
	case codeBusy:
		what = fmt.Sprintf("another process kept it locked for %s: try again when that is done", s.wait)
	case codeCorrupt:
		what = "the file is damaged: move it away, or rescue what is in it with sqlite3 FILE .recover"
	case codeNotADB:
		what = "it is no SQLite database: give another file"
	case codeReadOnly, codePerm:
		what = "it must not be written to: look at the permissions of the file and its directory"
	case codeCantOpen:
		what = "it cannot be opened: look at the permissions of the file and its directory"
	case codeIO:
		what = "the disk failed, or is full"
	default:
		return err
	}
	return fmt.Errorf("%s %s: %s (%w)", doing, s.path, what, err)
}
