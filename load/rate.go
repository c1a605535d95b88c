package load

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Rate is arrivals a second. It is written with its unit: 20/s, 90/m, 0.5/s.
type Rate float64

// maxRate bounds a rate, in arrivals a second: a hundred times what one
// machine can start.
const maxRate = 1e6

var errRate = errors.New("it takes a rate with its unit, such as 20/s, 90/m or 1000/h")

// ParseRate reads a rate.
func ParseRate(s string) (Rate, error) {
	number, unit, _ := strings.Cut(strings.TrimSpace(s), "/")
	per, ok := map[string]float64{"s": 1, "m": 60, "min": 60, "h": 3600}[strings.TrimSpace(unit)]
	if !ok {
		return 0, fmt.Errorf("%q is no rate: %w", s, errRate)
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsNaN(v) || v < 0 {
		return 0, fmt.Errorf("%q is no rate: %w", s, errRate)
	}
	if v/per > maxRate {
		return 0, fmt.Errorf("%q is above the most there can be, %.0f/s", s, maxRate)
	}
	return Rate(v / per), nil
}

// UnmarshalText reads a rate.
func (r *Rate) UnmarshalText(b []byte) (err error) {
	*r, err = ParseRate(string(b))
	return err
}

// MarshalText writes a rate a second.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// String is the rate a second: 1.5/s.
func (r Rate) String() string { return strconv.FormatFloat(float64(r), 'g', 6, 64) + "/s" }

// Shard is one of N machines that share a schedule: it takes every arrival
// whose number leaves I-1 when divided by N. The zero value takes all.
type Shard struct{ I, N int } // I from 1 to N

// ParseShard reads "i/n".
func ParseShard(s string) (Shard, error) {
	a, b, ok := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)
	if !ok || err1 != nil || err2 != nil || n < 1 || i < 1 || i > n || n > 10000 {
		return Shard{}, fmt.Errorf("%q is no shard: write i/n with i from 1 to n, such as 2/3", s)
	}
	return Shard{I: i, N: n}, nil
}

// UnmarshalText reads "i/n"; nothing is the whole.
func (s *Shard) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*s = Shard{}
		return nil
	}
	*s, err = ParseShard(string(b))
	return err
}

// MarshalText writes "i/n", or nothing for the whole.
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String is "i/n", or "" for the whole.
func (s Shard) String() string {
	if s.N <= 1 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.I, s.N)
}

// of is how many shards there are, and this one's number from 0.
func (s Shard) of() (number, count int) {
	if s.N <= 1 {
		return 0, 1
	}
	return s.I - 1, s.N
}

func (s Shard) validate() error {
	if s == (Shard{}) || s.N >= 1 && s.I >= 1 && s.I <= s.N {
		return nil
	}
	return fmt.Errorf("shard %d/%d: the first number must be from 1 to the second", s.I, s.N)
}

// index is the number in the whole schedule of this shard's k-th arrival.
func (s Shard) index(k int) int {
	number, count := s.of()
	return number + k*count
}

// share is this shard's part of a whole number of things.
func (s Shard) share(whole int) int {
	number, count := s.of()
	n := whole / count
	if number < whole%count {
		n++
	}
	return n
}

func seconds(d time.Duration) float64 { return d.Seconds() }
