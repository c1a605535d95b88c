package eventlog

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/stream"
)

// ms is a duration that is written as decimal milliseconds and read back to
// the nanosecond; unknown is null.
type ms struct{ stream.Maybe[time.Duration] }

func (m ms) MarshalJSON() ([]byte, error) { return appendMS(nil, m.Maybe), nil }

func (m *ms) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		m.Maybe = stream.None[time.Duration]()
		return nil
	}
	d, err := parseMS(string(b))
	if err != nil {
		return err
	}
	m.Maybe = stream.Some(d)
	return nil
}

// appendMS writes exact milliseconds: up to six decimals, none that are zero.
func appendMS(b []byte, m stream.Maybe[time.Duration]) []byte {
	d, ok := m.Get()
	if !ok {
		return append(b, "null"...)
	}
	b = appendFixed(b, int64(d), 6)
	b = trimRight(b, '0')
	return trimRight(b, '.')
}

// appendMS3 writes milliseconds with exactly three decimals.
func appendMS3(b []byte, d time.Duration) []byte {
	return appendFixed(b, int64(micros(d)/time.Microsecond), 3)
}

// micros rounds to the microsecond: what client_time_ms can hold.
func micros(d time.Duration) time.Duration { return d.Round(time.Microsecond) }

// appendFixed writes n / 10^decimals in full.
func appendFixed(b []byte, n int64, decimals int) []byte {
	u := uint64(n)
	if n < 0 {
		b, u = append(b, '-'), -u
	}
	unit := uint64(math.Pow10(decimals))
	b = append(strconv.AppendUint(b, u/unit, 10), '.')
	frac := u % unit
	for unit /= 10; unit > 0; unit /= 10 {
		b = append(b, byte('0'+frac/unit%10))
	}
	return b
}

func trimRight(b []byte, c byte) []byte {
	for len(b) > 0 && b[len(b)-1] == c {
		b = b[:len(b)-1]
	}
	return b
}

// maxMS is the largest time a log may hold: a service's clock counted from
// 1970 fits, 292 years do not.
const maxMS = math.MaxInt64 / 1e6

// parseMS reads decimal milliseconds without going through a float, which
// would lose the nanoseconds of a clock counted from 1970. Digits below the
// nanosecond are cut.
func parseMS(s string) (time.Duration, error) {
	if f, err := strconv.ParseFloat(s, 64); err != nil || math.Abs(f) >= maxMS {
		return 0, fmt.Errorf("%s is not a number of milliseconds within ±292 years", clip(s))
	} else if strings.ContainsAny(s, "eE") {
		return time.Duration(math.Round(f * 1e6)), nil
	}
	digits, negative := strings.CutPrefix(s, "-")
	whole, frac, _ := strings.Cut(digits, ".")
	frac = (frac + "000000")[:6]
	n, err := strconv.ParseInt(whole+frac, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is not a decimal number of milliseconds", clip(s))
	}
	if negative {
		n = -n
	}
	return time.Duration(n), nil
}

// clip shortens foreign text for an error message.
func clip(s string) string {
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return strconv.Quote(s)
}
