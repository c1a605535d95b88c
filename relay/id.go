package relay

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The longest parts of an event id. An id from outside is refused by length
// before anything is looked up.
const (
	mostStream = 128
	mostEpoch  = 32
	mostOffset = 19 // digits of an int64
)

// AppendID appends the event id of a position: stream.epoch.offset.
func AppendID(dst []byte, stream string, p Position) []byte {
	dst = append(dst, stream...)
	dst = append(dst, '.')
	dst = append(dst, p.Epoch...)
	dst = append(dst, '.')
	return strconv.AppendInt(dst, p.Offset, 10)
}

// ParseID reads an event id that AppendID wrote. Anything else is an error,
// which does not repeat the id: it is a stranger's.
func ParseID(id string) (stream string, p Position, err error) {
	bad := errors.New("not an event id of the form stream.epoch.number")
	if len(id) > mostStream+mostEpoch+mostOffset+2 {
		return "", p, bad
	}
	stream, rest, _ := strings.Cut(id, ".")
	epoch, number, _ := strings.Cut(rest, ".")
	if CheckStream(stream) != nil || epoch == "" || len(epoch) > mostEpoch || !isName(epoch) {
		return "", p, bad
	}
	if p.Offset, err = ParseOffset(number); err != nil {
		return "", Position{}, bad
	}
	p.Epoch = epoch
	return stream, p, nil
}

// ParseOffset reads an offset: digits alone, no sign, no leading zero.
func ParseOffset(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || s[0] < '0' || s[0] > '9' || len(s) > 1 && s[0] == '0' {
		return 0, errors.New("not a number of an entry: it must be 0 or more, digits only")
	}
	return n, nil
}

// CheckStream says whether a stream's id can stand in an event id.
func CheckStream(id string) error {
	if id == "" || len(id) > mostStream || !isName(id) {
		return fmt.Errorf("a stream id must be 1 to %d of A-Z a-z 0-9 _ -", mostStream)
	}
	return nil
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
