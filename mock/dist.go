package mock

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// maxDuration bounds every duration of a behaviour.
const maxDuration = 24 * time.Hour

// Dist is a distribution of durations: a constant, or one of the shapes of
// distShapes. Samples are never negative. The zero Dist is always 0.
type Dist struct {
	shape string // "" = constant a
	a, b  float64
}

type distShape struct {
	name   string
	params string // what each parameter is: d a duration, f a factor
	sample func(r *rand.Rand, a, b float64) float64
}

// distShapes is the table of the shapes; durations are in nanoseconds.
func distShapes() []distShape {
	return []distShape{
		{"exp", "d", func(r *rand.Rand, a, _ float64) float64 { return r.ExpFloat64() * a }},
		{"normal", "dd", func(r *rand.Rand, a, b float64) float64 { return a + r.NormFloat64()*b }},
		// lognormal: a is the median, b the standard deviation of the logarithm.
		{"lognormal", "df", func(r *rand.Rand, a, b float64) float64 { return a * math.Exp(r.NormFloat64()*b) }},
		{"uniform", "dd", func(r *rand.Rand, a, b float64) float64 { return a + r.Float64()*(b-a) }},
	}
}

// Constant is the distribution that always gives d.
func Constant(d time.Duration) Dist { return Dist{a: float64(d)} }

// ParseDist reads "20ms", "exp:20ms", "normal:20ms:5ms", "lognormal:20ms:0.5"
// or "uniform:10ms:30ms".
func ParseDist(s string) (Dist, error) {
	name, rest, shaped := strings.Cut(s, ":")
	if !shaped {
		d, err := parseDuration(s)
		return Constant(d), err
	}
	for _, sh := range distShapes() {
		if sh.name == name {
			return parseShape(sh, rest)
		}
	}
	return Dist{}, fmt.Errorf("unknown distribution %q: want a duration, exp, normal, lognormal or uniform", name)
}

func parseShape(sh distShape, rest string) (Dist, error) {
	parts := strings.Split(rest, ":")
	if len(parts) != len(sh.params) {
		return Dist{}, fmt.Errorf("%s takes %d values, got %d", sh.name, len(sh.params), len(parts))
	}
	var v [2]float64
	for i, p := range parts {
		if sh.params[i] == 'f' {
			f, err := strconv.ParseFloat(p, 64)
			if err != nil || !(f >= 0 && f <= 10) {
				return Dist{}, fmt.Errorf("%s: %q is no factor from 0 to 10", sh.name, p)
			}
			v[i] = f
			continue
		}
		d, err := parseDuration(p)
		if err != nil {
			return Dist{}, fmt.Errorf("%s: %w", sh.name, err)
		}
		v[i] = float64(d)
	}
	if sh.name == "uniform" && v[1] < v[0] {
		return Dist{}, fmt.Errorf("uniform: the upper bound is below the lower")
	}
	return Dist{shape: sh.name, a: v[0], b: v[1]}, nil
}

// Sample draws one duration from 0 to 24 h.
func (d Dist) Sample(r *rand.Rand) time.Duration {
	v := d.a
	for _, sh := range distShapes() {
		if sh.name == d.shape {
			v = sh.sample(r, d.a, d.b)
		}
	}
	return time.Duration(min(max(v, 0), float64(maxDuration)))
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration such as 200ms or 1.5s", s)
	}
	if d < 0 || d > maxDuration {
		return 0, fmt.Errorf("%s is out of range 0 to 24h", s)
	}
	return d, nil
}
